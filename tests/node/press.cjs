// Presses every control of the pages of a running house, as somebody with a mouse and a keyboard does, in Chromium or Firefox.
//
//   node press.cjs '{"browser": "firefox", "width": 1200, "scheme": "light", "other_width": 390, "url": "http://127.0.0.1:7280", "starts": ["/"]}'
//
// It presses at one width. At the other it looks at each page as well, and finds whether a finger could press the same
// controls there.
//
// Prints JSON: `wrong`, all that went wrong; `controls`, the opening tag of each control that was there and whether it was
// pressed; `pages`, how many there were.
const fs = require('fs');
const http = require('http');
const path = require('path');
const {launch} = require('./browsers.cjs');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const asked = JSON.parse(process.argv[2]);
const {url, width, scheme, other_width: otherWidth} = asked;
const HEIGHT = 800;
const CONTROLS = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
const PAGES_MAX = 120;
// What is typed into an input by its name, where what stands there will not do.
const TYPED = {id: 'ann', person: 'ann', ...asked.typed};

const wrong = [];
const controls = new Map();
const pressed = new Set();
const visited = new Set();
const pages = [];
let at = '';

function note(what) {
  const line = `${asked.browser} ${width} ${scheme} ${at}: ${what}`;
  if (!wrong.includes(line)) wrong.push(line);
}

// Pages that differ only in what they tell are one.
function shape(address) {
  const {pathname, searchParams} = new URL(address, url);
  const names = [...searchParams.keys()].sort().map(name => (name === 'show' ? `show=${searchParams.get(name)}` : name));
  return `${pathname.replace(/^(\/[ucov])\/.*/, '$1/…')}?${names.join('&')}`;
}

// Whether there is something to press at an address: not at figures for a machine, nor at a mail alone.
function isPage(address) {
  return !/^\/(metrics|[a-z]+\/html\?)/.test(address.replace(url, ''));
}

// A link to another page does the same in every browser: Chromium presses it, Firefox opens where it leads.
function isPlainLink({href}) {
  return asked.browser === 'firefox' && href !== '' && !href.includes('#');
}

// All controls of the page, in order. Runs in the page.
function list(selector) {
  return [...document.querySelectorAll(selector)].map((element, index) => {
    const form = element.closest('form');
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    return {
      index,
      tag: element.tagName.toLowerCase(),
      type: element.getAttribute('type') || '',
      name: element.getAttribute('name') || '',
      value: element.tagName === 'BUTTON' ? element.value : '',
      text: (element.textContent || '').trim().slice(0, 40),
      href: element.getAttribute('href') ? element.href : '',
      action: form ? `${form.getAttribute('method') || 'get'} ${form.action}` : '',
      isFrame: Boolean(element.closest('header, footer')),
      isHidden: box.width === 0 || box.height === 0 || style.visibility !== 'visible',
      isOff: Boolean(element.disabled),
      opening: element.outerHTML.slice(0, element.outerHTML.indexOf('>') + 1),
    };
  });
}

// What a control is, wherever it stands: links of a list that differ only in what they name are one.
function sameness(page, control) {
  const {tag, name, value, href, action, isFrame} = control;
  const where = isFrame ? 'frame' : shape(page);
  return [where, tag, name, value, href && shape(href), action && shape(action.split(' ')[1])].join(' | ');
}

// Axe, and what it does not ask. Axe judges elements and colours: Chromium's are those of Firefox, and of another scheme
// only the colours differ.
async function look(page) {
  const isAxed = asked.browser !== 'firefox';
  const rules = {resultTypes: ['violations'], iframes: false};
  await measure(page, [width, scheme], isAxed && rules);
  if (isAxed) {
    const other = scheme === 'dark' ? 'light' : 'dark';
    await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: other}]);
    await measure(page, [width, other], {...rules, runOnly: ['color-contrast']});
    await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
  }
  await page.setViewport({width: otherWidth, height: HEIGHT});
  await measure(page, [otherWidth, scheme], isAxed && rules);
  for (const opening of await page.evaluate(unreachable, CONTROLS)) note(`at ${otherWidth} px ${opening} cannot be pressed`);
  await page.setViewport({width, height: HEIGHT});
}

// The controls that a finger does not hit, because they are not shown or lie under something else. Runs in the page.
function unreachable(selector) {
  // Links within the page are for keyboards, which bring them into sight.
  const all = [...document.querySelectorAll(selector)].filter(element => !element.disabled && !element.getAttribute('href')?.includes('#'));
  const missed = all.filter(element => {
    element.scrollIntoView({block: 'center', behavior: 'instant'});
    const [box] = element.getClientRects();
    if (!box || box.width === 0 || box.height === 0) return true;
    const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return !top || !(element.contains(top) || top.contains(element));
  });
  scrollTo(0, 0);
  return missed.map(element => element.outerHTML.slice(0, element.outerHTML.indexOf('>') + 1));
}

