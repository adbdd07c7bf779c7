// <tidings-bell>: a bell with a count, and a panel with what there is for a person. README.md beside this says how to use it.
import {TidingsClient} from './client.js';
import {icon, make, safeLink, setAttribute, setText} from './dom.js';
import {FeedList} from './feed.js';
import {FeedStream} from './live.js';
import {checkToken} from './request.js';
import {BundleRow} from './row.js';
import {readStyle} from './style.js';
import {readLanguage} from './words.js';

const EDGE = 8;
/** More is asked for when the end of the list is so near. */
const MARGIN = 800;
const ROOM_MIN = 320;
const TOAST_MS = 10_000;
/** A line that is gone for less than this is not spoken of. */
const AWAY_MS = 2000;
const TICK_MS = 30_000;
const RELOAD_MS = 250;
const OWN_MS = 2000;
/** After a page that did not come. */
const MORE_MS = 5000;
/** Rows that a browser lays out together, once they come near. */
const GROUP = 50;
const SNOOZE_HOUR = 8;
const FILTERS = ['all', 'unread', 'saved'];
/** Attributes, and the properties of the same names. */
const NAMES = {server: 'server', person: 'person', 'token-url': 'tokenUrl', 'bundle-by': 'bundleBy', label: 'label', target: 'target'};
/** What is read only when a bell begins. */
const ROOTS = ['server', 'person', 'token-url', 'bundle-by'];

// Where there is no page, as on a server that makes one, there is nothing to extend.
const Base = globalThis.HTMLElement ?? class {};

export class TidingsBell extends Base {
  static observedAttributes = [...Object.keys(NAMES), 'lang'];

  #client;
  #list;
  #stream;
  #getToken;
  #ownWords;
  #rows = new Map();
  #fresh = new Set();
  #shown = null;
  #parts = {};
  #isPlanned = false;
  #isDrawing = false;
  #isAway = false;
  #status;
  /** What went wrong last, while it does. */
  #reported;
  #timers = {};
  #undo;
  /** While the panel is open. */
  #life;
  #seen = new WeakSet();
  #language;
  /** The latest wish for a language. */
  #turn;
  /** The row to which the tab key comes. */
  #current = null;

  constructor() {
    super();
    this.attachShadow({mode: 'open'});
    this.#build();
  }

  connectedCallback() {
    // Set before the element was known.
    for (const name of [...Object.values(NAMES), 'getToken', 'words']) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    this.#plan();
  }

  disconnectedCallback() {
    this.#end();
  }

  attributeChangedCallback(name, before, value) {
    if (before === value) return;
    if (ROOTS.includes(name)) this.#plan();
    else if (this.isConnected) this.#speak();
  }

  /** An async function that returns a person's token. */
  get getToken() {
    return this.#getToken;
  }

  set getToken(get) {
    if (this.#getToken === get) return;
    const isNewSort = !this.#getToken !== !get;
    this.#getToken = get;
    if (isNewSort) this.#plan();
  }

  /** Words of your own, by their key. */
  get words() {
    return this.#ownWords;
  }

  set words(words) {
    this.#ownWords = words;
    if (this.isConnected) this.#speak();
  }

  get open() {
    return this.#parts.panel.matches(':popover-open');
  }

  /** The typed client, for what the bell does not do. */
  get client() {
    return this.#client;
  }

  show() {
    if (!this.open) this.#parts.panel.showPopover();
  }

  hide() {
    if (this.open) this.#parts.panel.hidePopover();
  }

  // What the bell is connected with.

  #plan() {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // All attributes of a page's markup, or of a framework's turn, are there by then.
    queueMicrotask(() => {
      this.#isPlanned = false;
      if (this.isConnected) this.#begin();
    });
  }

