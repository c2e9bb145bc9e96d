/** What can go wrong: one class per thing that a caller does something about. */

import type { Classification } from "./generated.js";
import type { Job } from "./requests.js";

export interface Details {
  readonly code: string;
  readonly message: string;
  /** Absent when nothing was answered. */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
}

export class TaxonError extends Error {
  /** Stable, for machines. */
  readonly code: string;
  readonly status: number | undefined;
  /** What the service's log calls the request. */
  readonly requestId: string | undefined;
  /** Seconds from the answer on, where it said so. */
  readonly retryAfter: number | undefined;
  /** Set by `classifyAll`: what was answered before it failed, one place per input, `undefined` where nothing was. */
  rows: (Classification | undefined)[] | undefined;

  constructor(details: Details) {
    super(details.message);
    this.name = new.target.name;
    this.code = details.code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
    this.rows = undefined;
  }

  /** Whether the same request may succeed a little later. */
  get isTransient(): boolean {
    return false;
  }

  /** Whether the service surely did nothing with the request, so that not even a new job is made twice by asking again. */
  get isUntaken(): boolean {
    return this.status === 429 || this.status === 503;
  }
}

/** 400: `invalid_request` or `invalid_hash`. The same request fails again. */
export class InvalidRequest extends TaxonError {}

/** 401: the key is missing, malformed or revoked. */
export class Unauthorized extends TaxonError {}

/** 402: the pool of the period is used up; `quotaStatus()` tells when it fills again. */
export class QuotaExceeded extends TaxonError {}

/** 404: the transaction, its chain or the wallet in it was not found, or no job or book of yours is called so. */
export class NotFound extends TaxonError {}

/** 404 `tx_not_yet_mined`: ask again once it is in a block. */
export class NotYetMined extends NotFound {}

abstract class Transient extends TaxonError {
  override get isTransient(): boolean {
    return true;
  }
}

/** 429, and waiting as long as `retryAfter` says would have taken longer than `Retry` allows. */
export class RateLimited extends Transient {}

/** 502 (or a proxy's 504): a node behind the service failed. Nothing was classified or counted. */
export class UpstreamFailed extends Transient {}

/** 500 and other 5xx: a fault inside the service, or its ledger is out of reach. */
export class ServiceFailed extends Transient {}

/** No whole answer: no connection, a reset, a timeout. */
export class Unreachable extends Transient {
  readonly #isUntaken: boolean;

  constructor(details: Details, isUntaken = false) {
    super(details);
    this.#isUntaken = isUntaken;
  }

  override get isUntaken(): boolean {
    return this.#isUntaken;
  }
}

/** An answer that is not of the interface, such as a proxy's page. It was asked for again only when it was no JSON at all. */
export class BadAnswer extends TaxonError {
  readonly #isTransient: boolean;

  constructor(details: Details, isTransient: boolean) {
    super(details);
    this.#isTransient = isTransient;
  }

  override get isTransient(): boolean {
    return this.#isTransient;
  }
}

/** What `waitForJob` throws, with the job as it was seen last. */
export abstract class JobError extends TaxonError {
  readonly job: Job;

  constructor(details: Details, job: Job) {
    super(details);
    this.job = job;
  }
}

/** The job cannot go on; `job.reason` says why. What was read stays among its results. */
export class JobFailed extends JobError {
  constructor(message: string, job: Job) {
    super({ code: "job_failed", message }, job);
  }
}

/** The time to wait is over, and the job is not; it goes on by itself. */
export class JobUnfinished extends JobError {
  constructor(message: string, job: Job) {
    super({ code: "job_unfinished", message }, job);
  }
}

export function failure(details: Details & { readonly status: number }): TaxonError {
  const { status, code } = details;
  if (code === "tx_not_yet_mined") return new NotYetMined(details);
  if (status === 502 || status === 504) return new UpstreamFailed(details);
  if (status >= 500) return new ServiceFailed(details);
  switch (status) {
    case 400:
      return new InvalidRequest(details);
    case 401:
      return new Unauthorized(details);
    case 402:
      return new QuotaExceeded(details);
    case 404:
      return new NotFound(details);
    case 429:
      return new RateLimited(details);
    default:
      return new TaxonError(details);
  }
}