async function measure(page, [wide, shown], rules) {
  if (rules) {
    if (await page.evaluate(() => typeof window.axe === 'undefined')) await page.evaluate(axe);
    const {violations} = await page.evaluate(rules => axe.run(document, rules), rules);
    for (const {id, nodes} of violations) note(`axe at ${wide} px in ${shown} ${id}: ${nodes.map(node => node.target.join(' ')).slice(0, 3).join(', ')}`);
  }
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) note(`at ${wide} px it is ${over} px wider than the screen`);
  if (asked.pictures) {
    const name = `${asked.browser}-${wide}-${shown}-${shape(at).replace(/[^a-z0-9]+/gi, '-')}.png`;
    await page.screenshot({path: path.join(asked.pictures, name), fullPage: true});
  }
}

async function open(page, address) {
  at = address.replace(url, '');
  const response = await page.goto(new URL(address, url).href, {waitUntil: 'load'});
  if (response && response.status() >= 400) note(`is answered ${response.status()}`);
}

// Fills in what a form needs before it can be sent.
async function fill(page, element) {
  for (const input of await element.$$('xpath/ancestor::form//input[@required]')) {
    const [name, value] = await input.evaluate(input => [input.name, input.value]);
    if (!value && TYPED[name]) await input.type(TYPED[name]);
  }
}

async function press(page, element, control) {
  const {tag, action} = control;
  if (tag === 'input' || tag === 'textarea') {
    // Browsers of this language take a date as month, day and year.
    const isDate = await element.evaluate(input => input.type === 'date');
    if (isDate) await element.focus();
    else await element.click({clickCount: 3});
    await element.type(isDate ? '12242026' : 'x1');
    const typed = await element.evaluate(input => input.value);
    if (!typed.includes(isDate ? '2026-12-24' : 'x1')) note(`${control.opening} has ${typed} after typing`);
    return;
  }
  if (tag === 'select') {
    for (const value of await element.evaluate(select => [...select.options].map(option => option.value))) {
      await element.select(value);
      if ((await element.evaluate(select => select.value)) !== value) note(`${control.opening} does not take ${value}`);
    }
    return;
  }
  if (control.href.includes('#')) {
    // Out of sight until a keyboard comes to it.
    await element.focus();
    await page.keyboard.press('Enter');
    const place = new URL(control.href).hash;
    if (!(await page.evaluate(place => document.activeElement === document.querySelector(place), place))) note(`${control.opening} does not lead to ${place}`);
    return;
  }
  if (tag === 'button') await fill(page, element);
  if (tag === 'button' && (!action || asked.scripted?.includes(control.name + '=' + control.value))) {
    // A script does what is to be done.
    await element.click();
    await page.waitForFunction(() => !document.querySelector('#said')?.hidden, {timeout: 120_000});
    return;
  }
  const [response] = await Promise.all([page.waitForNavigation({waitUntil: 'load'}), element.click()]);
  // A link within the page loads nothing.
  const status = response ? response.status() : 200;
  if (status >= 400) note(`${control.opening} ${control.text} is answered ${status}: ${(await said(page)).slice(0, 200)}`);
}

function said(page) {
  return page.evaluate(() => document.body.innerText.replace(/\s+/g, ' '));
}

async function visit(page, address, changes = false) {
  if (visited.size > PAGES_MAX) return;
  await open(page, address);
  visited.add(shape(address));
  if (!pages.includes(address)) pages.push(address);
  // A mail alone: nothing runs there, and its links lead out of the house.
  if (/\/html\?/.test(address)) return;
  if (!changes) await look(page);
  const frames = await page.$$('iframe');
  for (const frame of frames) {
    const inside = await frame.contentFrame();
    const length = inside ? await inside.evaluate(() => document.body.innerText.trim().length) : 0;
    if (length === 0) note('a frame is empty');
  }
  const here = await page.evaluate(list, CONTROLS);
  let isFresh = true;
  for (const control of here) {
    const same = sameness(address, control);
    // What changes something comes when all pages have been seen as they are.
    if (changes !== (control.tag === 'button' && control.action.startsWith('post'))) continue;
    controls.set(control.opening, controls.get(control.opening) || pressed.has(same));
    if (pressed.has(same)) continue;
    if (control.href && !control.href.startsWith(url)) {
      note(`${control.opening} leads elsewhere`);
      continue;
    }
    if (control.isHidden || control.isOff) {
      note(`${control.opening} cannot be pressed`);
      continue;
    }
    if (isPlainLink(control)) {
      pressed.add(same);
      if (!visited.has(shape(control.href)) && isPage(control.href)) {
        await visit(page, control.href);
        isFresh = false;
      }
      at = address.replace(url, '');
      continue;
    }
    if (!isFresh) await open(page, address);
    isFresh = true;
    const now = (await page.evaluate(list, CONTROLS)).find(other => sameness(address, other) === same);
    // It may be gone by what was pressed before.
    if (!now) continue;
    pressed.add(same);
    const element = (await page.$$(CONTROLS))[now.index];
    await press(page, element, now);
    // What was typed leads nowhere.
    isFresh = ['input', 'select', 'textarea'].includes(now.tag);
    controls.set(control.opening, true);
    const landed = page.url();
    if (landed.startsWith(url) && !visited.has(shape(landed)) && isPage(landed)) {
      // At once: what is pressed later may take it away.
      await visit(page, landed);
      if (changes) await visit(page, landed, true);
      at = address.replace(url, '');
    }
  }
}

