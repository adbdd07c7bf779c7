// What is known of a person's feed: the pages that were asked for, and the marks that are on their way.
import {TidingsError} from './request.js';

export const PAGE_SIZE = 25;
const PAGE_SIZE_MAX = 100;
/** Keys of entries that one mark takes. */
const ENTRIES_MAX = 200;
const MARKS_MAX = 500;
const RETRY_SECS = 5;

export class FeedList {
  items = [];
  counts = null;
  filter = 'all';
  isLoading = false;
  error = null;
  markedAt = 0;
  #client;
  #changed;
  #bundleBy;
  #next = null;
  #marks = [];
  #sending = false;
  #epoch = 0;
  #asking = {};
  #line = Promise.resolve();
  #waiting = null;
  #more = null;
  #retry;
  /** Bundles that were taken out here, and of which list, until the house knows. */
  #gone = new Map();
  #life = new AbortController();

  constructor(client, bundleBy, changed) {
    this.#client = client;
    this.#bundleBy = bundleBy || undefined;
    this.#changed = changed;
    addEventListener('pagehide', () => this.#sendRest(), {signal: this.#life.signal});
  }

  get hasMore() {
    return this.#next !== null;
  }

  get #query() {
    return {bundle_by: this.#bundleBy, ...(this.filter === 'all' ? {} : {[this.filter]: true})};
  }

  async readCounts() {
    this.setCounts(await this.#client.getCounts({bundle_by: this.#bundleBy}));
  }

  setCounts(counts) {
    this.counts = counts;
    // All was read elsewhere: also what stands on pages that are not asked for again.
    const {number, more} = counts.unread;
    if (number === 0 && !more && this.#marks.length === 0) this.items.forEach(item => { item.unread = false; });
    this.#changed();
  }

  /** Begins with the first page; what stood here goes when it is there. */
  begin(filter = this.filter) {
    if (filter !== this.filter) this.items = [];
    this.filter = filter;
    // Whatever else is asked for is of no use any more.
    this.#asking = {};
    this.#waiting = null;
    this.#line = Promise.resolve();
    return this.#ask(() => this.#readFirst(PAGE_SIZE), page => {
      this.items = page.bundles;
      this.#next = page.next ?? null;
    });
  }

  /** Asks for the first `size` again, and leaves what stands below. One that waits is enough. */
  refresh(size) {
    this.#waiting ??= this.#ask(() => {
      this.#waiting = null;
      return this.#readFirst(Math.min(Math.max(size, PAGE_SIZE), PAGE_SIZE_MAX));
    }, page => {
      const fresh = new Set(page.bundles.map(item => item.key));
      const last = this.items.findLastIndex(item => fresh.has(item.key));
      const below = page.next == null ? [] : this.items.slice(last + 1);
      this.items = [...page.bundles, ...below];
      if (below.length === 0) this.#next = page.next ?? null;
    });
    return this.#waiting;
  }

  loadMore() {
    this.#more ??= this.#ask(() => (
      this.#next === null ? null : this.#client.getFeed({limit: PAGE_SIZE_MAX, since: this.#next, ...this.#query})
    ), page => {
      const there = new Set(this.items.map(item => item.key));
      this.items = this.items.concat(page.bundles.filter(item => !there.has(item.key)));
      this.#next = page.next ?? null;
    }).finally(() => { this.#more = null; });
    return this.#more;
  }

  async #readFirst(limit) {
    for (;;) {
      const epoch = this.#epoch;
      const page = await this.#client.getFeed({limit, ...this.#query});
      // Something was marked meanwhile: the answer may be of before.
      if (epoch === this.#epoch) return page;
    }
  }

  /** One request after the other; the page, or null if nothing came of it. */
  #ask(read, take) {
    const asking = this.#asking;
    const turn = async () => {
      if (asking !== this.#asking) return null;
      this.isLoading = true;
      this.#changed();
      try {
        const page = await read();
        if (!page || asking !== this.#asking) return null;
        for (const item of page.bundles) {
          item.shown = page.shown;
          // A bundle has another name once it was seen; its oldest entry stays.
          item.key = item.entries.at(-1) ?? item.bundle;
        }
        take(page);
        this.items = this.items.filter(({key}) => !['all', this.filter].includes(this.#gone.get(key)));
        this.error = null;
        if (page.counts) this.setCounts(page.counts);
        return page;
      } catch (error) {
        if (asking === this.#asking) this.#fail(error);
        return null;
      } finally {
        if (asking === this.#asking) this.isLoading = false;
        this.#changed();
      }
    };
    this.#line = this.#line.then(turn);
    return this.#line;
  }

  readBundle(bundle, since) {
    return this.#client.getBundle(bundle, {limit: PAGE_SIZE_MAX, since, bundle_by: this.#bundleBy});
  }

  /** All keys of a bundle's entries; a bundle names its newest hundred by itself. */
  async listEntries(item) {
    const keys = [...item.entries];
    let since = null;
    if (item.count > keys.length) {
      keys.length = 0;
      do {
        const page = await this.#client.getBundle(item.bundle, {limit: PAGE_SIZE_MAX, since, bundle_by: this.#bundleBy});
        keys.push(...page.items.map(entry => entry.entry));
        since = page.next;
      } while (since);
    }
    return keys;
  }

  /** A mark of a bundle; what comes to it later is not meant by whoever marks it. */
  nameBundle(mark, {bundle, shown}) {
    return {mark, bundles: [bundle], shown};
  }

  /** Takes a bundle off the list; what puts it back, by its entries. One that is saved no more is off that list alone. */
  async takeOut(item, mark, until) {
    const place = this.items.indexOf(item);
    this.items = this.items.filter(other => other !== item);
    this.#gone.set(item.key, mark === 'unsaved' ? 'saved' : 'all');
    this.#changed();
    const keys = await this.listEntries(item).catch(() => item.entries);
    this.mark({...this.nameBundle(mark, item), until}, () => this.#gone.delete(item.key));
    return () => {
      this.#gone.delete(item.key);
      this.items = this.items.filter(other => other.key !== item.key);
      this.items.splice(place, 0, item);
      for (let at = 0; at < keys.length; at += ENTRIES_MAX) {
        this.mark({mark: mark === 'snoozed' ? 'unsnoozed' : 'restored', entries: keys.slice(at, at + ENTRIES_MAX)});
      }
      this.#changed();
    };
  }

  /** Says it to the house; kept for later while there is no line. */
  mark(body, done) {
    this.#epoch++;
    this.markedAt = Date.now();
    // The answer counts what this list shows.
    if (this.#marks.length < MARKS_MAX) this.#marks.push({body: {...body, bundle_by: this.#bundleBy}, done});
    this.#changed();
    return this.send();
  }

  async send() {
    if (this.#sending) return;
    this.#sending = true;
    clearTimeout(this.#retry);
    try {
      while (this.#marks.length) {
        const [{body, done}] = this.#marks;
        try {
          // A click on a link leaves the page before the answer is there.
          const {counts} = await this.#client.postMarks(body, {keepalive: true});
          this.#marks.shift();
          this.setCounts(counts);
        } catch (error) {
          if (isPassing(error)) {
            this.#retry = setTimeout(() => this.send(), 1000 * (error.waitSecs || RETRY_SECS));
            return this.#fail(error);
          }
          this.#marks.shift();
          this.#fail(error);
        }
        this.#epoch++;
        done?.();
      }
    } finally {
      this.#sending = false;
      this.#changed();
    }
  }

  /** The page goes: all that waits is said at once, since nobody will be there to say it later. */
  #sendRest() {
    for (const mark of this.#marks.splice(this.#sending ? 1 : 0)) {
      this.#client.postMarks(mark.body, {keepalive: true}).then(mark.done, error => {
        // A page may come back as it was left.
        if (isPassing(error)) this.#marks.push(mark);
      });
    }
  }

  #fail(error) {
    this.error = error;
    this.#changed();
  }

  stop() {
    clearTimeout(this.#retry);
    this.#life.abort();
    this.#asking = null;
  }
}

/** Whether the same request may be taken a little later. */
export function isPassing(error) {
  return !(error instanceof TidingsError) || error.status === 0 || error.status === 429 || error.status >= 500;
}
