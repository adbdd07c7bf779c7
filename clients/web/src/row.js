// One bundle of the list, and the entries within it.
import {icon, make, safeLink, setAttribute, setText} from './dom.js';

/** What can be done with a bundle, beside following it. */
const ACTS = ['read', 'save', 'snooze', 'clear'];

/** A line that leads somewhere: for a bundle, or for one entry of it. */
class FeedLine {
  constructor(desk, press) {
    this.desk = desk;
    this.mark = make('span', {class: 'unseen'});
    this.says = make('bdi', {dir: 'auto'});
    this.clip = make('span', {class: 'clip'}, this.says);
    this.time = make('time');
    this.why = make('bdi', {dir: 'auto'});
    this.dot = make('span', {class: 'dot', part: 'dot'});
    this.about = make('p', {class: 'about', part: 'about'}, this.time, make('span', {}, ' · '), this.why);
    this.told = make('div', {class: 'told'}, this.about);
    this.element = make('div', {class: 'lead', part: 'line'}, this.dot, this.told);
    this.press = press;
  }

  update({says, subject, page, unread}, time, why) {
    const link = safeLink(page);
    const tag = link ? 'A' : 'BUTTON';
    if (this.main?.tagName !== tag) {
      const before = this.main;
      const hear = {onclick: this.press, onauxclick: event => event.button === 1 && this.press(event)};
      this.main = make(tag, {class: 'main', part: 'link', tabindex: before?.tabIndex ?? -1, ...(link ? {rel: 'noopener'} : {type: 'button'}), ...hear}, this.mark, this.clip);
      if (before) before.replaceWith(this.main);
      else this.told.prepend(this.main);
    }
    if (link) {
      setAttribute(this.main, 'href', link);
      setAttribute(this.main, 'target', this.desk.target);
    }
    setText(this.mark, unread ? `${this.desk.language.say('unread')}: ` : '');
    setText(this.says, says ?? subject);
    setText(this.why, why ?? '');
    this.why.previousSibling.hidden = !why;
    this.dot.hidden = !unread;
    this.element.classList.toggle('unread', unread);
    if (this.time.dateTime !== time) {
      this.time.dateTime = time;
      this.time.title = this.desk.language.date(time);
    }
    this.tick();
  }

  tick() {
    setText(this.time, this.desk.language.since(this.time.dateTime));
  }
}

export class BundleRow {
  #desk;
  #line;
  #more;
  #acts;
  #buttons;
  #fold;
  #label;
  #within;
  #lines = [];
  #next = null;
  #isOpen = false;
  #state = [];

