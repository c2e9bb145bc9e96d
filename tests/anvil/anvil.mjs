// Prints the path of the anvil binary, for a test that wants to spawn it without node in between.
//
// The lock file pins the binary for Linux on x64 alone, the one platform where this was run. Elsewhere ANVIL names it.

import { createRequire } from "node:module";

const BINARY = "@foundry-rs/anvil-linux-amd64/bin/anvil";

try {
  console.log(process.env.ANVIL ?? createRequire(import.meta.url).resolve(BINARY));
} catch {
  console.error("no anvil here: run npm ci in this folder, or set ANVIL to the path of a binary");
  process.exitCode = 1;
}
