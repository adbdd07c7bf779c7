// Elements, made without markup: nothing that the house says can become any.

const SVG = 'http://www.w3.org/2000/svg';
const ICONS = {
  bell: 'M12 3a6 6 0 0 0-6 6c0 5-2 6.5-2 8h16c0-1.5-2-3-2-8a6 6 0 0 0-6-6zM10 20a2 2 0 0 0 4 0',
  close: 'M6 6l12 12M18 6L6 18',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  fold: 'M6 9l6 6 6-6',
  away: 'M3 3l18 18M8.5 16a5 5 0 0 1 5-1.2M5 12.5a10 10 0 0 1 4-2.4M2 9a15 15 0 0 1 4-2.6M12 20h.01M13 10a10 10 0 0 1 6 2.5M11 5a15 15 0 0 1 11 4',
};

/** `on…` are listeners, the rest are attributes; null and false leave one out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  for (const [key, value] of Object.entries({viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon-${name}`})) svg.setAttribute(key, value);
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

/** Writes only what differs, so that nothing is said or drawn again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value == null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value === true ? '' : value);
}

/** An address that may stand in a link, or null: http and https, whole. */
export function safeLink(page) {
  try {
    const url = new URL(page);
    return /^https?:$/.test(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
