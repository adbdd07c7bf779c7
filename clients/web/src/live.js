// What is new, as it happens. Tabs of one site share a single stream: the house speaks HTTP/1.1, and a browser opens six
// connections to it at most. Who holds the lock reads the stream and tells the others.

/** A hidden page lets go of the stream after this. */
const HIDDEN_MS = 5 * 60_000;
/** The house says something every 15 seconds; after so long the line is dead. */
const SILENT_MS = 40_000;
/** After a stream that lived as long, the next is asked for soon. */
const STEADY_MS = 5000;
const BACKOFF_MS = 1000;
const BACKOFF_MS_MAX = 60_000;

export class FeedStream {
  #client;
  #hear;
  #query;
  #name;
  #life;
  #run;
  #channel;
  #wake;
  #hiding;
  #id = '';
  #tries = 0;
  /** When this tab's stream began. */
  #begun = Infinity;
  #base = BACKOFF_MS;

  /** `hear` is called with `{counts}`, `{state: 'live' | 'away', error}` and `{isBack: true}`. */
  constructor(client, hear, bundleBy = '') {
    this.#client = client;
    this.#hear = hear;
    this.#query = {bundle_by: bundleBy};
    // Who counts other bundles has a stream of their own.
    this.#name = `tidings ${client.server} ${client.person} ${bundleBy}`;
  }

  start() {
    this.#life = new AbortController();
    const {signal} = this.#life;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({data}) => this.#take(data);
    addEventListener('online', () => this.#resume(), {signal});
    addEventListener('offline', () => this.#pause({state: 'away'}), {signal});
    addEventListener('pagehide', () => this.#pause(), {signal});
    addEventListener('pageshow', () => this.#resume(), {signal});
    document.addEventListener('visibilitychange', () => this.#see(), {signal});
    this.#see();
    if (navigator.onLine) this.#resume();
    else this.#hear({state: 'away'});
  }

  stop() {
    this.#life?.abort();
    this.#pause();
    this.#channel?.close();
  }

  #see() {
    clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = setTimeout(() => this.#pause(), HIDDEN_MS);
    else this.#resume();
  }

  #pause(why) {
    clearTimeout(this.#hiding);
    this.#run?.abort();
    this.#run = undefined;
    if (why) this.#hear(why);
  }

  #resume() {
    if (this.#life.signal.aborted || !navigator.onLine) return;
    this.#tries = 0;
    this.#wake?.();
    if (this.#run) return;
    if (this.#id) this.#hear({isBack: true});
    this.#run = new AbortController();
    this.#follow(this.#run.signal);
  }

  async #follow(signal) {
    while (!signal.aborted) {
      try {
        await this.#lead(() => this.#read(signal), signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#tell({state: 'away', status: error.status});
      }
      this.#tries = Date.now() - this.#begun > STEADY_MS ? 0 : this.#tries + 1;
      this.#begun = Infinity;
      // Without the lock: a page that cannot read does not keep others from it.
      await this.#pass(signal);
    }
  }

  #lead(read, signal) {
    return navigator.locks ? navigator.locks.request(this.#name, {signal}, read) : read();
  }

  #pass(signal) {
    const longest = Math.min(this.#base * 2 ** this.#tries, BACKOFF_MS_MAX);
    return new Promise(done => {
      const timer = setTimeout(done, longest * (0.5 + Math.random() / 2));
      this.#wake = () => { clearTimeout(timer); done(); };
      signal.addEventListener('abort', this.#wake);
    });
  }

  async #read(signal) {
    const line = new AbortController();
    const end = () => line.abort();
    signal.addEventListener('abort', end);
    let watch = setTimeout(end, SILENT_MS);
    try {
      const headers = this.#id ? {'last-event-id': this.#id} : {};
      const answer = await this.#client.getFeedEvents(this.#query, {signal: line.signal, headers, cache: 'no-store'});
      this.#begun = Date.now();
      this.#tell({state: 'live'});
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const {done, value} = await reader.read();
        if (done) {
          // Mostly because the token is at its end: coming back with it would be of no use.
          this.#client.dropToken();
          return this.#tell({state: 'away'});
        }
        clearTimeout(watch);
        watch = setTimeout(end, SILENT_MS);
        const events = (text + value).replace(/\r\n?/g, '\n').split('\n\n');
        text = events.pop();
        events.forEach(event => this.#parse(event));
      }
    } finally {
      clearTimeout(watch);
      signal.removeEventListener('abort', end);
      end();
    }
  }

  #parse(event) {
    const fields = {};
    for (const line of event.split('\n')) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
      if (name) fields[name] = value;
    }
    if (fields.retry) this.#base = Math.min(Math.max(Number(fields.retry) || BACKOFF_MS, 100), BACKOFF_MS_MAX);
    if (fields.event === 'feed' && fields.data) this.#tell({id: fields.id, ...JSON.parse(fields.data)});
  }

  #tell(what) {
    this.#channel.postMessage(what);
    this.#take(what);
  }

  #take(what) {
    if (what.id) this.#id = what.id;
    this.#hear(what);
  }
}
