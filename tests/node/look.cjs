// What a page is like in Chromium, at each width, by day and by night: what is measured, as JSON.
//
//   node look.cjs WIDTHS PICTURES PAGE...        such as: node look.cjs 375,900 - a.html b.html
//
// PICTURES is a folder for a picture of each, or `-`.
const path = require('path');
const {pathToFileURL} = require('url');
const {chromium} = require('./chromium.cjs');

// Runs in the page.
function measure() {
  const rgba = text => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return {r, g, b, a};
  };
  const over = (top, below) => {
    const mixed = name => top[name] * top.a + below[name] * (1 - top.a);
    return {r: mixed('r'), g: mixed('g'), b: mixed('b'), a: 1};
  };
  const light = ({r, g, b}) => {
    const part = value => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.backgroundColor = 'Canvas';
  const canvas = rgba(getComputedStyle(probe).backgroundColor);
  probe.remove();
  // All that is painted behind an element, the farthest first.
  const behind = element => {
    let layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), canvas);
  };
  const shown = element => element.getClientRects().length > 0 && getComputedStyle(element).visibility === 'visible';
  const texts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim().replace(/\s+/g, ' ');
    const element = walk.currentNode.parentElement;
    if (!text || !shown(element)) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    texts.push({
      text: text.slice(0, 60),
      contrast: Math.round(contrast(over(rgba(style.color), ground), ground) * 100) / 100,
      look: [style.color, style.fontSize, style.fontFamily, style.fontWeight, style.lineHeight, style.textDecorationLine].join(' '),
    });
  }
  const all = name => [...document.querySelectorAll(name)];
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    ground: Math.round(light(behind(document.body)) * 100) / 100,
    texts,
    links: all('a').map(a => a.getAttribute('href')),
    images: all('img').map(img => ({alt: img.getAttribute('alt'), width: img.getAttribute('width'), wide: img.clientWidth})),
    strange: all('script, link, iframe, object, embed, form, base, [onclick], [onload]').map(one => one.tagName),
    preview: [...document.body.children].filter(one => !shown(one)).map(one => one.textContent.trim())[0] || '',
    schemes: all('meta[name=color-scheme], meta[name=supported-color-schemes]').map(one => one.content),
  };
}

const [widths, pictures, ...files] = process.argv.slice(2);
chromium(async browser => {
  const page = await browser.page();
  const looks = [];
  for (const file of files) {
    for (const width of widths.split(',').map(Number)) {
      for (const scheme of ['light', 'dark']) {
        await page.as(width, scheme);
        await page.open(pathToFileURL(file).href);
        const name = path.basename(file, '.html');
        looks.push({name, width, scheme, ...(await page.ask(measure))});
        if (pictures !== '-') await page.picture(path.join(pictures, `${name}-${width}-${scheme}.png`));
      }
    }
  }
  console.log(JSON.stringify(looks));
}).catch(error => {
  console.error(error.stack);
  process.exit(1);
});
