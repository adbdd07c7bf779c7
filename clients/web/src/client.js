// Made by make-client.mjs of docs/openapi.json: change neither here.
import {TidingsRequest} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
  /** A page of a person's feed, and its counts */
  getFeed(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/feed`, {query}, options);
  }

  /** A bundle of a person's feed, opened */
  getBundle(bundle, query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/feed/${encodeURIComponent(bundle)}`, {query}, options);
  }

  /** How many bundles are new, and how many unread */
  getCounts(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/counts`, {query}, options);
  }

  /** Says what the person did with entries */
  postMarks(body, options) {
    return this.ask('POST', `/v1/people/${encodeURIComponent(this.person)}/marks`, {body}, options);
  }

  /** A person's entries, for clients that poll */
  getEntries(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/entries`, {query}, options);
  }

  /** A stream of events that say when a feed changes */
  getFeedEvents(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/live`, {query, isStream: true}, options);
  }

  /** A person's preferences */
  getPreferences(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/preferences`, {query}, options);
  }

  /** Change a person's preferences */
  changePreferences(body, query, options) {
    return this.ask('PATCH', `/v1/people/${encodeURIComponent(this.person)}/preferences`, {query, body}, options);
  }
}
