/** A refusal: `status` of the answer, 0 where none came; `problem` is the body of RFC 9457. */
export class TidingsError extends Error {
  status: number;
  problem: {type?: string; title?: string; status?: number; detail?: string};
  /** After so many seconds the house may be asked again; 0 where it does not say. */
  waitSecs?: number;
}

export interface TidingsSettings {
  /** Where the house is, such as `https://tidings.example.com`; the page's own site if it is left out. */
  server?: string;
  /** Whose feed it is. */
  person: string;
  /** Gives a token of that person; called again when the house refuses the one before, or ends a stream. */
  getToken?: () => Promise<string> | string;
}

export type TidingsOptions = Omit<RequestInit, 'method' | 'body' | 'headers'> & {headers?: Record<string, string>};

export class TidingsRequest {
  constructor(settings: TidingsSettings);
  readonly server: string;
  readonly person: string;
  /** Has the next request ask `getToken` for a new one. */
  dropToken(): void;
}
