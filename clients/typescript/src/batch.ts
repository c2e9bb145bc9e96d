/** Any number of items through calls of 100. */

import { QuotaExceeded, TaxonError } from "./errors.js";
import type { BatchItem, Classification } from "./generated.js";
import { jitterSeconds, type Retry, sleep } from "./retry.js";

export const CALL_ITEMS_MAX = 100;

export type Progress = (done: number, total: number) => void;
type Call = (items: BatchItem[]) => Promise<Classification[]>;

export async function classifyAll(
  asked: readonly BatchItem[],
  call: Call,
  retry: Retry,
  onProgress: Progress | undefined,
): Promise<Classification[]> {
  const run = new Run(asked, call, onProgress);
  try {
    await run.ask([...asked.keys()]);
  } catch (error) {
    if (error instanceof TaxonError) error.rows = run.rows;
    throw error;
  }
  for (let round = 1; round <= retry.itemRoundsMax; round++) {
    const again = run.transient();
    if (again.length === 0) break;
    await sleep(retry.itemPauseSeconds + jitterSeconds(retry, round));
    try {
      await run.ask(again);
    } catch (error) {
      if (!(error instanceof TaxonError)) throw error;
      // Every item has an answer by now, and it stands.
      break;
    }
  }
  return run.finish();
}

function isTransient(row: Classification): boolean {
  const error = row.error ?? "";
  return error.startsWith("upstream_") || error === "tx_not_retrievable" || error === "internal_error";
}

class Run {
  readonly rows: (Classification | undefined)[];
  readonly #asked: readonly BatchItem[];
  readonly #call: Call;
  readonly #onProgress: Progress | undefined;
  /** The items of calls that were refused with 402, each with what was said. */
  readonly #refused = new Map<number, QuotaExceeded>();
  #done = 0;

  constructor(asked: readonly BatchItem[], call: Call, onProgress: Progress | undefined) {
    this.rows = asked.map(() => undefined);
    this.#asked = asked;
    this.#call = call;
    this.#onProgress = onProgress;
  }

  transient(): number[] {
    return [...this.rows.entries()].flatMap(([index, row]) => (row && isTransient(row) ? [index] : []));
  }

  async ask(indexes: readonly number[]): Promise<void> {
    for (let start = 0; start < indexes.length; start += CALL_ITEMS_MAX) {
      this.#done += await this.#ask(indexes.slice(start, start + CALL_ITEMS_MAX));
      this.#onProgress?.(this.#done, this.rows.length);
    }
  }

  /** One call. How many of its items are done: not to be asked again. */
  async #ask(cut: readonly number[]): Promise<number> {
    try {
      const answers = await this.#call(cut.map((index) => this.#asked[index]!));
      answers.forEach((row, place) => (this.rows[cut[place]!] = row));
      return answers.filter((row) => !isTransient(row)).length;
    } catch (error) {
      if (error instanceof QuotaExceeded) {
        // Later items may be repeats, which are served from an empty pool too: the run goes on.
        for (const index of cut) {
          this.rows[index] = undefined;
          this.#refused.set(index, error);
        }
        return cut.length;
      }
      if (error instanceof TaxonError) error.message = ofTheInput(error.message, cut);
      throw error;
    }
  }

  finish(): Classification[] {
    const served = this.rows.find((row) => row !== undefined);
    const rows = this.rows.map((row, index) => {
      if (row) return row;
      const error = this.#refused.get(index)!;
      if (!served) throw error;
      return refusedRow(this.#asked[index]!, error, served);
    });
    if (this.#done < rows.length) this.#onProgress?.(rows.length, rows.length);
    return rows;
  }
}

/** The service counts within the call; the caller knows only its own list. */
function ofTheInput(message: string, cut: readonly number[]): string {
  return message.replace(/\bhashes\[([0-9]+)\]/g, (text, place: string) => {
    const index = cut[Number(place)];
    return index === undefined ? text : `hashes[${index}]`;
  });
}

/** As the service itself answers for an item that the pool had no place for. */
function refusedRow(asked: BatchItem, error: QuotaExceeded, served: Classification): Classification {
  return {
    api_version: served.api_version,
    engine: served.engine,
    ...(asked.tx_id == null ? {} : { id: asked.tx_id }),
    error: "quota_exceeded",
    hash: asked.hash.startsWith("0x") ? asked.hash.toLowerCase() : asked.hash,
    chain: null,
    category: "unclassified",
    treatment: "needs_review",
    taxable: null,
    confidence: 0,
    needs_review: true,
    ledger_action: "review",
    protocol: null,
    description: null,
    review_note: error.message,
    grey_area: null,
    assets: { sent: [], received: [], gas: null },
  };
}
