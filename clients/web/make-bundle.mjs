// Puts the modules of src/ into one file without comments, for pages that have no bundler: dist/bell.js, and the words of
// other languages beside it. `npm pack` runs it.
//
//   node make-bundle.mjs [FOLDER]
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const SOURCE = fileURLToPath(new URL('src/', import.meta.url));
const folder = process.argv[2] ?? fileURLToPath(new URL('dist/', import.meta.url));
const IMPORT = /^import \{[^}]*\} from '(\.[^']+)';\n/gm;
const seen = new Set();

// Comments stand on lines of their own, and nothing else begins like one.
const strip = text => text.split('\n').map(line => line.trim()).filter(line => line && !/^(\/\/|\/\*\*.*\*\/$)/.test(line)).join('\n');

// Blanks that mean nothing, in lines where only single quotes quote.
const tighten = line => (/["`\/]/.test(line) ? line
  : line.replace(/'(?:[^'\\]|\\.)*'| ?(=>|[!=]==|&&|\|\||\?\?|[=,{};:]) ?| ([?+*<>-]) |(?<=\b(?:if|for|while|catch)) (\()/g, (whole, ...marks) => (
    marks.slice(0, 3).find(Boolean) ?? whole
  )));
// And in a sheet.
const pack = sheet => sheet.replace(/ ?([{}]) ?/g, '$1').replace(/([;:,]) /g, '$1').replace(/;(?=})/g, '');

// A module after all that it imports, once. `words as english` is the only other name that one gives.
function read(file) {
  if (seen.has(file)) return '';
  seen.add(file);
  const text = fs.readFileSync(file, 'utf8');
  const before = [...text.matchAll(IMPORT)].map(([, name]) => read(path.resolve(path.dirname(file), name)));
  const isMain = path.basename(file) === 'bell.js';
  let own = strip(text.replace(IMPORT, '').replace(/^export \{[^}]*\}( from '[^']+')?;\n/gm, ''));
  if (!isMain) own = own.replace(/^export (async )?(function|class|const)/gm, '$1$2');
  own = path.basename(file) === 'style.js' ? own.replace(/(?<=SHEET = `)[^`]*/, pack) : own.split('\n').map(tighten).join('\n');
  if (file.includes('/words/')) own = own.replace(/const words ?=/, 'const english=');
  return [...before, own].filter(Boolean).join('\n');
}

// Names that nobody outside of a class can say.
function shorten(text) {
  const names = [...new Set([...text.matchAll(/^(?:async |get |set )*#([a-z]\w*)(?= ?=|;|\()/gmi)].map(([, name]) => name))];
  return text.replace(/#([a-z]\w*)/gi, (whole, name) => (names.includes(name) ? `#${names.indexOf(name).toString(36).replace(/^\d/, '_$&')}` : whole));
}

fs.mkdirSync(path.join(folder, 'words'), {recursive: true});
// No statement ends where another line has to follow.
const text = shorten(read(path.join(SOURCE, 'bell.js'))).replace(/([{;,(])\n/g, '$1');
fs.writeFileSync(path.join(folder, 'bell.js'), `${text}\nexport {TidingsClient, TidingsError};\n`);
for (const name of fs.readdirSync(path.join(SOURCE, 'words')).filter(name => name !== 'en.js')) {
  fs.writeFileSync(path.join(folder, 'words', name), `${strip(fs.readFileSync(path.join(SOURCE, 'words', name), 'utf8'))}\n`);
}
