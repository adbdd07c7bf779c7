// What clients/web would be as a package: the client is what the OpenAPI says, the types fit how they are used, and what a page
// loads is small.
//
//   node bell_package.cjs
//
// Prints JSON: `wrong`, and `bytes` of each file that a page loads, compressed.
const fs = require('fs');
const os = require('os');
const path = require('path');
const zlib = require('zlib');
const {spawnSync} = require('child_process');
const typescript = require('typescript');
const {WEB} = require('./bell_site.cjs');

const BYTES_MAX = 15_000;
const USE = `
import {TidingsBell, TidingsError} from '${WEB}/src/bell.js';
import {TidingsClient} from '${WEB}/src/client.js';
const bell: TidingsBell = document.createElement('tidings-bell');
bell.getToken = async () => 'token';
bell.words = {title: 'News', fresh: {one: '{n} new', other: '{n} new'}};
bell.addEventListener('tidings-count', ({detail}) => detail.number.toFixed());
bell.addEventListener('tidings-click', ({detail}) => detail.entry?.entry ?? detail.item.bundle);
export async function use(client: TidingsClient): Promise<number> {
  const {bundles, next} = await client.getFeed({limit: 2, unread: true});
  await client.postMarks({mark: 'read', bundles: bundles.map(one => one.bundle)}).catch((error: TidingsError) => error.status);
  return (await client.getCounts({bundle_by: 'kind'})).new.number + (next ?? '').length;
}
`;
// Nobody may send these: the compiler has to notice.
const MISUSE = ["client.postMarks({mark: 'eaten'})", 'client.getFeed({limit: true})', "client.getBundle()"];

function checkTypes(folder) {
  const file = path.join(folder, 'use.ts');
  const compile = text => {
    fs.writeFileSync(file, text);
    const options = {noEmit: true, strict: true, target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.NodeNext,
      moduleResolution: typescript.ModuleResolutionKind.NodeNext, types: []};
    return typescript.getPreEmitDiagnostics(typescript.createProgram([file], options))
      .map(one => typescript.flattenDiagnosticMessageText(one.messageText, ' '));
  };
  const wrong = compile(USE);
  for (const call of MISUSE) {
    if (compile(`${USE}export const misuse = (client: TidingsClient) => ${call};`).length === 0) wrong.push(`${call} is taken`);
  }
  return wrong;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bell-'));
try {
  const wrong = checkTypes(folder);
  const made = spawnSync(process.execPath, [path.join(WEB, 'make-client.mjs'), '--check'], {encoding: 'utf8'});
  if (made.status !== 0) wrong.push(made.stderr);
  const packed = spawnSync(process.execPath, [path.join(WEB, 'make-bundle.mjs'), folder], {encoding: 'utf8'});
  if (packed.status !== 0) wrong.push(packed.stderr);
  const size = name => zlib.gzipSync(fs.readFileSync(path.join(folder, name)), {level: 9}).length;
  const words = fs.readdirSync(path.join(folder, 'words')).map(name => `words/${name}`);
  const bytes = Object.fromEntries(['bell.js', ...words].map(name => [name, size(name)]));
  const most = bytes['bell.js'] + Math.max(...words.map(name => bytes[name]));
  if (most > BYTES_MAX) wrong.push(`a page loads ${most} bytes, more than ${BYTES_MAX}`);
  // A page on a server has no elements; nothing may break there.
  const there = spawnSync(process.execPath, ['--input-type=module', '-e', `import '${WEB}/src/bell.js'`], {encoding: 'utf8'});
  if (there.status !== 0) wrong.push(there.stderr);
  const {version} = JSON.parse(fs.readFileSync(path.join(WEB, 'package.json'), 'utf8'));
  console.log(JSON.stringify({wrong, bytes, most, version}));
} finally {
  fs.rmSync(folder, {recursive: true, force: true});
}
