// What pages with pushes have in common: a subscription in place of that of the browser's maker, what the browser shows of a
// push that is handed to the page's worker, and what a click on it opens.
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

// A page that finds the subscription that is given.
async function prepared(browser, subscription) {
  const page = await browser.page();
  await page.call('ServiceWorker.enable');
  await page.call('Page.addScriptToEvaluateOnNewDocument', {source: `(${standIn})(${JSON.stringify(subscription)})`});
  return page;
}

// The page's worker, once it is there; to be asked for before whatever registers it.
async function registered(browser) {
  const {params} = await browser.event(({method, params}) =>
    method === 'ServiceWorker.workerVersionUpdated' && params.versions.some(version => version.status === 'activated'));
  return params.versions.find(version => version.status === 'activated').registrationId;
}

module.exports = {clicked, prepared, pushed, registered};
