import * as answers from "./answers.js";
import { classifyAll, type Progress } from "./batch.js";
import { BadAnswer, failure, type TaxonError, Unreachable } from "./errors.js";
import type {
  BatchItem,
  BookName,
  CategoryRow,
  ChainRow,
  Classification,
  JournalAnswer,
  JournalRequest,
  QuotaStatus,
} from "./generated.js";
import * as jobs from "./jobs.js";
import type { ClassifyAllRequest, ClassifyRequest, Job, JobRequest, Table, WalletsJobRequest } from "./requests.js";
import { RETRY, type Retry, retryAfterSeconds, TIMER_MILLISECONDS_MAX, withRetry } from "./retry.js";

/** For one answer, from connecting to its last byte. A batch of 100 on a slow node takes its time. */
export const TIMEOUT_SECONDS = 120;

/** For sending a table, whose size may be 256 MiB, and its answer. */
export const UPLOAD_TIMEOUT_SECONDS = 3600;

/** How long `waitForJob` waits unless told otherwise. */
export const JOB_SECONDS_MAX = 3600;

export interface TaxonOptions {
  /** Where there is an environment, `TAXON_URL` stands in for it. */
  readonly baseUrl?: string | undefined;
  /** Where there is an environment, `TAXON_KEY` stands in for it. */
  readonly key?: string | undefined;
  readonly retry?: Partial<Retry>;
  readonly timeoutSeconds?: number;
}

export interface ClassifyAllOptions extends ClassifyAllRequest {
  /** For items that name none. */
  readonly chain?: string;
  /** Called after each call to the service; items that will be asked again are not done. */
  readonly onProgress?: Progress;
}

export interface CreateJobOptions extends JobRequest {
  /** From connecting to the last byte of the answer; an hour unless told otherwise. */
  readonly timeoutSeconds?: number;
}

export interface WaitOptions {
  /** An hour unless told otherwise. `Infinity` is none: a job past the pool waits for the next period. */
  readonly timeoutSeconds?: number;
  /** Called each time that the job was looked at. */
  readonly onProgress?: (job: Job) => unknown;
}

/** A request as `fetch` takes it; GET without a body unless told otherwise. */
interface Sent {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: BodyInit;
  readonly contentType?: string;
  readonly timeoutSeconds?: number;
}

/** A taxon service, with retries. Without a key only `chains`, `categories` and the anonymous `quotaStatus` are answered. */
export class Taxon {
  readonly #baseUrl: string;
  readonly #key: string | undefined;
  readonly #retry: Retry;
  readonly #timeoutSeconds: number;

  constructor(options: TaxonOptions = {}) {
    this.#baseUrl = checkedUrl(options.baseUrl || environment("TAXON_URL"));
    this.#key = checkedKey(options.key ?? (environment("TAXON_KEY") || undefined));
    this.#retry = { ...RETRY, ...options.retry };
    this.#timeoutSeconds = options.timeoutSeconds ?? TIMEOUT_SECONDS;
  }

  /** One transaction. */
  async classify(request: ClassifyRequest): Promise<Classification> {
    return this.#post("v1/classify", answers.classification, request);
  }

