// The page of a house that shows pushes in a browser, in Chromium: its own script subscribes, its own worker shows what arrives.
// The one thing that a machine without a way out cannot have is the push service of the browser's maker; in its place
// stand the subscription that is given here, and what was sent to it, which is handed to the worker.
//
//   node push_page.cjs URL SUBSCRIPTION      then, on its input, a line of JSON for each push
//
// Prints lines of JSON: what the page said, then for each push what the browser shows, and what a click on it opens.
const readline = require('readline');
const {chromium} = require('./chromium.cjs');
const {clicked, prepared, pushed, registered} = require('./pushed.cjs');

const [url, subscription] = process.argv.slice(2);
const say = what => console.log(JSON.stringify(what));

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

chromium(async browser => {
  const {origin} = new URL(url);
  const page = await prepared(browser, subscription);
  const refused = [];
  browser.listeners.push(message => {
    if (message.method === 'Log.entryAdded') refused.push(message.params.entry.text);
    return false;
  });
  await page.call('Log.enable');
  await page.open(url);
  const without = await press(page, 'begin');
  await browser.call('Browser.grantPermissions', {origin, permissions: ['notifications']});
  const worker = registered(browser);
  const begun = await press(page, 'begin');
  const registrationId = await worker;
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
