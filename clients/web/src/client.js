// Made by make-client.mjs of docs/openapi.json: change neither here.
import {TidingsRequest} from './request.js';

/** What a person may ask the house for. */
export class TidingsClient extends TidingsRequest {
  /** A person's entries, for clients that poll */
  getEntries(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/entries`, {query}, options);
  }

  /** A person's feed */
  getFeed(query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/feed`, {query}, options);
  }

  /** One bundle opened */
  getBundle(bundle, query, options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/feed/${encodeURIComponent(bundle)}`, {query}, options);
  }

  /** Counts */
  getCounts(options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/counts`, {}, options);
  }

  /** Marks */
  postMarks(body, options) {
    return this.ask('POST', `/v1/people/${encodeURIComponent(this.person)}/marks`, {body}, options);
  }

  /** Live */
  getLive(options) {
    return this.ask('GET', `/v1/people/${encodeURIComponent(this.person)}/live`, {isStream: true}, options);
  }
}
