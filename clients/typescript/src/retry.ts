/** When a call is made again, and after how long. */

import { TaxonError } from "./errors.js";

/** Limits of trying again. The first four are for one HTTP call, the last two for items of `classifyAll`. */
export interface Retry {
  readonly triesMax: number;
  /** No further try begins when it would begin later than this after the first. */
  readonly secondsMax: number;
  /** Pauses are drawn evenly between 0 and a bound that starts here, doubles, and ends at `pauseSecondsMax`. */
  readonly pauseSecondsFirst: number;
  readonly pauseSecondsMax: number;
  /** How often items that failed for a passing reason are asked again, after the rest is done. */
  readonly itemRoundsMax: number;
  readonly itemPauseSeconds: number;
}

export const RETRY: Retry = {
  triesMax: 6,
  secondsMax: 300,
  pauseSecondsFirst: 0.5,
  pauseSecondsMax: 30,
  itemRoundsMax: 3,
  // The service tries a failed node again within 2 s; asking sooner gets the same answer.
  itemPauseSeconds: 2,
};

/** A timer with more than this fires at once. */
export const TIMER_MILLISECONDS_MAX = 2 ** 31 - 1;

/** What is not safe to do twice is asked again only where the service surely did nothing. */
export async function withRetry<T>(retry: Retry, ask: () => Promise<T>, isSafe = true): Promise<T> {
  const started = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const elapsedSeconds = (performance.now() - started) / 1000;
      const mayRepeat = error instanceof TaxonError && (isSafe || error.isUntaken);
      const pause = mayRepeat ? pauseSeconds(retry, error, tries, elapsedSeconds) : undefined;
      if (pause === undefined) throw error;
      await sleep(pause);
    }
  }
}

/** How long to wait after the given number of tries; `undefined` when it is over. */
export function pauseSeconds(
  retry: Retry,
  error: TaxonError,
  tries: number,
  elapsedSeconds: number,
): number | undefined {
  if (!error.isTransient || tries >= retry.triesMax) return undefined;
  const pause = (error.retryAfter ?? 0) + jitterSeconds(retry, tries);
  return elapsedSeconds + pause <= retry.secondsMax ? pause : undefined;
}

export function jitterSeconds(retry: Retry, tries: number): number {
  return Math.random() * Math.min(retry.pauseSecondsMax, retry.pauseSecondsFirst * 2 ** (tries - 1));
}

export async function sleep(seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const left = end - performance.now();
    if (left <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.ceil(left), TIMER_MILLISECONDS_MAX)));
  }
}

/** The header as seconds from now; `undefined` when it is absent or says nothing that can be read. */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]+(\.[0-9]+)?$/.test(text)) return Number(text);
  const until = httpDate(text);
  if (until === undefined) return undefined;
  // The answer's own date, where it has one: two machines' clocks may disagree.
  const now = httpDate(headers.get("date") ?? "") ?? Date.now();
  return Math.max(0, (until - now) / 1000);
}

/** `Date.parse` alone would read almost anything as some date. */
function httpDate(text: string): number | undefined {
  return /^[A-Z][a-z]+, .* GMT$/.test(text) ? Date.parse(text) || undefined : undefined;
}
