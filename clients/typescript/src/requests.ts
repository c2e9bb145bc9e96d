import type { BatchRequest, Policy, SingleRequest } from "./generated.js";

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
