// The examples of clients/web/README.md, as pages: what stands in them is taken from there, and only the addresses are others.
const fs = require('fs');
const path = require('path');
const typescript = require('typescript');
const {WEB} = require('./bell_site.cjs');

const MODULES = {
  'react': 'react/cjs/react.development.js',
  'react/jsx-runtime': 'react/cjs/react-jsx-runtime.development.js',
  'react-dom': 'react-dom/cjs/react-dom.development.js',
  'react-dom/client': 'react-dom/cjs/react-dom-client.development.js',
  'scheduler': 'scheduler/cjs/scheduler.development.js',
};

// A block of the page by the name that stands after its language.
function readBlock(name) {
  const page = fs.readFileSync(path.join(WEB, 'README.md'), 'utf8');
  const [, text] = new RegExp(`\`\`\`\\w+ ${name.replace('.', '\\.')}\\n([^]*?)\`\`\``).exec(page) ?? [];
  if (!text) throw new Error(`README.md has no ${name}`);
  return text;
}

// React comes as modules of node: each becomes a function, and an ES module that gives what it exports.
function readReact() {
  const files = {};
  const folder = path.dirname(require.resolve('react/package.json'));
  const parts = Object.entries(MODULES).map(([name, file]) => {
    const text = fs.readFileSync(path.join(folder, '..', file), 'utf8');
    return `parts[${JSON.stringify(name)}] = function (require, module, exports) {\n${text}\n};`;
  });
  files['/npm/parts.js'] = `const parts = {}, made = {};
    globalThis.process = {env: {NODE_ENV: 'development'}};
    ${parts.join('\n')}
    export function load(name) {
      if (!made[name]) {
        const module = made[name] = {exports: {}};
        parts[name](load, module, module.exports);
      }
      return made[name].exports;
    }`;
  for (const name of ['react', 'react/jsx-runtime', 'react-dom/client']) {
    const names = Object.keys(require(name)).filter(key => /^\w+$/.test(key));
    files[`/npm/${name}.js`] = `import {load} from '/npm/parts.js';
      const all = load(${JSON.stringify(name)});
      export const {${names.join(', ')}} = all;
      export default all;`;
  }
  return files;
}

function compile(text) {
  const options = {jsx: typescript.JsxEmit.ReactJSX, module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022};
  const {outputText} = typescript.transpileModule(text, {compilerOptions: options});
  // What a bundler looks up.
  return outputText.replace(/from ['"](react[^'"]*)['"]/g, 'from "/npm/$1.js"').replace(/'@tidings\/web'|"@tidings\/web"/g, '"/web/src/bell.js"');
}

function readExamples(url, person) {
  const here = text => text.replaceAll('https://tidings.example.com', url).replaceAll('person="eve"', `person="${person}"`);
  const main = `import {createRoot} from 'react-dom/client';
    import {Bell} from '/Bell.js';
    const told = number => { document.title = String(number); };
    createRoot(document.querySelector('#app')).render(<Bell person="${person}" onCount={told} />);`;
  return {
    '/plain.html': here(readBlock('plain.html')),
    '/Bell.js': here(compile(readBlock('Bell.jsx'))),
    '/main.js': compile(main),
    '/react.html': '<!doctype html><html lang="en"><meta charset="utf-8"><title>0</title><div id="app"></div><script type="module" src="/main.js"></script></html>',
    ...readReact(),
  };
}

module.exports = {readBlock, readExamples};
