// A site with a bell, between a browser and a house: it serves pages, the files of clients/web, and what else is asked of it
// from the house, as a proxy in front of both would. Its line to the browser can be cut, marks may take their time on it, and
// streams end early.
const fs = require('fs');
const http = require('http');
const path = require('path');
const {execFileSync} = require('child_process');

const WEB = path.join(__dirname, '../../clients/web');
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css'};
// What a page of a careful site may do.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";

class BellSite {
  constructor(house, folder) {
    this.house = new URL(house);
    this.pages = new Map();
    this.isCut = false;
    this.markMs = 0;
    this.liveMs = 0;
    // The paths that were asked for, and when.
    this.asked = [];
    this.dist = path.join(folder, 'dist');
    execFileSync(process.execPath, [path.join(WEB, 'make-bundle.mjs'), this.dist]);
    this.server = http.createServer((request, response) => this.answer(request, response));
    this.server.on('connection', socket => this.isCut && socket.destroy());
  }

  async open() {
    await new Promise(done => this.server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  // Nothing comes through any more, and what was open is gone.
  cut() {
    this.isCut = true;
    this.server.closeAllConnections();
  }

  mend() {
    this.isCut = false;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  answer(request, response) {
    const {pathname} = new URL(request.url, this.url);
    this.asked.push({path: pathname, time: Date.now()});
    const page = this.pages.get(pathname);
    if (page !== undefined) return this.give(response, pathname, page);
    for (const [at, folder] of [['/tidings/', this.dist], ['/web/', WEB]]) {
      const file = path.join(folder, pathname.slice(at.length));
      if (pathname.startsWith(at) && fs.existsSync(file)) return this.give(response, file, fs.readFileSync(file));
    }
    const waits = pathname.endsWith('/marks') ? this.markMs : 0;
    return setTimeout(() => response.destroyed || this.pass(request, response), waits);
  }

  give(response, name, body) {
    const type = TYPES[path.extname(name)] ?? 'text/html';
    response.writeHead(200, {'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', 'content-security-policy': POLICY}).end(body);
  }

  // The house answers to its own name alone.
  pass(request, response) {
    const headers = {...request.headers, host: this.house.host};
    if (headers.origin) headers.origin = this.house.origin;
    const passed = http.request(new URL(request.url, this.house), {method: request.method, headers}, answer => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      if (this.liveMs && request.url.endsWith('/live')) setTimeout(() => { answer.unpipe(); response.end(); }, this.liveMs);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  }
}

module.exports = {BellSite, WEB};
