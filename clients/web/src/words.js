// Words, numbers and times of a language. Only English is there at once; a page that speaks another one loads it.
import {words as english} from './words/en.js';

const LANGUAGES = {
  ar: () => import('./words/ar.js'),
  de: () => import('./words/de.js'),
  es: () => import('./words/es.js'),
  fr: () => import('./words/fr.js'),
};
const RIGHT_TO_LEFT = /^(ar|arc|ckb|dv|fa|he|ku-arab|ps|sd|ug|ur|yi)\b/i;
const UNITS = [['year', 31_536_000], ['month', 2_592_000], ['week', 604_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];

/** Reads a language; `own` words win. */
export async function readLanguage(tag, own) {
  try {
    [tag] = Intl.getCanonicalLocales(tag);
  } catch {
    tag = 'en';
  }
  // Without its words, times and numbers are still right.
  const {words} = (await LANGUAGES[tag?.split('-')[0]]?.().catch(() => {})) ?? {};
  return new BellLanguage(tag || 'en', {...english, ...words, ...own});
}

class BellLanguage {
  #words;
  #numbers;
  #plurals;
  #since;
  #dates;

  constructor(tag, words) {
    this.tag = tag;
    this.direction = RIGHT_TO_LEFT.test(this.tag) ? 'rtl' : 'ltr';
    this.#words = words;
    this.#numbers = new Intl.NumberFormat(this.tag);
    this.#plurals = new Intl.PluralRules(this.tag);
    this.#since = new Intl.RelativeTimeFormat(this.tag, {numeric: 'auto'});
    this.#dates = new Intl.DateTimeFormat(this.tag, {dateStyle: 'full', timeStyle: 'short'});
  }

  say(key, number, hasMore) {
    let words = this.#words[key] ?? key;
    if (typeof words === 'object') words = words[this.#plurals.select(number)] ?? words.other;
    return words.replace('{n}', () => this.count(number, hasMore));
  }

  count(number, hasMore) {
    return this.#numbers.format(number) + (hasMore ? '+' : '');
  }

  since(time, now = Date.now()) {
    // A demo's clock may be ahead; what has happened is never yet to come.
    const secs = Math.min(Math.round((Date.parse(time) - now) / 1000), 0);
    const [unit, size] = UNITS.find(([, size]) => Math.abs(secs) >= size) ?? ['second', 1];
    return this.#since.format(unit === 'second' ? 0 : Math.trunc(secs / size), unit);
  }

  date(time) {
    return this.#dates.format(new Date(time));
  }
}
