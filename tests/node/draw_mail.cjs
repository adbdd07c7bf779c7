// Draws the top of a mail as an SVG: its boxes, lines of text and pictures as Chromium lays them out.
//
//   node draw_mail.cjs MAIL.html WIDTH HEIGHT > mail.svg
//
// Its pictures are SVGs in their addresses, as the outbox of a demo fills them in.
const fs = require('fs');
const path = require('path');
const {pathToFileURL} = require('url');
const {chromium} = require('./chromium.cjs');

// Runs in the page: what is painted, in its order.
function painted() {
  const shapes = [];
  const isClear = color => color === 'transparent' || /, 0\)$/.test(color);
  const boxOf = ({x, y, width, height}) => ({x, y, width, height});
  // The lines of a text, each with where its first letter stands.
  const linesOf = node => {
    const lines = [];
    const range = document.createRange();
    for (let at = 0; at < node.length; at++) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getClientRects()[0];
      if (!box || !box.width) continue;
      const line = lines[lines.length - 1];
      if (line && Math.abs(line.bottom - box.bottom) < 2) line.text += node.data[at];
      else lines.push({x: box.x, y: box.y, bottom: box.bottom, height: box.height, text: node.data[at]});
    }
    return lines;
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = document.body; node; node = walk.nextNode()) {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height || style.visibility !== 'visible' || style.opacity === '0') continue;
    if (node.nodeType === Node.TEXT_NODE) {
      const {color, fontSize, fontFamily, fontWeight, letterSpacing, textDecorationLine} = style;
      const look = {color, fontSize, fontFamily, fontWeight, letterSpacing, textDecorationLine};
      for (const line of linesOf(node)) {
        if (line.text.trim()) shapes.push({...look, ...line, text: line.text.trimEnd()});
      }
    } else if (node.tagName === 'IMG') {
      shapes.push({image: node.getAttribute('src'), ...boxOf(box)});
    } else {
      const round = parseFloat(style.borderRadius) || 0;
      if (!isClear(style.backgroundColor)) shapes.push({fill: style.backgroundColor, round, ...boxOf(box)});
      const border = parseFloat(style.borderTopWidth);
      if (border && style.borderTopStyle !== 'none') shapes.push({fill: style.borderTopColor, round: 0, ...boxOf(box), height: border});
    }
  }
  return shapes;
}

const escaped = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
const short = number => String(Math.round(number * 10) / 10);

const placeOf = shape => ['x', 'y', 'width', 'height'].map(name => `${name}="${short(shape[name])}"`).join(' ');

function picture(shape) {
  const [, head, data] = shape.image.match(/^data:image\/svg\+xml([^,]*),(.*)$/s) || [];
  if (data === undefined) return '';
  const svg = /;base64/.test(head) ? Buffer.from(data, 'base64').toString() : decodeURIComponent(data);
  const [, view] = svg.match(/viewBox="([^"]*)"/);
  const [, inner] = svg.match(/<svg[^>]*>([\s\S]*)<\/svg>/);
  return `<svg ${placeOf(shape)} viewBox="${view}" preserveAspectRatio="xMidYMid slice">${inner.trim()}</svg>`;
}

function drawn(shape) {
  if (shape.image) return picture(shape);
  if (shape.text === undefined) {
    return `<rect ${placeOf(shape)}${shape.round ? ` rx="${shape.round}"` : ''} fill="${shape.fill}"/>`;
  }
  const size = parseFloat(shape.fontSize);
  // The base line, about a fifth of the letters' height above their box's end.
  const base = shape.y + shape.height / 2 + size * 0.34;
  const more = [
    shape.fontWeight !== '400' && ` font-weight="${shape.fontWeight}"`,
    shape.letterSpacing !== 'normal' && ` letter-spacing="${shape.letterSpacing}"`,
    shape.textDecorationLine === 'underline' && ' text-decoration="underline"',
  ].filter(Boolean).join('');
  return `<text x="${short(shape.x)}" y="${short(base)}" font-size="${short(size)}" fill="${shape.color}"${more}>${escaped(shape.text)}</text>`;
}

const [mail, width, height] = process.argv.slice(2);
chromium(async browser => {
  const page = await browser.page();
  await page.as(Number(width), 'light');
  await page.open(pathToFileURL(path.resolve(mail)).href);
  const shapes = (await page.ask(painted)).filter(shape => shape.y < Number(height));
  const family = escaped((shapes.find(shape => shape.fontFamily) || {}).fontFamily || 'serif').replace(/&quot;/g, "'");
  console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${family}">`);
  for (const line of shapes.map(drawn).filter(Boolean)) console.log(line);
  console.log('</svg>');
}).catch(error => {
  console.error(error.stack);
  process.exit(1);
});
