import type {BundleReport, CountsReport, ItemReport} from './client.js';
import {TidingsClient} from './client.js';

export {TidingsClient};
export {TidingsError, type TidingsOptions, type TidingsSettings} from './request.js';

/** What the bell says; README.md lists the keys. `fresh` has a form for each plural of the language. */
export interface BellWords {
  title: string; all: string; unread: string; saved: string; empty: string; emptyUnread: string; emptySaved: string;
  readAll: string; markRead: string; markUnread: string; save: string; unsave: string; tomorrow: string; clear: string;
  cleared: string; snoozed: string; undo: string; more: string; open: string; close: string; fold: string;
  loading: string; offline: string; failed: string; denied: string; again: string;
  fresh: Partial<Record<Intl.LDMLPluralRule, string>>;
}

export interface BellEvents {
  /** The panel was opened or closed. */
  'tidings-open': CustomEvent<{open: boolean}>;
  /** The number on the bell is another one. */
  'tidings-count': CustomEvent<{number: number; more: boolean; counts: CountsReport}>;
  /** Somebody followed a bundle, or an entry of it; cancel it to lead them there yourself. */
  'tidings-click': CustomEvent<{item: BundleReport; entry?: ItemReport}>;
  /** Something was refused, or no token came; cancel it to keep it out of the console. */
  'tidings-error': CustomEvent<{error: Error & {status?: number}}>;
}

export class TidingsBell extends HTMLElement {
  server?: string;
  person?: string;
  tokenUrl?: string;
  bundleBy?: string;
  label?: string;
  target?: string;
  getToken?: () => Promise<string> | string;
  words?: Partial<BellWords>;
  readonly open: boolean;
  readonly client: TidingsClient;
  show(): void;
  hide(): void;
  addEventListener<K extends keyof BellEvents>(type: K, listener: (event: BellEvents[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener<K extends keyof HTMLElementEventMap>(type: K, listener: (event: HTMLElementEventMap[K]) => void, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'tidings-bell': TidingsBell;
  }
}
