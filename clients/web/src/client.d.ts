// Made by make-client.mjs of docs/openapi.json: change neither here.
import {TidingsRequest, type TidingsOptions} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
  /** A person's entries, for clients that poll */
  getEntries(
    query?: {since?: string | null; limit?: number | null; days?: number | null},
    options?: TidingsOptions): Promise<EntryPage>;
  /** A page of a person's feed, and its counts */
  getFeed(
    query?: {since?: string | null; limit?: number | null; kind?: string | null; category?: string | null; thread?: string | null; unread?: boolean | null; saved?: boolean | null; parts?: boolean | null; bundle_by?: "catalogue" | "kind" | "category" | "subject" | "actor" | "none" | null},
    options?: TidingsOptions): Promise<FeedPageReport>;
  /** A bundle of a person's feed, opened */
  getBundle(
    bundle: string,
    query?: {since?: string | null; limit?: number | null; parts?: boolean | null; bundle_by?: "catalogue" | "kind" | "category" | "subject" | "actor" | "none" | null},
    options?: TidingsOptions): Promise<OpenBundleReport>;
  /** How many bundles are new, and how many unread */
  getCounts(options?: TidingsOptions): Promise<CountsReport>;
  /** Says what the person did with entries */
  postMarks(body: MarkOrder, options?: TidingsOptions): Promise<MarksReport>;
  /** A stream of events that say when a feed changes */
  getFeedEvents(options?: TidingsOptions): Promise<Response>;
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

/** A page of a person's feed. */
export type FeedPageReport = {
  /** The newest first. */
  bundles: BundleReport[];
  /** Of the whole feed, whatever the page is asked for. */
  counts: CountsReport;
  /** Names the entries that this page shows, for a mark. */
  shown: string;
  /** Where to go on; null after the last page. */
  next?: string | null;
};

/** A bundle, and what is in it. */
export type OpenBundleReport = {
  /** Names it within the person. */
  bundle: string;
  kind: string;
  category?: string | null;
  /** What its newest entry is about. */
  subject: string;
  says?: string | null;
  /** Why the person gets it. */
  why?: string | null;
  /** Where the subject is at home. */
  page?: string | null;
  parts?: PartsReport | null;
  /** Since when its newest entry is news. */
  since: string;
  /** No visit showed it yet. */
  new: boolean;
  /** Something of it is unread. */
  unread: boolean;
  saved: boolean;
  /** How many entries it has. */
  count: number;
  actors: ActorsReport;
  /** Their keys, the newest first, 100 at most. */
  entries: string[];
  /** The newest first. */
  items: ItemReport[];
  /** Where to go on; null after the last one. */
  next?: string | null;
};

/** How many bundles are new, and how many have something unread. */
export type CountsReport = {
  new: CountReport;
  unread: CountReport;
  /** Of the categories that have any bundle. */
  categories: Record<string, CategoryCountsReport>;
};

/** A mark, as it is sent. */
export type MarkOrder = {
  mark: MarkWord;
  /** Until when something is put off, in RFC 3339; of `snoozed` alone. */
  until?: string | null;
  /** What a page said: all entries that it showed. Beside one of the fields below, of those only what that page showed. */
  shown?: string | null;
  bundles?: string[] | null;
  /** By what the bundles were made, as the page was asked. */
  bundle_by?: string | null;
  entries?: string[] | null;
  kind?: string | null;
  category?: string | null;
  thread?: string | null;
  /** Everything that is listed. */
  all?: boolean | null;
};

/** What a mark did. */
export type MarksReport = {
  /** Entries that it is for; null where one note stands for all. */
  marked?: number | null;
  /** As they are now. */
  counts: CountsReport;
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

/** Entries that are told as one. */
export type BundleReport = {
  /** Names it within the person. */
  bundle: string;
  kind: string;
  category?: string | null;
  /** What its newest entry is about. */
  subject: string;
  says?: string | null;
  /** Why the person gets it. */
  why?: string | null;
  /** Where the subject is at home. */
  page?: string | null;
  parts?: PartsReport | null;
  /** Since when its newest entry is news. */
  since: string;
  /** No visit showed it yet. */
  new: boolean;
  /** Something of it is unread. */
  unread: boolean;
  saved: boolean;
  /** How many entries it has. */
  count: number;
  actors: ActorsReport;
  /** Their keys, the newest first, 100 at most. */
  entries: string[];
};

/** Of what a sentence is made. */
export type PartsReport = {
  /** What the subject is called by now. */
  name?: string | null;
  /** What the newest event itself said, of what its kind keeps. */
  kept: Record<string, unknown>;
  /** Why, as `tidings days` prints it. */
  reasons: string[];
};

/** Who did it. */
export type ActorsReport = {
  /** Those that a sentence may name, the newest first, three at most. */
  named: ActorReport[];
  /** How many beside the first of them, 99 at most. */
  others: number;
  /** There are more others than that. */
  more: boolean;
};

/** One entry of a bundle. */
export type ItemReport = {
  /** Its key, as feedback names it. */
  entry: string;
  kind: string;
  subject: string;
  says?: string | null;
  /** Why the person gets it. */
  why?: string | null;
  /** Where the subject is at home. */
  page?: string | null;
  parts?: PartsReport | null;
  occurred: string;
  new: boolean;
  unread: boolean;
  saved: boolean;
  actor?: ActorReport | null;
};

/** A number that is shown. */
export type CountReport = {
  /** 99 at most. */
  number: number;
  /** There are more: `99+`. */
  more: boolean;
};

export type CategoryCountsReport = {
  new: CountReport;
  unread: CountReport;
};

/** What the person did. */
export type MarkWord = "seen" | "read" | "unread" | "cleared" | "restored" | "saved" | "unsaved" | "snoozed";

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

export type ActorReport = {
  sort: ActorSort;
  /** Of a person with an account. */
  id?: string | null;
  name?: string | null;
};

export type FateMood = "told" | "waiting" | "ended";

export type ActorSort = "person" | "anonymous" | "system";
