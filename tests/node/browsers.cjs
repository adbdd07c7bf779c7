// Real browsers of this machine, driven by puppeteer.
const fs = require('fs');
const path = require('path');
const puppeteer = require('puppeteer-core');

const PROGRAMS = {chromium: ['chromium', 'chromium-browser', 'google-chrome'], firefox: ['firefox', 'firefox-esr']};
const CHROMIUM_FLAGS = ['--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'];

function program(name) {
  const folders = (process.env.PATH || '').split(path.delimiter);
  const files = PROGRAMS[name].flatMap(file => folders.map(folder => path.join(folder, file)));
  const found = files.find(file => fs.existsSync(file));
  if (!found) throw new Error(`no ${name} is there; setup/prepare.sh test installs one`);
  return found;
}

// Firefox keeps its scheme from the start on.
function launch(name, scheme = 'light') {
  const common = {executablePath: program(name), headless: true, protocolTimeout: 600_000};
  if (name === 'firefox') {
    const extraPrefsFirefox = {
      'layout.css.prefers-color-scheme.content-override': scheme === 'dark' ? 0 : 1,
      // Nobody is there to be asked.
      'permissions.default.desktop-notification': 2,
    };
    return puppeteer.launch({...common, browser: 'firefox', extraPrefsFirefox});
  }
  // Its sandbox does not start for root, who runs tests in containers.
  const args = process.getuid() === 0 ? [...CHROMIUM_FLAGS, '--no-sandbox'] : CHROMIUM_FLAGS;
  return puppeteer.launch({...common, browser: 'chrome', args});
}

module.exports = {launch};
