// Made by make-client.mjs of docs/openapi.json: change neither here.
import {TidingsRequest, type TidingsOptions} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
  /** A person's entries, for clients that poll */
  getEntries(
    query?: {since?: string | null; limit?: number | null; days?: number | null},
    options?: TidingsOptions): Promise<EntryPage>;
  /** A person's feed */
  getFeed(
    query?: {limit?: number | null; since?: string | null; kind?: string | null; category?: string | null; thread?: string | null; unread?: boolean | null; saved?: boolean | null},
    options?: TidingsOptions): Promise<FeedPage>;
  /** One bundle opened */
  getBundle(
    bundle: string,
    query?: {limit?: number | null; since?: string | null},
    options?: TidingsOptions): Promise<BundlePage>;
  /** Counts */
  getCounts(options?: TidingsOptions): Promise<FeedCounts>;
  /** Marks */
  postMarks(body: FeedMarks, options?: TidingsOptions): Promise<MarksAnswer>;
  /** Live */
  getLive(options?: TidingsOptions): Promise<Response>;
}

/** What a client is given at once. */
export type EntryPage = {
  /** Oldest first, but for those of a day that is given again. */
  entries: EntryReport[];
  /** Where to go on. */
  next: string;
  /** Whether there are more right now. */
  more: boolean;
};

export type FeedPage = {
  bundles: FeedItem[];
  counts: FeedCounts;
  shown: string;
  next: string | null;
};

export type BundlePage = {
  bundle: FeedItem;
  next?: string | null;
};

export type FeedCounts = {
  new: FeedNumber;
  unread: FeedNumber;
  categories: Record<string, Record<string, unknown>>;
};

export type FeedMarks = {
  mark: "seen" | "read";
  until?: string;
};

export type MarksAnswer = {
  marked: number;
  counts: FeedCounts;
};

export type EntryReport = {
  /** Names it within the person, as feedback does. */
  entry: string;
  occurred: string;
  subject: string;
  /** What the subject is called, if it says. */
  name?: string | null;
  kinds: string[];
  reasons: string[];
  /** The person who did it, if it was one. */
  actor?: string | null;
  fates: ChannelFate[];
};

export type FeedItem = {
  bundle: string;
  says?: string;
  page?: string | null;
};

export type FeedNumber = {
  number: number;
  more: boolean;
};

/** What became of an entry on one channel. */
export type ChannelFate = {
  channel: string;
  /** The fate, as the model says it. */
  fate: string;
  /** Good, waiting or ended: how it is coloured. */
  mood: FateMood;
  ready?: string | null;
  /** What the journal has on the Ready that told it. */
  journal?: string | null;
  at?: string | null;
};

export type FateMood = "told" | "waiting" | "ended";
