/** Waits for a window of the rate limit to pass. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Taxon } from "taxon-client";
import { repeated, serve } from "./support.js";

test("250 hashes at two calls a minute", async () => {
  await serve({ TAXON_RATE_PER_MINUTE: "2" }, async (service) => {
    const hashes = repeated(250);
    const progress: [number, number][] = [];
    const started = performance.now();
    const taxon = new Taxon({ baseUrl: service.url, key: service.key() });
    const rows = await taxon.classifyAll(hashes, { onProgress: (...done) => progress.push(done) });
    const seconds = (performance.now() - started) / 1000;
    assert.deepEqual(
      rows.map((row) => row.hash),
      hashes,
    );
    assert.deepEqual(
      rows.filter((row) => row.error !== undefined),
      [],
    );
    assert.deepEqual(progress, [
      [100, 250],
      [200, 250],
      [250, 250],
    ]);
    assert.ok(seconds > 55 && seconds < 90, `three calls at two a minute took ${seconds.toFixed(1)} s`);
  });
});