  constructor(desk) {
    this.#desk = desk;
    this.#line = new FeedLine(desk, event => this.#follow(event));
    this.#more = make('button', {type: 'button', class: 'round', part: 'more', tabindex: -1, onclick: () => this.#showActs(this.#acts.hidden)}, icon('more'));
    this.#line.element.append(this.#more);
    this.#buttons = Object.fromEntries(ACTS.map(name =>
      [name, make('button', {type: 'button', class: 'text', part: `act act-${name}`, tabindex: -1, onclick: () => this.#act(name)})]));
    this.#acts = make('div', {class: 'acts', role: 'group', hidden: true}, ...Object.values(this.#buttons));
    this.#label = make('span');
    const open = make('button', {type: 'button', class: 'text', part: 'fold', tabindex: -1, onclick: () => this.toggle()}, icon('fold'), this.#label);
    this.#fold = make('div', {class: 'fold'}, open);
    this.#within = make('ul', {class: 'within', part: 'entries', hidden: true});
    this.element = make('div', {class: 'row', role: 'listitem'}, this.#line.element, this.#acts, this.#fold, this.#within);
    this.element.row = this;
  }

  get main() {
    return this.#line.main;
  }

  /** The lines through which arrow keys go. */
  get mains() {
    return [this.main, ...(this.#isOpen ? this.#lines.map(line => line.main) : [])];
  }

  get #opener() {
    return this.#fold.firstChild;
  }

  /** Looks at a long list row by row, and touches what has changed. */
  refresh(item, isFresh) {
    const {language} = this.#desk;
    const state = [item, language, item.unread, item.saved, isFresh];
    if (state.every((value, at) => value === this.#state[at])) return;
    this.#state = state;
    this.update(item, isFresh);
  }

  update(item, isFresh) {
    const {language} = this.#desk;
    const isNew = this.item !== item;
    this.item = item;
    this.#line.update(item, item.since, item.why);
    this.element.classList.toggle('fresh', isFresh);
    const kind = /^[\w-]+$/.test(item.kind) ? ` kind-${item.kind}` : '';
    setAttribute(this.element, 'part', `item${item.unread ? ' item-unread' : ''}${isFresh ? ' item-new' : ''}${kind}`);
    setAttribute(this.#more, 'aria-label', `${language.say('more')}: ${item.says ?? item.subject}`);
    setAttribute(this.#more, 'aria-expanded', !this.#acts.hidden ? 'true' : 'false');
    setAttribute(this.#acts, 'aria-label', language.say('more'));
    const words = {read: item.unread ? 'markRead' : 'markUnread', save: item.saved ? 'unsave' : 'save', snooze: 'tomorrow', clear: 'clear'};
    for (const name of ACTS) setText(this.#buttons[name], language.say(words[name]));
    this.#fold.hidden = item.count < 2;
    setText(this.#label, this.#isOpen ? language.say('fold') : language.say('open', item.count));
    setAttribute(this.#opener, 'aria-expanded', this.#isOpen ? 'true' : 'false');
    // What came to it, or was read of it, since it was opened.
    if (isNew && this.#isOpen) this.#read(true);
  }

  tick() {
    this.#line.tick();
    this.#lines.forEach(line => line.tick());
  }

  /** Lets the tab key into this row, or past it. */
  set isCurrent(is) {
    for (const control of this.element.querySelectorAll('a, button')) control.tabIndex = is ? 0 : -1;
  }

  get controls() {
    return [...this.element.querySelectorAll('a, button')].filter(control => control.offsetParent);
  }

  #showActs(is) {
    this.#acts.hidden = !is;
    this.update(this.item, this.element.classList.contains('fresh'));
    if (is) this.#buttons.read.focus();
  }

  #act(name) {
    if (name === 'read' || name === 'save') {
      this.#acts.hidden = true;
      this.#more.focus();
    }
    this.#desk.act(name, this.item);
  }

  #follow(event) {
    this.#desk.follow(event, this.item);
    if (this.main.tagName === 'BUTTON' && this.item.count > 1) this.toggle();
  }

  async toggle() {
    if (this.item.count < 2) return;
    this.#isOpen = !this.#isOpen;
    this.#within.hidden = !this.#isOpen;
    this.update(this.item, this.element.classList.contains('fresh'));
    if (this.#isOpen) await this.#read(true);
  }

  async #read(isAnew) {
    try {
      const {items, next} = await this.#desk.readBundle(this.item.bundle, isAnew ? null : this.#next);
      this.#next = next ?? null;
      if (isAnew) this.#lines = [];
      this.#lines.push(...items.map(entry => this.#makeLine(entry)));
      const more = make('button', {type: 'button', class: 'text', tabindex: 0, onclick: () => this.#read(false)}, this.#desk.language.say('more'));
      const at = [...this.#within.querySelectorAll('.main')].indexOf(this.#within.getRootNode().activeElement);
      this.#within.replaceChildren(...this.#lines.map(line => make('li', {part: 'entry'}, line.element)), ...(next ? [make('li', {}, more)] : []));
      if (at >= 0) this.#lines[Math.min(at, this.#lines.length - 1)]?.main.focus();
    } catch (error) {
      this.#desk.fail(error);
    }
  }

  #makeLine(entry) {
    const name = entry.actor?.name;
    // Once is enough.
    const who = entry.says.includes(name) ? '' : name;
    const line = new FeedLine(this.#desk, event => {
      this.#desk.follow(event, this.item, entry);
      entry.unread = false;
      line.update(entry, entry.occurred, who);
    });
    line.update(entry, entry.occurred, who);
    line.main.tabIndex = 0;
    return line;
  }
}
