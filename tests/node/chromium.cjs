// A Chromium without a window, spoken with over its debugging pipe: no port, and no library between. What it is asked for
// beyond this machine it does not find.
const {spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const FLAGS = [
  '--headless=new', '--remote-debugging-pipe', '--no-first-run', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
  '--disable-background-networking', '--disable-component-update', '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

function program() {
  const folders = (process.env.PATH || '').split(path.delimiter);
  for (const name of NAMES) {
    const found = folders.map(folder => path.join(folder, name)).find(file => fs.existsSync(file));
    if (found) return found;
  }
  throw new Error(`none of ${NAMES.join(', ')} is there; setup/prepare.sh test installs one`);
}

class Chromium {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chromium-'));
    // Its sandbox does not start for root, who runs tests in containers.
    const flags = process.getuid() === 0 ? [...FLAGS, '--no-sandbox'] : FLAGS;
    this.child = spawn(program(), [...flags, `--user-data-dir=${this.folder}`, 'about:blank'],
      {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.waiting = new Map();
    this.listeners = [];
    this.next = 1;
    let rest = '';
    this.child.stdio[4].setEncoding('utf8').on('data', data => {
      const messages = (rest + data).split('\0');
      rest = messages.pop();
      messages.forEach(text => this.heard(JSON.parse(text)));
    });
    this.child.on('exit', () => this.waiting.forEach(({fail}) => fail(new Error('chromium has ended'))));
  }

  heard(message) {
    const asked = this.waiting.get(message.id);
    if (!asked) {
      this.listeners = this.listeners.filter(listener => !listener(message));
      return;
    }
    this.waiting.delete(message.id);
    if (message.error) asked.fail(new Error(`${asked.method}: ${message.error.message}`));
    else asked.done(message.result);
  }

  call(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    return new Promise((done, fail) => {
      this.waiting.set(id, {method, done, fail});
      this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    });
  }

  // The next event that is like this.
  event(like) {
    return new Promise(done => {
      this.listeners.push(message => like(message) && (done(message), true));
    });
  }

  // A page of its own.
  async page() {
    const {targetId} = await this.call('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.call('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, sessionId);
    await page.call('Page.enable');
    return page;
  }

  async close() {
    const ended = new Promise(done => this.child.on('exit', done));
    await this.call('Browser.close').catch(() => this.child.kill('SIGKILL'));
    await ended;
    fs.rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }

  call(method, params = {}) {
    return this.browser.call(method, params, this.session);
  }

  event(method) {
    return this.browser.event(message => message.method === method && message.sessionId === this.session);
  }

  async open(url) {
    const loaded = this.event('Page.loadEventFired');
    const {errorText} = await this.call('Page.navigate', {url});
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  // As on a screen of this width, by day or by night.
  async as(width, scheme) {
    await this.call('Emulation.setDeviceMetricsOverride', {width, height: 800, deviceScaleFactor: 1, mobile: false});
    await this.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
  }

  // What a function finds out in the page.
  async ask(found, ...given) {
    const expression = `(${found})(...${JSON.stringify(given)})`;
    const {result, exceptionDetails} =
      await this.call('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }

  async picture(file) {
    const {data} = await this.call('Page.captureScreenshot', {captureBeyondViewport: true});
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

// Does something with a browser and closes it, also if that fails.
async function chromium(what) {
  const browser = new Chromium();
  try {
    return await what(browser);
  } finally {
    await browser.close();
  }
}

module.exports = {chromium};
