// The page of docs/how-to/web-push.md in Chromium, as its reader puts it on a site. In place of the push service of the browser's
// maker stands the subscription that is given here; what was sent to it is handed to the page's worker.
//
//   node own_site.cjs URL SUBSCRIPTION      then, on its input: a line of JSON for each push, or `off`
//
// Prints lines of JSON: what the page said, then for each push what the browser shows, and what a click on it opens.
const readline = require('readline');
const {chromium} = require('./chromium.cjs');
const {clicked, prepared, pushed, registered} = require('./pushed.cjs');

const [url, subscription] = process.argv.slice(2);
const say = what => console.log(JSON.stringify(what));

// Presses a button; what the page says then.
async function press(page, id) {
  return page.ask(async id => {
    const said = document.querySelector('#said');
    said.textContent = '';
    document.querySelector(`#${id}`).click();
    for (let tries = 0; !said.textContent && tries < 1200; tries++) await new Promise(done => setTimeout(done, 50));
    return said.textContent;
  }, id);
}

chromium(async browser => {
  const {origin} = new URL(url);
  const page = await prepared(browser, subscription);
  await browser.call('Browser.grantPermissions', {origin, permissions: ['notifications']});
  const worker = registered(browser);
  await page.open(url);
  const on = await press(page, 'on');
  const registrationId = await worker;
  say({on});
  for await (const line of readline.createInterface({input: process.stdin})) {
    if (line === 'off') {
      say({off: await press(page, 'off')});
      continue;
    }
    const shown = await pushed(browser, page, {origin, registrationId, data: line});
    say({shown, ...(await clicked(browser, page))});
  }
}).catch(error => {
  console.error(error.stack);
  process.exit(1);
});
