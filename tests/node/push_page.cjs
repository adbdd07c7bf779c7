// The page of a house that shows pushes in a browser, in Chromium: its own script subscribes, its own worker shows what arrives.
// The one thing that a machine without a way out cannot have is the push service of the browser's maker; in its place
// stand the subscription that is given here, and what was sent to it, which is handed to the worker.
//
//   node push_page.cjs URL SUBSCRIPTION      then, on its input, a line of JSON for each push
//
// Prints lines of JSON: what the page said, then for each push what the browser shows, and what a click on it opens.
const readline = require('readline');
const {chromium} = require('./chromium.cjs');

const [url, subscription] = process.argv.slice(2);
const say = what => console.log(JSON.stringify(what));

// Runs in the page before its own script.
function standIn(subscription) {
  let key = null;
  const made = () => ({toJSON: () => JSON.parse(subscription), unsubscribe: async () => { key = null; return true; }});
  PushManager.prototype.getSubscription = async () => (key ? made() : null);
  PushManager.prototype.subscribe = async options => {
    if (!options.userVisibleOnly) throw new Error('every push has to be shown');
    key = options.applicationServerKey;
    return made();
  };
}

// Presses a button of the page; what the page says then.
async function press(page, what) {
  return page.ask(async what => {
    const said = document.querySelector('#said');
    said.hidden = true;
    document.querySelector(`button[value=${what}]`).click();
    for (let tries = 0; said.hidden && tries < 1200; tries++) await new Promise(done => setTimeout(done, 50));
    return {text: said.textContent, isGood: said.className === 'done' && !said.hidden};
  }, what);
}

// What is shown. It is asked for seldom: a browser that is asked while it puts a notification up forgets that one.
async function shown(page) {
  return page.ask(async () => {
    const registration = await navigator.serviceWorker.ready;
    for (let tries = 0; tries < 5; tries++) {
      await new Promise(done => setTimeout(done, 1000));
      const all = await registration.getNotifications();
      if (all.length) {
        return all.map(({title, body, tag, silent, data}) => ({title, body, tag, silent, opens: data.opens}));
      }
    }
    return [];
  });
}

// Hands a push to the worker, again if the browser forgot it: it has the same tag, so there is one of it.
async function pushed(browser, page, push) {
  for (let tries = 0; tries < 6; tries++) {
    await worker(browser, page);
    await page.call('ServiceWorker.deliverPushMessage', push);
    const all = await shown(page);
    if (all.length) return all;
  }
  return [];
}

// The page's worker, woken where it had nothing to do for so long that the browser put it to sleep.
async function worker(browser, page) {
  const scopeURL = await page.ask(async () => (await navigator.serviceWorker.ready).scope);
  for (let tries = 0; tries < 600; tries++) {
    const {targetInfos} = await browser.call('Target.getTargets');
    const found = targetInfos.find(target => target.type === 'service_worker');
    if (found) return found;
    await page.call('ServiceWorker.startWorker', {scopeURL});
    await new Promise(done => setTimeout(done, 100));
  }
  throw new Error('the worker does not wake up');
}

// What the worker opens when each notification is clicked: a hand's click cannot be made from here, its event can.
async function clicked(browser, page) {
  const {targetId} = await worker(browser, page);
  const {sessionId} = await browser.call('Target.attachToTarget', {targetId, flatten: true});
  const expression = `(async () => {
    const opened = [];
    const openWindow = address => { opened.push(address); return Promise.resolve(null); };
    Object.defineProperty(self.clients, 'openWindow', {value: openWindow, configurable: true});
    for (const notification of await self.registration.getNotifications()) {
      self.dispatchEvent(new NotificationEvent('notificationclick', {notification}));
    }
    return {opened, left: (await self.registration.getNotifications()).length};
  })()`;
  const {result, exceptionDetails} =
    await browser.call('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true}, sessionId);
  if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
  return result.value;
}

chromium(async browser => {
  const {origin} = new URL(url);
  const page = await browser.page();
  const refused = [];
  browser.listeners.push(message => {
    if (message.method === 'Log.entryAdded') refused.push(message.params.entry.text);
    return false;
  });
  await page.call('Log.enable');
  await page.call('ServiceWorker.enable');
  await page.call('Page.addScriptToEvaluateOnNewDocument', {source: `(${standIn})(${JSON.stringify(subscription)})`});
  await page.open(url);
  const without = await press(page, 'begin');
  await browser.call('Browser.grantPermissions', {origin, permissions: ['notifications']});
  const registered = browser.event(({method, params}) =>
    method === 'ServiceWorker.workerVersionUpdated' && params.versions.some(version => version.status === 'activated'));
  const begun = await press(page, 'begin');
  const {params} = await registered;
  const {registrationId} = params.versions.find(version => version.status === 'activated');
  say({without, begun, refused});
  for await (const line of readline.createInterface({input: process.stdin})) {
    if (line === 'end') {
      say(await press(page, 'end'));
      continue;
    }
    const shown = await pushed(browser, page, {origin, registrationId, data: line});
    say({shown, ...(await clicked(browser, page))});
  }
}).catch(error => {
  console.error(error.stack);
  process.exit(1);
});