  #begin() {
    this.#end();
    this.#speak();
    if (!this.person) return;
    const getToken = this.#getToken ? () => this.#getToken() : this.tokenUrl ? () => this.#fetchToken() : undefined;
    this.#client = new TidingsClient({server: this.server ?? '', person: this.person, getToken});
    this.#list = new FeedList(this.#client, this.bundleBy, () => this.#draw());
    this.#stream = new FeedStream(this.#client, what => this.#hear(what), this.bundleBy);
    this.#list.readCounts().catch(error => this.#fail(error));
    this.#stream.start();
    if (this.open) this.#load();
  }

  #end() {
    this.#stream?.stop();
    this.#list?.stop();
    Object.values(this.#timers).forEach(clearTimeout);
    this.#timers = {};
    this.#stream = this.#list = this.#shown = null;
    this.#isAway = false;
    this.#reported = undefined;
    this.#rows.clear();
    this.#parts.list.replaceChildren();
    this.#draw();
  }

  async #fetchToken() {
    const {tokenUrl} = this;
    const answer = await fetch(tokenUrl, {credentials: 'same-origin', cache: 'no-store'}).catch(error => {
      throw Object.assign(error, {status: 0});
    });
    const {ok, status} = answer;
    if (!ok) throw Object.assign(new Error(`${tokenUrl} answered ${status}`), {status});
    const text = await answer.text();
    const isJson = /^\s*\{/.test(text);
    const {token} = isJson ? await new Response(text).json().catch(() => ({})) : {token: text};
    return checkToken(token, tokenUrl);
  }

  #hear({counts, state, status, isBack}) {
    const list = this.#list;
    if (counts) {
      list.setCounts(counts);
      // What is done here comes back from there as well: that may wait.
      this.#timers.reload ??= setTimeout(() => {
        this.#timers.reload = undefined;
        if (this.open) this.#reload();
      }, Date.now() - list.markedAt < OWN_MS ? OWN_MS : RELOAD_MS);
    } else if (isBack) {
      list.readCounts().catch(() => {});
      if (this.open) this.#reload();
    } else if (state === 'live') {
      clearTimeout(this.#timers.away);
      this.#isAway = false;
      this.#status = this.#reported = undefined;
      if (list.error && this.open) this.#reload();
      list.error = null;
      list.send();
      this.#draw();
    } else {
      clearTimeout(this.#timers.away);
      this.#timers.away = setTimeout(() => {
        this.#isAway = true;
        this.#status = status;
        this.#draw();
      }, navigator.onLine ? AWAY_MS : 0);
      // Something on the way may let no streams through.
      if (status) list.readCounts().catch(error => this.#report(error));
    }
  }

  #fail(error) {
    if (!this.#list) return;
    this.#list.error = error;
    this.#draw();
  }

  /** Says to whoever builds the page what its reader sees a few words of; once, and not that a line is gone. */
  #report(error) {
    const {message, status} = error;
    if (status === 0 || message === this.#reported) return;
    this.#reported = message;
    if (this.#dispatch('tidings-error', {error}, true)) console.error(`tidings-bell: ${message}`);
  }

  // What it shows.

  #build() {
    const p = this.#parts;
    const text = (part, press, more = {}) => make('button', {type: 'button', class: 'text', part, onclick: press, ...more});
    p.badge = make('span', {class: 'badge', part: 'badge', dir: 'ltr', 'aria-hidden': 'true', hidden: true});
    p.away = make('span', {class: 'away', part: 'offline', hidden: true}, icon('away'));
    p.bell = make('button', {type: 'button', class: 'bell', part: 'button', 'aria-haspopup': 'dialog', 'aria-expanded': 'false'},
      make('slot', {name: 'icon'}, icon('bell')), p.badge, p.away);
    p.title = make('strong', {id: 'title', part: 'title'});
    p.close = make('button', {type: 'button', class: 'round', part: 'close', onclick: () => this.hide()}, icon('close'));
    p.tabs = FILTERS.map(filter => text('filter', () => this.#load(filter), {class: 'text tab'}));
    p.readAll = text('read-all', () => this.#readAll());
    p.noteText = make('span');
    p.again = text('again', () => { this.#list.error = null; this.#load(); this.#list.send(); });
    p.note = make('div', {class: 'note', part: 'note', role: 'status', hidden: true}, p.noteText, p.again);
    p.list = make('div', {part: 'list', role: 'list', onkeydown: event => this.#press(event), onfocusin: event => this.#move(event)});
    p.emptyText = make('span');
    p.empty = make('div', {class: 'empty', part: 'empty', hidden: true}, make('slot', {name: 'empty'}, p.emptyText));
    p.wait = make('p', {class: 'wait', part: 'loading'});
    p.scroll = make('div', {class: 'scroll', part: 'scroll', onscroll: () => this.#reach()}, p.list, p.empty, p.wait);
    p.toastText = make('span');
    p.undo = text('undo', () => this.#takeBack());
    p.toastBox = make('div', {class: 'toast', part: 'toast', hidden: true}, p.toastText, p.undo);
    p.toast = make('div', {role: 'status'}, p.toastBox);
    p.panel = make('div', {class: 'panel', part: 'panel', id: 'panel', role: 'dialog', popover: 'auto', tabindex: -1, autofocus: true,
      'aria-labelledby': 'title', onkeydown: event => this.#pressPanel(event), onbeforetoggle: event => this.#giveBack(event), ontoggle: event => this.#toggle(event)},
    make('div', {class: 'head', part: 'head'}, p.title, p.readAll, p.close), make('div', {class: 'bar', part: 'bar'}, ...p.tabs),
    p.note, p.scroll, p.toast, make('slot', {name: 'footer'}));
    p.live = make('span', {class: 'unseen', role: 'status'});
    p.bell.popoverTargetElement = p.panel;
    this.shadowRoot.adoptedStyleSheets = [readStyle()];
    this.shadowRoot.append(p.bell, p.panel, p.live);
  }

  /** Says everything in the language of now. */
  async #speak() {
    const p = this.#parts;
    const turn = this.#turn = {};
    const tag = this.closest('[lang]')?.lang || this.getRootNode().host?.closest('[lang]')?.lang || navigator.language;
    const language = await readLanguage(tag, this.#ownWords);
    if (turn !== this.#turn) return;
    this.#language = language;
    setAttribute(p.panel, 'lang', this.#language.tag);
    setAttribute(p.panel, 'dir', this.dir || this.#language.direction);
    const say = (element, key) => setText(element, this.#language.say(key));
    setText(p.title, this.label || this.#language.say('title'));
    FILTERS.forEach((filter, at) => say(p.tabs[at], filter));
    say(p.readAll, 'readAll');
    say(p.again, 'again');
    say(p.undo, 'undo');
    setAttribute(p.list, 'aria-labelledby', 'title');
    setAttribute(p.close, 'aria-label', this.#language.say('close'));
    this.#draw();
  }

  #draw() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => {
      this.#isDrawing = false;
      if (this.#list?.error) this.#report(this.#list.error);
      if (!this.#language) return;
      this.#drawCount();
      if (this.open) this.#drawPanel();
    });
  }

  #drawCount() {
    const p = this.#parts;
    const {number = 0, more = false} = this.#list?.counts?.new ?? {};
    const fresh = number ? this.#language.say('fresh', number, more) : '';
    p.badge.hidden = !number;
    setText(p.badge, this.#language.count(number, more));
    const away = this.#isAway ? this.#language.say(this.#denied ? 'denied' : 'offline') : '';
    p.away.hidden = !this.#isAway;
    setAttribute(p.bell, 'aria-label', [this.label || this.#language.say('title'), fresh, away].filter(Boolean).join(', '));
    const shown = `${number}${more ? '+' : ''}`;
    if (!this.#list?.counts || shown === this.#shown) return;
    const before = this.#shown === null ? Infinity : parseInt(this.#shown, 10);
    this.#shown = shown;
    if (number > before) this.#announce(fresh);
    this.#dispatch('tidings-count', {number, more, counts: this.#list.counts});
  }

  get #denied() {
    const status = this.#list?.error?.status ?? this.#status;
    return status === 401 || status === 403;
  }

  #announce(text) {
    clearTimeout(this.#timers.live);
    this.#timers.live = setTimeout(() => {
      this.#parts.live.textContent = '';
      this.#parts.live.textContent = text;
    }, 500);
  }

  #drawPanel() {
    const p = this.#parts;
    const list = this.#list;
    const {items = [], isLoading = false, hasMore = false, filter = 'all', error} = list ?? {};
    FILTERS.forEach((name, at) => setAttribute(p.tabs[at], 'aria-pressed', name === filter ? 'true' : 'false'));
    const {number = 0} = list?.counts?.unread ?? {};
    p.readAll.hidden = number === 0;
    const isOff = this.#isAway || error?.status === 0;
    p.note.hidden = !isOff && !error;
    setText(p.noteText, p.note.hidden ? '' : this.#language.say(this.#denied ? 'denied' : isOff ? 'offline' : 'failed'));
    p.again.hidden = isOff && !navigator.onLine;
    p.empty.hidden = items.length > 0 || isLoading || Boolean(error) || !list;
    setText(p.emptyText, this.#language.say({all: 'empty', unread: 'emptyUnread', saved: 'emptySaved'}[filter]));
    p.wait.hidden = !hasMore && !(isLoading && items.length === 0);
    setText(p.wait, this.#language.say('loading'));
    setAttribute(p.scroll, 'aria-busy', isLoading ? 'true' : 'false');
    this.#drawRows(items);
  }

  #drawRows(items) {
    const {list} = this.#parts;
    const kept = new Set(items.map(item => item.key));
    const held = this.shadowRoot.activeElement?.closest('.row');
    for (const [key, row] of this.#rows) {
      if (kept.has(key)) continue;
      if (row.element === held) this.#leave(row);
      row.element.remove();
      this.#rows.delete(key);
    }
    let group = list.firstChild;
    let place = group?.firstChild ?? null;
    for (const item of items) {
      let row = this.#rows.get(item.key);
      if (!row) this.#rows.set(item.key, row = new BundleRow(this.#desk));
      row.refresh(item, this.#fresh.has(item.key));
      if (row.element === place) {
        place = place.nextSibling;
      } else {
        if (!group || (!place && group.childElementCount >= GROUP)) list.append(group = make('div', {class: 'group', role: 'presentation'}));
        group.insertBefore(row.element, place);
      }
      while (!place && group.nextSibling) {
        group = group.nextSibling;
        place = group.firstChild;
      }
    }
    for (const empty of list.querySelectorAll('.group:empty')) empty.remove();
    if (this.#current?.element.isConnected || !items.length) return;
    this.#current = this.#rows.get(items[0].key);
    this.#current.isCurrent = true;
  }

  #listRows() {
    return [...this.#parts.list.querySelectorAll('.row')].map(element => element.row);
  }

  /** The focus goes on to the row beside one that goes. */
  #leave(row) {
    const all = this.#listRows();
    const at = all.indexOf(row);
    ((all[at + 1] ?? all[at - 1])?.main ?? this.#parts.panel).focus();
  }

  #dispatch(name, detail, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(name, {detail, cancelable, bubbles: true, composed: true}));
  }

  // The panel.

  #toggle({newState}) {
    const isOpen = newState === 'open';
    setAttribute(this.#parts.bell, 'aria-expanded', String(isOpen));
    this.#life?.abort();
    clearInterval(this.#timers.tick);
    if (isOpen) {
      this.#life = new AbortController();
      const {signal} = this.#life;
      const place = () => this.#place();
      addEventListener('resize', place, {signal});
      addEventListener('scroll', place, {signal, capture: true, passive: true});
      document.addEventListener('visibilitychange', () => document.hidden || this.#reload(), {signal});
      this.#timers.tick = setInterval(() => this.#rows.forEach(row => row.tick()), TICK_MS);
      this.#load();
      place();
    } else {
      this.#fresh.clear();
      this.#hideToast();
    }
    this.#dispatch('tidings-open', {open: isOpen});
  }

  /** The focus goes back to the bell; of themselves not all browsers find what is in a shadow tree. */
  #giveBack({newState}) {
    const {activeElement: held} = this.shadowRoot;
    const isHeld = held ? this.#parts.panel.contains(held) : document.activeElement === document.body;
    if (newState === 'closed' && isHeld) this.#parts.bell.focus();
  }

  /** Below the bell, or above where there is more room; within the window. */
  #place() {
    const {bell, panel} = this.#parts;
    const box = bell.getBoundingClientRect();
    const {clientWidth: width, clientHeight: height} = document.documentElement;
    const below = height - box.bottom - EDGE;
    const isAbove = below < ROOM_MIN && box.top > below;
    const isEnd = box.left + box.right > width;
    const left = isEnd ? box.right - panel.offsetWidth : box.left;
    const {style} = panel;
    style.left = `${Math.max(EDGE, Math.min(left, width - panel.offsetWidth - EDGE))}px`;
    style.top = isAbove ? 'auto' : `${Math.max(EDGE, box.bottom + 4)}px`;
    style.bottom = isAbove ? `${height - box.top + 4}px` : 'auto';
    style.maxHeight = `min(var(--tidings-height, 36rem), ${Math.max(isAbove ? box.top - EDGE : below, ROOM_MIN / 2)}px)`;
  }

  async #load(filter) {
    const list = this.#list;
    this.#parts.scroll.scrollTop = 0;
    if (list) this.#see(await list.begin(filter));
  }

  /** As much as has been looked at. */
  async #reload() {
    const list = this.#list;
    if (!list) return;
    const {scrollTop, clientHeight, scrollHeight} = this.#parts.scroll;
    this.#see(await list.refresh(Math.ceil(list.items.length * (scrollTop + clientHeight) / scrollHeight)));
  }

  /** Where the end is near, or still in sight, more is asked for. */
  #reach() {
    const {wait, scroll} = this.#parts;
    if (!wait.hidden && wait.getBoundingClientRect().top < scroll.getBoundingClientRect().bottom + MARGIN) this.#loadMore();
  }

  async #loadMore() {
    const list = this.#list;
    if (!this.open || !list?.hasMore || !list.items.length) return;
    const page = await list.loadMore();
    if (page) this.#see(page);
    else if (list.error) this.#timers.more = setTimeout(() => this.#loadMore(), MORE_MS);
  }

  /** What a page showed to somebody is not new any more. */
  #see(page) {
    if (!page || !this.open) return;
    setTimeout(() => this.#reach());
    // Several may have waited for the same page.
    if (document.hidden || this.#seen.has(page)) return;
    this.#seen.add(page);
    const fresh = page.bundles.filter(item => item.new);
    fresh.forEach(item => this.#fresh.add(item.key));
    if (fresh.length) this.#list.mark({mark: 'seen', shown: page.shown});
    this.#draw();
  }

  #press(event) {
    const row = event.target.closest('.row')?.row;
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const {key, target} = event;
    const inline = this.#parts.panel.dir === 'rtl' ? {ArrowLeft: 1, ArrowRight: -1} : {ArrowRight: 1, ArrowLeft: -1};
    const mains = () => this.#listRows().flatMap(row => row.mains);
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      const all = mains();
      const at = all.indexOf(target.closest('.lead')?.querySelector('.main') ?? row.main);
      (all[at + (key === 'ArrowDown' ? 1 : -1)] ?? target).focus();
    } else if (key === 'Home' || key === 'End') {
      mains().at(key === 'Home' ? 0 : -1).focus();
    } else if (key in inline) {
      const {controls} = row;
      (controls[controls.indexOf(target) + inline[key]] ?? target).focus();
    } else if (key === 'Delete') {
      this.#act('clear', row.item);
    } else {
      return;
    }
    event.preventDefault();
  }

  #pressPanel(event) {
    const {key} = event;
    if (event.target === this.#parts.panel && (key === 'ArrowDown' || key === 'Home')) {
      event.preventDefault();
      this.#listRows()[0]?.main.focus();
    } else if (key === 'z' && (event.ctrlKey || event.metaKey) && this.#undo) {
      event.preventDefault();
      this.#takeBack();
    }
  }

  /** The tab key comes to one row: the last that had the focus. */
  #move({target}) {
    const row = target.closest('.row')?.row;
    if (!row || row === this.#current) return;
    if (this.#current) this.#current.isCurrent = false;
    row.isCurrent = true;
    this.#current = row;
  }

  // What its reader does.

  #desk = ((bell) => ({
    get language() { return bell.#language; },
    get target() { return bell.target; },
    act: (name, item) => bell.#act(name, item),
    follow: (event, item, entry) => bell.#follow(event, item, entry),
    readBundle: (bundle, since) => bell.#list.readBundle(bundle, since),
    fail: error => bell.#fail(error),
  }))(this);

  #follow(event, item, entry) {
    if (event.type === 'click' && !this.#dispatch('tidings-click', {item, entry}, true)) event.preventDefault();
    if (entry ? entry.unread : item.unread) {
      if (!entry || item.count === 1) item.unread = false;
      this.#list.mark(entry ? {mark: 'read', entries: [entry.entry]} : this.#list.nameBundle('read', item));
    }
    const isLeaving = event.type === 'click' && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (isLeaving && safeLink((entry ?? item).page)) this.hide();
  }

  async #act(name, item) {
    const list = this.#list;
    if (name === 'read') {
      item.unread = !item.unread;
      list.mark(list.nameBundle(item.unread ? 'unread' : 'read', item));
    } else if (name === 'save') {
      item.saved = !item.saved;
      if (item.saved || list.filter !== 'saved') list.mark(list.nameBundle(item.saved ? 'saved' : 'unsaved', item));
      else list.takeOut(item, 'unsaved');
    } else if (name === 'clear') {
      this.#showToast('cleared', list.takeOut(item, 'cleared'), item);
    } else {
      const until = new Date();
      until.setDate(until.getDate() + 1);
      until.setHours(SNOOZE_HOUR, 0, 0, 0);
      this.#showToast('snoozed', list.takeOut(item, 'snoozed', until.toISOString()), item);
    }
  }

  #readAll() {
    this.#list.items.forEach(item => { item.unread = false; });
    this.#list.mark({mark: 'read', all: true});
    this.#parts.panel.focus();
  }

  #showToast(key, undo, item) {
    const {toastBox, toastText} = this.#parts;
    this.#undo = {undo, item};
    toastBox.hidden = false;
    setText(toastText, this.#language.say(key));
    clearTimeout(this.#timers.toast);
    const end = () => {
      if (toastBox.matches(':hover, :focus-within')) this.#timers.toast = setTimeout(end, TOAST_MS);
      else this.#hideToast();
    };
    this.#timers.toast = setTimeout(end, TOAST_MS);
  }

  #hideToast() {
    clearTimeout(this.#timers.toast);
    this.#parts.toastBox.hidden = true;
    setText(this.#parts.toastText, '');
    this.#undo = undefined;
  }

  async #takeBack() {
    const {undo, item} = this.#undo;
    this.#hideToast();
    this.#parts.panel.focus();
    (await undo)();
    await Promise.resolve();
    this.#rows.get(item.key)?.main.focus();
  }
}

for (const [attribute, name] of Object.entries(NAMES)) {
  Object.defineProperty(TidingsBell.prototype, name, {
    configurable: true,
    enumerable: true,
    get() { return this.getAttribute(attribute) ?? undefined; },
    set(value) { setAttribute(this, attribute, value); },
  });
}

if (globalThis.customElements && !customElements.get('tidings-bell')) customElements.define('tidings-bell', TidingsBell);

export {TidingsClient};
export {TidingsError} from './request.js';