  /**
   * Any number of transactions: one row for each, in the order given.
   *
   * A row whose `error` is set was not classified. Items that failed for a passing reason were asked again before that. When the pool
   * runs out, the items that it had no place for carry `quota_exceeded`; `QuotaExceeded` is thrown when there was a place for none.
   * Any other failure of a call is thrown, with what was answered until then in its `rows`.
   */
  async classifyAll(
    items: Iterable<string | BatchItem>,
    { chain, onProgress, ...options }: ClassifyAllOptions = {},
  ): Promise<Classification[]> {
    // A string is an iterable of strings too: the type checker does not see the mistake.
    if (typeof items === "string") throw new TypeError("classifyAll takes a list, not one string");
    const all = Array.from(items, (item) => asked(item, chain));
    if (all.length === 0) return [];
    const call = (hashes: BatchItem[]) =>
      this.#post("v1/classify-batch", answers.batch(hashes.length), { ...options, hashes });
    return classifyAll(all, call, this.#retry, onProgress);
  }

  /** What is left in the pool; with a hash, whether running it again is free. It consumes nothing. */
  async quotaStatus(hash?: string): Promise<QuotaStatus> {
    const query = hash === undefined ? "" : `?hash=${encodeURIComponent(hash)}`;
    return this.#call(`quota-status${query}`, answers.quotaStatus);
  }

  /** The chains that this instance serves. */
  async chains(): Promise<ChainRow[]> {
    return this.#call("chains", answers.chains);
  }

  /** Every category that this instance knows, with its treatment. */
  async categories(): Promise<CategoryRow[]> {
    return this.#call("categories", answers.categories);
  }

  /**
   * A whole table, read while you do something else.
   *
   * Sent again only where the service surely did not take it (429, 503, no connection), since each upload is a job; and never where
   * `table` is a stream.
   */
  async createJob(table: Table, options: CreateJobOptions = {}): Promise<Job> {
    const { timeoutSeconds = UPLOAD_TIMEOUT_SECONDS, ...request } = options;
    const path = `v1/jobs${jobs.query(table, request)}`;
    const sent = { method: "POST", body: table as BodyInit, contentType: "application/octet-stream", timeoutSeconds } as const;
    const retry = table instanceof ReadableStream ? { ...this.#retry, triesMax: 1 } : this.#retry;
    return withRetry(retry, () => this.#ask(path, answers.job, sent), false);
  }

  /**
   * All that 1 to 100 wallets did, from one day to another, both counted in. Sent again as `createJob` is.
   *
   * The job is `listing` until all is found; with `start: false` it then is `ready`, and waits for `startJob`.
   */
  async createWalletsJob(request: WalletsJobRequest): Promise<Job> {
    return this.#post("v1/jobs/wallets", answers.job, request, false);
  }

  /** Where a job is. */
  async job(id: string): Promise<Job> {
    return this.#call(jobs.path(id), answers.job);
  }

  /** All of the owner's jobs, the newest first; each page of 50 is asked for when it is reached. */
  async *jobs(): AsyncGenerator<Job, void, undefined> {
    for (let query = ""; ; ) {
      const page = await this.#call(`v1/jobs${query}`, answers.jobs);
      yield* page.jobs;
      if (page.next === null || page.jobs.length === 0) return;
      query = `?before=${encodeURIComponent(page.next)}`;
    }
  }

  /** Starts what is `ready`, or will be; another job stays as it is. */
  async startJob(id: string): Promise<Job> {
    return this.#call(jobs.path(id, "/start"), answers.job, { method: "POST" });
  }

  /** Nothing more is read or counted; what was read stays. A job that has ended stays as it is. */
  async cancelJob(id: string): Promise<Job> {
    return this.#call(jobs.path(id), answers.job, { method: "DELETE" });
  }

  /**
   * Waits until the job is `finished` or `cancelled`, looking at it with growing pauses.
   *
   * A job that is `ready` comes back at once: it would wait for `startJob` for ever. `JobFailed` is thrown when it has failed,
   * `JobUnfinished` when the time is over; both have the `job`.
   */
  async waitForJob(id: string, { timeoutSeconds = JOB_SECONDS_MAX, onProgress }: WaitOptions = {}): Promise<Job> {
    const look = (leftSeconds: number) => {
      const retry = { ...this.#retry, secondsMax: Math.min(this.#retry.secondsMax, leftSeconds) };
      return withRetry(retry, () => this.#ask(jobs.path(id), answers.job, {}));
    };
    return jobs.wait(look, timeoutSeconds, onProgress);
  }

  /**
   * What came of a job, as a file in pieces; of one that goes on, what was read so far.
   *
   * Asked for again only until the first piece. When it breaks off later, `Unreachable` is thrown, and what came is not whole.
   */
  async *jobResults(id: string, format = "csv"): AsyncGenerator<Uint8Array, void, undefined> {
    const path = `${jobs.path(id, "/results")}?format=${encodeURIComponent(format)}`;
    const { stop, response } = await withRetry(this.#retry, () => this.#opened(path));
    try {
      const reader = response.body?.getReader();
      for (;;) {
        // Only the wait is timed, not what the caller does with a piece.
        const piece = await this.#timed(stop, reader?.read());
        if (!piece || piece.done) return;
        yield piece.value;
      }
    } finally {
      stop.abort();
    }
  }

  /** Journal lines of up to 100 results, by your prices and your chart of accounts. */
  async journal(request: JournalRequest): Promise<JournalAnswer> {
    return this.#post("v1/journal", answers.journal, request);
  }

  /** The owner's books. The first is the one of jobs that name none. */
  async books(): Promise<BookName[]> {
    return this.#call("v1/books", answers.books);
  }

  async #post<T>(path: string, read: (body: unknown) => T, request: object, isSafe = true): Promise<T> {
    const body = JSON.stringify(request);
    return this.#call(path, read, { method: "POST", body, contentType: "application/json" }, isSafe);
  }

  async #call<T>(path: string, read: (body: unknown) => T, sent: Sent = {}, isSafe = true): Promise<T> {
    return withRetry(this.#retry, () => this.#ask(path, read, sent), isSafe);
  }

  async #ask<T>(path: string, read: (body: unknown) => T, sent: Sent): Promise<T> {
    let response: Response;
    let text: string;
    try {
      const signal = AbortSignal.timeout(milliseconds(sent.timeoutSeconds ?? this.#timeoutSeconds));
      response = await this.#fetch(path, sent, "application/json", signal);
      text = await response.text();
    } catch (error) {
      throw this.#unreachable(error);
    }
    const parsed = json(text);
    if (response.status !== 200 && response.status !== 202) throw this.#failure(response, parsed);
    const bad = (message: string, isTransient: boolean) =>
      new BadAnswer({ ...about(response), code: "bad_answer", message: this.#redacted(message) }, isTransient);
    if (parsed === undefined) throw bad("the answer is not JSON", true);
    try {
      return read(parsed);
    } catch (error) {
      throw error instanceof answers.Mismatch ? bad(error.message, false) : error;
    }
  }

  /** An answer whose body is still to come; whoever has it calls `stop`. */
  async #opened(path: string): Promise<{ stop: AbortController; response: Response }> {
    const stop = new AbortController();
    const response = await this.#timed(stop, this.#fetch(path, {}, "*/*", stop.signal));
    if (response.status === 200) return { stop, response };
    throw this.#failure(response, json(await this.#timed(stop, response.text())));
  }

  /** Ends the request when a part of its answer takes longer than a whole one may. */
  async #timed<T>(stop: AbortController, part: T | Promise<T>): Promise<T> {
    const late = () => stop.abort(new DOMException(`nothing came for ${this.#timeoutSeconds} s`, "TimeoutError"));
    const timer = setTimeout(late, milliseconds(this.#timeoutSeconds));
    try {
      return await part;
    } catch (error) {
      throw this.#unreachable(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(path: string, sent: Sent, accept: string, signal: AbortSignal): Promise<Response> {
    const request: RequestInit & { duplex: "half" } = {
      method: sent.method ?? "GET",
      headers: {
        accept,
        ...(sent.contentType === undefined ? {} : { "content-type": sent.contentType }),
        ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
      },
      body: sent.body ?? null,
      // Needed for a stream, and unknown to the types.
      duplex: "half",
      redirect: "manual",
      signal,
    };
    return fetch(this.#baseUrl + path, request);
  }

  #unreachable(error: unknown): Unreachable {
    return new Unreachable({ code: "unreachable", message: this.#redacted(spelled(error)) }, isUnsent(error));
  }

  #failure(response: Response, body: unknown): TaxonError {
    const { code, message } = codeAndMessage(response.status, body);
    const retryAfter = retryAfterSeconds(response.headers);
    return failure({ ...about(response), code: this.#redacted(code), message: this.#redacted(message), retryAfter });
  }

  #redacted(text: string): string {
    return this.#key === undefined ? text : text.replaceAll(this.#key, "[key]");
  }
}

function about(response: Response): { status: number; requestId: string | undefined } {
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? undefined };
}

/** Of the envelope, or of the plain string that `/quota-status` sends, or of neither. */
function codeAndMessage(status: number, body: unknown): { code: string; message: string } {
  const error = field(body, "error");
  if (typeof error === "string") return { code: error, message: error.replaceAll("_", " ") };
  const code = field(error, "code");
  if (typeof code === "string") return { code, message: String(field(error, "message") ?? "") };
  const message = `status ${status} without an error of the service: something in between may have answered`;
  return { code: `http_${status}`, message };
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `fetch` says only that it failed; why is in the cause. */
function spelled(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error.name}: ${error.message}${cause}`;
}

/** No connection, or one that was closed before the whole request was written. Node names the reason; a browser does not. */
function isUnsent(error: unknown): boolean {
  const code = field(field(error, "cause"), "code");
  return typeof code === "string" && ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "EPIPE"].includes(code);
}

function milliseconds(seconds: number): number {
  return Math.min(seconds * 1000, TIMER_MILLISECONDS_MAX);
}

/** A copy: the caller may change its own while this waits. */
function asked(item: string | BatchItem, chain: string | undefined): BatchItem {
  const copy = typeof item === "string" ? { hash: item } : { ...item };
  return chain === undefined ? copy : { ...copy, chain: copy.chain ?? chain };
}

function checkedUrl(text: string | undefined): string {
  if (!text) throw new TypeError("the address of the service is needed: as baseUrl, or in TAXON_URL");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError("baseUrl is http:// or https://, a host and perhaps a path; no user, password or query");
  }
  return url.href.endsWith("/") ? url.href : `${url.href}/`;
}

/** Checked here because `fetch` prints a header that it refuses. */
function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("the key is empty, or holds a character that cannot be sent; is there a line break in it?");
  }
  return key;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}
