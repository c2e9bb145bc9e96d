/** Jobs: the table that is sent, and the wait for the end. */

import { JobFailed, JobUnfinished } from "./errors.js";
import type { Job, JobRequest, Table } from "./requests.js";
import { sleep } from "./retry.js";

const PAUSE_SECONDS_FIRST = 0.5;
const PAUSE_SECONDS_MAX = 15;
const PAUSE_GROWTH = 1.5;

const ENDED = ["finished", "cancelled", "failed"];

export function path(id: string, tail = ""): string {
  // Anything else could name another path of the service.
  if (!/^[A-Za-z0-9_-]+$/.test(id)) throw new TypeError("the id of a job is letters, digits, `_` and `-`");
  return `v1/jobs/${id}${tail}`;
}

/** The parameters of a table, as the address has them. */
export function query(table: Table, request: JobRequest): string {
  const { own_wallets, policy, start, name, ...rest } = request;
  // A string is an iterable of strings too: the type checker does not see the mistake.
  if (typeof own_wallets === "string") throw new TypeError("own_wallets takes a list, not one string");
  const fields = {
    ...rest,
    name: name ?? fileName(table),
    own_wallets: own_wallets && [...own_wallets].join(","),
    policy: policy && Object.entries(policy).map(([key, side]) => `${key}:${side}`).join(","),
    start: start === false ? "false" : undefined,
  };
  const present = Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === "string");
  return present.length === 0 ? "" : `?${new URLSearchParams(present).toString()}`;
}

/** Of a `File`, which as a class is not global everywhere. */
function fileName(table: Table): string | undefined {
  return table instanceof Blob && "name" in table ? String(table.name) : undefined;
}

/** `look` is given how many seconds are left. */
export async function wait(
  look: (leftSeconds: number) => Promise<Job>,
  timeoutSeconds: number,
  onProgress: ((job: Job) => unknown) | undefined,
): Promise<Job> {
  const end = performance.now() + timeoutSeconds * 1000;
  const leftSeconds = () => Math.max(0, end - performance.now()) / 1000;
  for (let pause = PAUSE_SECONDS_FIRST; ; pause = Math.min(pause * PAUSE_GROWTH, PAUSE_SECONDS_MAX)) {
    const job = await look(leftSeconds());
    onProgress?.(job);
    if (job.state === "failed") throw new JobFailed(`${job.id} failed: ${job.reason ?? "no reason was given"}`, job);
    // By the time too: a state that this client does not know may be an end.
    if (job.state === "ready" || ENDED.includes(job.state) || job.ended_at !== null) return job;
    if (leftSeconds() === 0) {
      const why = job.reason === null ? "" : ` (${job.reason})`;
      throw new JobUnfinished(`${job.id} is still ${job.state}${why} after ${timeoutSeconds} s; it goes on`, job);
    }
    await sleep(Math.min(pause, leftSeconds()));
  }
}
