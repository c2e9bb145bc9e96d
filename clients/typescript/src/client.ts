import * as answers from "./answers.js";
import { classifyAll, type Progress } from "./batch.js";
import { BadAnswer, failure, type TaxonError, Unreachable } from "./errors.js";
import type {
  BatchItem,
  CategoryRow,
  ChainRow,
  Classification,
  QuotaStatus,
} from "./generated.js";
import type { ClassifyAllRequest, ClassifyRequest } from "./requests.js";
import { RETRY, type Retry, retryAfterSeconds, withRetry } from "./retry.js";

/** For one answer, from connecting to its last byte. A batch of 100 on a slow node takes its time. */
export const TIMEOUT_SECONDS = 120;

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
    return this.#call("v1/classify", answers.classification, request);
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
      this.#call("v1/classify-batch", answers.batch(hashes.length), { ...options, hashes });
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

  async #call<T>(path: string, read: (body: unknown) => T, request?: object): Promise<T> {
    const body = request === undefined ? null : JSON.stringify(request);
    return withRetry(this.#retry, () => this.#ask(path, read, body));
  }

  async #ask<T>(path: string, read: (body: unknown) => T, body: string | null): Promise<T> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#baseUrl + path, {
        method: body === null ? "GET" : "POST",
        headers: {
          accept: "application/json",
          ...(body === null ? {} : { "content-type": "application/json" }),
          ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
        },
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(Math.min(this.#timeoutSeconds * 1000, 2 ** 31 - 1)),
      });
      text = await response.text();
    } catch (error) {
      throw new Unreachable({ code: "unreachable", message: this.#redacted(spelled(error)) });
    }
    const parsed = json(text);
    if (response.status !== 200) throw this.#failure(response, parsed);
    const bad = (message: string, isTransient: boolean) =>
      new BadAnswer({ ...about(response), code: "bad_answer", message: this.#redacted(message) }, isTransient);
    if (parsed === undefined) throw bad("the answer is not JSON", true);
    try {
      return read(parsed);
    } catch (error) {
      throw error instanceof answers.Mismatch ? bad(error.message, false) : error;
    }
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