// One button after the other, where each press shows the next page at the same address.
async function walk(page, {path, buttons, outside}) {
  await open(page, path);
  // Links that lead out of the house are there and lead where they say; nobody follows them here.
  for (const link of outside || []) {
    const [opening, href] = await page.$eval(link, element => [element.outerHTML.slice(0, element.outerHTML.indexOf('>') + 1), element.href]);
    if (!/^https?:/.test(href) || href.startsWith(url)) note(`${opening} does not lead out`);
    controls.set(opening, true);
  }
  for (const button of buttons) {
    await look(page);
    const opening = await page.$eval(button, element => element.outerHTML.slice(0, element.outerHTML.indexOf('>') + 1));
    const [response] = await Promise.all([page.waitForNavigation({waitUntil: 'load'}), (await page.$(button)).click()]);
    if (response.status() >= 400) note(`${opening} is answered ${response.status()}`);
    controls.set(opening, true);
  }
  await look(page);
}

// Wrong input: each problem stands right below its field, and the field says so to who cannot see.
async function slip(page, {path, fields, problems, button}) {
  await open(page, path);
  for (const [name, text] of Object.entries(fields)) {
    const input = await page.$(`[name="${name}"]`);
    await input.evaluate(input => { input.value = ''; });
    await input.type(text);
  }
  await Promise.all([page.waitForNavigation({waitUntil: 'load'}), (await page.$(button || 'main form button')).click()]);
  const found = await page.evaluate(() => [...document.querySelectorAll('[aria-invalid=true]')].map(input => {
    const problem = document.getElementById(input.getAttribute('aria-describedby'));
    const [field, below] = [input, problem].map(element => element?.getBoundingClientRect());
    return {
      name: input.name,
      isBeside: Boolean(below) && Math.abs(below.top - field.bottom) < 60 && below.height > 0 && problem.textContent.trim() !== '',
    };
  }));
  for (const name of problems) {
    if (!found.some(one => one.name === name && one.isBeside)) note(`no problem beside ${name}: ${(await said(page)).slice(0, 300)}`);
  }
  await look(page);
}

// An error has the page's own face.
async function face(page, path, status, says) {
  at = path;
  const response = await page.goto(url + path, {waitUntil: 'load'});
  const text = await said(page);
  if (response.status() !== status || !text.includes(says)) note(`is ${response.status()}: ${text.slice(0, 200)}`);
  if (!(await page.$('header nav a'))) note(`an error without the page's own head: ${text.slice(0, 100)}`);
  await look(page);
}

// A page of another site sends a form here: refused, with a face, and nothing has happened.
async function foreign(page) {
  at = 'a foreign form';
  const evil = `<!doctype html><title>x</title><form method="post" action="${url}/clock">
    <input name="to" value="week"><input name="csrf" value="guess"><button>Win</button></form>`;
  const server = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(evil));
  await new Promise(done => server.listen(0, 'localhost', done));
  try {
    await page.goto(`http://localhost:${server.address().port}/`);
    const [response] = await Promise.all([page.waitForNavigation({waitUntil: 'load'}), (await page.$('button')).click()]);
    const text = await said(page);
    if (response.status() !== 403 || !text.includes('Not allowed')) note(`is ${response.status()}: ${text.slice(0, 200)}`);
  } finally {
    server.close();
  }
}

(async () => {
  const browser = await launch(asked.browser, scheme);
  try {
    const page = await browser.newPage();
    // Machines that test everything else beside are slow.
    page.setDefaultTimeout(120_000);
    await page.setViewport({width, height: HEIGHT});
    if (asked.browser !== 'firefox') await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
    // A mail's pictures from elsewhere are not loaded, and errors are asked for here.
    const hear = text => /img-src|status of [45]/.test(text) || note(`says ${text}`);
    page.on('pageerror', error => hear(error.message));
    page.on('console', message => message.type() === 'error' && hear(message.text()));
    for (const one of asked.before || []) await walk(page, one);
    for (const start of asked.starts) await visit(page, start);
    // The clock last: what is due by then is no longer there to be pressed.
    const isLast = address => (/^(\/|\/clock)(\?|$)/.test(address.replace(url, '')) ? 1 : 0);
    for (const one of [...pages].sort((a, b) => isLast(a) - isLast(b))) await visit(page, one, true);
    for (const one of asked.walks || []) await walk(page, one);
    for (const one of asked.slips || []) await slip(page, one);
    for (const one of asked.faces || []) await face(page, ...one);
    if (asked.slips) await foreign(page);
    const all = [...controls].map(([opening, isPressed]) => ({opening, isPressed}));
    console.log(JSON.stringify({wrong, controls: all, pages: visited.size}));
  } finally {
    await browser.close();
  }
})().catch(error => {
  console.error(`${at}: ${error.stack}`);
  process.exit(1);
});
