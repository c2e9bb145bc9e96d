import type { BatchRequest, JobStatus, Policy, SingleRequest, WalletsJob } from "./generated.js";

interface Sides {
  lp: "disposal" | "non_taxable";
  wrap: "non_taxable" | "disposal";
  lst: "disposal" | "non_taxable";
  staking: "income" | "defer";
}

/** The house position on treatments that have two sides. The service ignores any other value, so the document names none. */
export type PolicyChoice = { [Key in keyof Policy]: Sides[Key] };

export type ClassifyRequest = Omit<SingleRequest, "policy"> & { policy?: PolicyChoice | null };

/** What goes with every item; named as in the interface. */
export type ClassifyAllRequest = Omit<BatchRequest, "policy" | "hashes"> & { policy?: PolicyChoice | null };

/** The text of a table, its bytes, or a stream of them. */
export type Table = string | Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array>;

/** What goes with a table; named as in the interface. */
export interface JobRequest {
  /** The `id` of one of `books()`; the first when absent. */
  readonly book?: string;
  /** What to call it; the name of the file when absent, where there is one. */
  readonly name?: string;
  /** The column that holds the hashes; found out when absent. */
  readonly column?: string;
  /** For rows that name none. */
  readonly chain?: string;
  /** For rows that name none. */
  readonly wallet?: string;
  /** Beside those of the book. */
  readonly own_wallets?: Iterable<string>;
  readonly policy?: PolicyChoice | null;
  /** `false` keeps it `ready` until `startJob`, so that `table` of the answer can be looked at first. */
  readonly start?: boolean;
}

export type WalletsJobRequest = Omit<WalletsJob, "policy"> & { policy?: PolicyChoice | null };

/** The document says of `table` only that it is an object, which as a generated type has no fields at all. */
export type Job = Omit<JobStatus, "table"> & { table: Record<string, unknown> };
