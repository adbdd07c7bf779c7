// Made by make-client.mjs of docs/openapi.json: change neither here.
import {TidingsRequest, type TidingsOptions} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
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
  getCounts(
    query?: {bundle_by?: "catalogue" | "kind" | "category" | "subject" | "actor" | "none" | null},
    options?: TidingsOptions): Promise<CountsReport>;
  /** Says what the person did with entries */
  postMarks(body: MarkOrder, options?: TidingsOptions): Promise<MarksReport>;
  /** A person's entries, for clients that poll */
  getEntries(
    query?: {since?: string | null; limit?: number | null; days?: number | null},
    options?: TidingsOptions): Promise<EntryPage>;
  /** A stream of events that say when a feed changes */
  getFeedEvents(
    query?: {bundle_by?: "catalogue" | "kind" | "category" | "subject" | "actor" | "none" | null},
    options?: TidingsOptions): Promise<Response>;
  /** A person's preferences */
  getPreferences(query?: {preview?: boolean | null}, options?: TidingsOptions): Promise<PersonPreferences>;
  /** Change a person's preferences */
  changePreferences(
    body: SheetChange,
    query?: {preview?: boolean | null},
    options?: TidingsOptions): Promise<PersonPreferences>;
}

/** A page of a person's feed. */
export type FeedPageReport = {
  /** The newest first. */
  bundles: BundleReport[];
  /** Of the whole feed by the key of the page, whatever else it is asked for. */
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
  /** The subject's URL. */
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
  /** By what the bundles were made, as the page was asked; the answer counts them so. */
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

/** What a client is given at once. */
export type EntryPage = {
  /** Oldest first, but for those of a day that is given again. */
  entries: EntryReport[];
  /** Where to go on. */
  next: string;
  /** Whether there are more right now. */
  more: boolean;
};

/** A person's preferences, and what last week would have been under them. */
export type PersonPreferences = {
  person: string;
  /** The language that the person stated. */
  language?: string | null;
  /** The one in which they are told. */
  spoken: string;
  /** Those in which the catalogue tells. */
  languages: string[];
  /** The person's time zone, which `hour` and `quiet` are read in; UTC if there is none. */
  zone?: string | null;
  /** The full hour at which daily and rarer messages come, where their plan goes by the person's zone. */
  hour?: string | null;
  /** The hours in which nothing but urgent messages comes. */
  quiet?: string | null;
  /** The date until which nothing but urgent messages comes. */
  quiet_until?: string | null;
  channels: ChannelLine[];
  topics: TopicLine[];
  /** Single things that the person wants to be told of. What was said last comes first. */
  subscriptions: ThingLine[];
  /** Single things that the person wants to hear nothing of. What was said last comes first. */
  mutes: ThingLine[];
  /** The messages that the entries of the last seven days make by these preferences, by plan. */
  last_week: WeekForecast[];
};

/** A change of a sheet. What is not named stays as it is. */
export type SheetChange = {
  /** One of the sheet's `languages`; null if the person states none. */
  language?: string | null;
  /** A full hour, `18:00`, or null. */
  hour?: string | null;
  /** `22:00-08:00`, or null. */
  quiet?: string | null;
  /** `2026-12-24`, a date that is not over, or null. */
  quiet_until?: string | null;
  /** By the channel's name. */
  channels?: Record<string, ChannelChange>;
  /** What is about more counts first, whatever their order. */
  choices?: ChoiceChange[];
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
  /** The subject's URL. */
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
  /** The subject's URL. */
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
export type MarkWord = "seen" | "read" | "unread" | "cleared" | "restored" | "saved" | "unsaved" | "snoozed" | "unsnoozed";

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
  /** What it told of was revoked: it is not to be shown, whatever became of it before. */
  withdrawn?: boolean;
  fates: ChannelFate[];
};

/** A channel as a whole. */
export type ChannelLine = {
  channel: string;
  /** Whether the person wants nothing at all on it. */
  off: boolean;
  /** The plan that the person chose of `plans`. */
  plan?: string | null;
  /** The plans among which there is a choice, in the catalogue's order. */
  plans: SheetPlan[];
};

/** A category, or a kind that stands by itself: exactly one of the two is there. */
export type TopicLine = {
  /** What the person calls it. */
  title: string;
  category?: string | null;
  kind?: string | null;
  /** The kinds that it is about. */
  kinds: string[];
  /** It is told whatever people choose, so that there is nothing to choose. */
  critical: boolean;
  channels: ChoiceCell[];
};

/** What a person said of one thing. */
export type ThingLine = {
  /** `actor`, `subject`, `thread`, or `about`: a kind about a subject, with a blank between them. */
  about: string;
  id: string;
  /** What was said of all channels, and of single ones. */
  choices: ThingChoice[];
};

/** What one plan would have told. */
export type WeekForecast = {
  channel: string;
  plan: string;
  cadence: PlanCadence;
  entries: number;
  messages: number;
};

/** A change of a channel as a whole. */
export type ChannelChange = {
  off?: boolean | null;
  /** One of the channel's `plans`, or null. */
  plan?: string | null;
};

/** A choice, with the fields of a `tidings.preference`. */
export type ChoiceChange = {
  /** `on`, `digest`, `off` or `default`. */
  choice?: string;
  /** For this channel alone. */
  channel?: string | null;
  category?: string | null;
  kind?: string | null;
  subject?: string | null;
  thread?: string | null;
  actor?: string | null;
  all?: boolean;
};

export type ActorReport = {
  sort: ActorSort;
  /** Of a person with an account. */
  id?: string | null;
  name?: string | null;
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

/** A plan that somebody can choose. */
export type SheetPlan = {
  title: string;
  plan: string;
  cadence: PlanCadence;
};

/** How a topic is told on a channel, or in the feed. */
export type ChoiceCell = {
  /** A channel, or `feed`. */
  channel: string;
  /** `on`, `digest` or `off`. */
  choice: string;
  /** Whether the person said so; else it is what the catalogue has for everybody, and of the feed what is on for some channel. */
  chosen: boolean;
  /** What can be chosen. */
  offers: ChoiceOffer[];
};

/** How a person wants to be told of a thing. */
export type ThingChoice = {
  /** Nothing where it holds for all channels. */
  channel?: string | null;
  /** `on`, `digest` or `off`. */
  choice: string;
};

/** How often somebody hears by a plan, as people choose it. */
export type PlanCadence = "at_once" | "daily" | "weekly" | "monthly" | "hourly" | "other";

export type ActorSort = "person" | "anonymous" | "system";

export type FateMood = "told" | "waiting" | "ended";

/** A choice, and what it comes to. */
export type ChoiceOffer = {
  choice: string;
  /** By which plans the topic would be told; by none if it is off. */
  plans: string[];
  /** The quickest of them; of a digest the quickest of those that gather. */
  cadence?: PlanCadence | null;
};
