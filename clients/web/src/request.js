// One request to the house: the address, the token, and what a refusal says.

/** A refusal: `status` of the answer, 0 where none came; `problem` is the body of RFC 9457. */
export class TidingsError extends Error {
  constructor(status, problem = {}) {
    super(problem.detail || problem.title || `the house answered ${status}`);
    this.name = 'TidingsError';
    this.status = status;
    this.problem = problem;
  }
}

/** A token as it can be sent. An empty answer is none, nor is the page of a login. */
export function checkToken(token, source) {
  const text = String(token ?? '').trim();
  if (!/^[\w.~+/-]+=*$/.test(text)) throw new Error(`${source} has no token`);
  return text;
}

export class TidingsRequest {
  #token;

  constructor({server = '', person, getToken}) {
    this.server = server.replace(/\/+$/, '');
    this.person = person;
    this.getToken = getToken;
  }

  /** Asks, and once more with a new token if the house does not believe the one it was shown. */
  async ask(method, path, {query, body, isStream} = {}, options = {}) {
    const used = await this.#readToken();
    let answer = await this.#send(method, path, {query, body}, options, used);
    if (answer.status === 401 && this.getToken) {
      // Somebody else may have asked for a new one meanwhile.
      if (this.#token === used) this.#token = undefined;
      answer = await this.#send(method, path, {query, body}, options, await this.#readToken());
    }
    if (!answer.ok) {
      const error = new TidingsError(answer.status, await answer.json().catch(() => ({})));
      error.waitSecs = Number(answer.headers.get('retry-after')) || 0;
      throw error;
    }
    return isStream ? answer : answer.json();
  }

  /** The next request asks for a new one. */
  dropToken() {
    this.#token = undefined;
  }

  /** One promise for all who need a token at the same time. */
  #readToken() {
    if (this.getToken) {
      this.#token ??= Promise.resolve(this.getToken()).then(token => checkToken(token, 'getToken')).catch(error => {
        this.#token = undefined;
        throw error;
      });
    }
    return this.#token;
  }

  async #send(method, path, {query, body}, {headers, ...options}, token) {
    const words = Object.entries(query ?? {}).filter(([, value]) => value != null && value !== '');
    const search = words.length ? `?${new URLSearchParams(words)}` : '';
    const all = {...headers};
    if (token) all.authorization = `Bearer ${token}`;
    if (body) all['content-type'] = 'application/json';
    try {
      return await fetch(`${this.server}${path}${search}`, {
        method, headers: all, body: body && JSON.stringify(body), credentials: this.server ? 'omit' : 'same-origin', ...options,
      });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new TidingsError(0, {detail: error.message});
    }
  }
}
