/** What an answer must be before it is handed on: the parts that callers branch on or count with. */

import type {
  BatchResponse,
  BookList,
  CategoryList,
  ChainList,
  Classification,
  JobList,
  JournalAnswer,
  QuotaStatus,
} from "./generated.js";
import type { Job } from "./requests.js";

/** Says where an answer is not as expected; never what stood there. */
export class Mismatch extends Error {}

const TREATMENTS: Record<Classification["treatment"], true> = {
  disposal: true,
  income: true,
  non_taxable: true,
  expense: true,
  needs_review: true,
};

export function classification(body: unknown): Classification {
  return row(body, "the answer");
}

/** One row for each item that was asked. */
export function batch(count: number): (body: unknown) => Classification[] {
  return (body) => {
    const results = list<keyof BatchResponse>(body, "results");
    if (results.length !== count) throw new Mismatch(`${results.length} results for ${count} items`);
    return results.map((result, index) => row(result, `results[${index}]`));
  };
}

export function quotaStatus(body: unknown): QuotaStatus {
  const status = object(body, "the answer");
  expect(typeof status["kind"] === "string", "kind");
  expect(typeof status["exceeded"] === "boolean", "exceeded");
  return status as unknown as QuotaStatus;
}

export function chains(body: unknown): ChainList["chains"] {
  return list<keyof ChainList>(body, "chains") as ChainList["chains"];
}

export function categories(body: unknown): CategoryList["categories"] {
  return list<keyof CategoryList>(body, "categories") as CategoryList["categories"];
}

export function books(body: unknown): BookList["books"] {
  return list<keyof BookList>(body, "books") as BookList["books"];
}

export function job(body: unknown): Job {
  return status(body, "the answer");
}

export function jobs(body: unknown): { jobs: Job[]; next: string | null } {
  const all = list<keyof JobList>(body, "jobs").map((value, index) => status(value, `jobs[${index}]`));
  const { next } = object(body, "the answer");
  expect(next === null || typeof next === "string", "next");
  return { jobs: all, next: next as string | null };
}

export function journal(body: unknown): JournalAnswer {
  for (const [index, value] of list<keyof JournalAnswer>(body, "lines").entries()) {
    const line = object(value, `lines[${index}]`);
    expect(typeof line["account"] === "string", `lines[${index}].account`);
    expect(typeof line["quantity"] === "string", `lines[${index}].quantity`);
    expect(line["value"] === undefined || typeof line["value"] === "string", `lines[${index}].value`);
    expect(typeof line["needs_review"] === "boolean", `lines[${index}].needs_review`);
  }
  const answer = object(body, "the answer");
  expect(typeof answer["unpriced"] === "number", "unpriced");
  expect(typeof answer["skipped"] === "number", "skipped");
  return answer as unknown as JournalAnswer;
}

function status(value: unknown, place: string): Job {
  const job = object(value, place);
  for (const name of ["id", "state"]) expect(typeof job[name] === "string", `${place}.${name}`);
  for (const name of ["rows", "read", "failed", "needs_review"]) expect(typeof job[name] === "number", `${place}.${name}`);
  for (const name of ["reason", "ended_at"]) {
    expect(job[name] === null || typeof job[name] === "string", `${place}.${name}`);
  }
  object(job["table"], `${place}.table`);
  return job as unknown as Job;
}

function row(value: unknown, place: string): Classification {
  const row = object(value, place);
  expect(typeof row["category"] === "string", `${place}.category`);
  expect(typeof row["treatment"] === "string" && Object.hasOwn(TREATMENTS, row["treatment"]), `${place}.treatment`);
  expect(row["taxable"] === null || typeof row["taxable"] === "boolean", `${place}.taxable`);
  expect(typeof row["needs_review"] === "boolean", `${place}.needs_review`);
  expect(row["error"] === undefined || typeof row["error"] === "string", `${place}.error`);
  const assets = object(row["assets"], `${place}.assets`);
  const legs = [...list<string>(assets, "sent"), ...list<string>(assets, "received")];
  for (const leg of assets["gas"] === null ? legs : [...legs, assets["gas"]]) {
    expect(typeof object(leg, `${place}.assets`)["amount"] === "string", `${place}.assets: an amount`);
  }
  return row as unknown as Classification;
}

function list<Name extends string>(body: unknown, name: Name): unknown[] {
  const value = object(body, "the answer")[name];
  if (!Array.isArray(value)) throw new Mismatch(`the answer is not as expected at \`${name}\``);
  return value;
}

function object(value: unknown, place: string): Record<string, unknown> {
  expect(typeof value === "object" && value !== null && !Array.isArray(value), place);
  return value as Record<string, unknown>;
}

function expect(holds: boolean, place: string): void {
  if (!holds) throw new Mismatch(`the answer is not as expected at \`${place}\``);
}
