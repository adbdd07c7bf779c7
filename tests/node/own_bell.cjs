// The page of docs/how-to/a-bell-on-your-site.md in two tabs of Chromium, as its reader has them open.
//
//   node own_bell.cjs URL ""      then, on its input: lines `count`, `press` and `read`
//
// Prints lines of JSON: what both bells show, each as soon as it is so.
const readline = require('readline');
const {launch} = require('./browsers.cjs');

const [url] = process.argv.slice(2);
const PATIENCE_MS = 60_000;
const say = what => console.log(JSON.stringify(what));

// Runs in the page.
function look() {
  const root = document.querySelector('tidings-bell').shadowRoot;
  const badge = root.querySelector('.badge');
  return {
    label: root.querySelector('.bell').getAttribute('aria-label'),
    badge: badge.hidden ? '' : badge.textContent,
    says: [...root.querySelectorAll('.row .main bdi')].map(row => row.textContent),
    unread: root.querySelectorAll('.row .unread').length,
  };
}

// What both show, once it is so, or what they show in its place.
async function until(tabs, holds) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = [];
    for (const tab of tabs) seen.push(await tab.evaluate(look));
    if (holds(...seen) || Date.now() > end) return seen;
    await new Promise(go => setTimeout(go, 50));
  }
}

(async () => {
  const browser = await launch('chromium');
  try {
    const tabs = [await browser.newPage(), await browser.newPage()];
    for (const tab of tabs) await tab.goto(url);
    const [first, second] = tabs;
    say((await until(tabs, (one, other) => one.label && other.label)).map(seen => seen.label));
    for await (const line of readline.createInterface({input: process.stdin})) {
      if (line === 'count') {
        say((await until(tabs, (one, other) => one.badge && other.badge)).map(seen => seen.badge));
      } else if (line === 'press') {
        await first.bringToFront();
        await (await first.$('tidings-bell >>> .bell')).click();
        const [one, other] = await until(tabs, (one, other) => one.says.length && other.badge === '');
        say({says: one.says, other: other.badge});
      } else {
        await second.bringToFront();
        await (await second.$('tidings-bell >>> .bell')).click();
        await until(tabs, (one, other) => one.unread && other.unread);
        await (await second.$('tidings-bell >>> [part=read-all]')).click();
        say((await until(tabs, (one, other) => one.unread + other.unread === 0)).map(seen => seen.unread));
      }
    }
  } finally {
    await browser.close();
  }
})().catch(error => {
  console.error(error.stack);
  process.exit(1);
});
