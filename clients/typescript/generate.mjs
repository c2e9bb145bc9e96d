// Writes src/generated.ts from the OpenAPI document; with --check, fails when that would change it.
// TAXON_OPENAPI names another document than docs/openapi.json.

import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const GENERATED = new URL("src/generated.ts", import.meta.url);
const HEADER = "/** Generated from docs/openapi.json by `npm run generate`. Do not edit. */\n\n";

const source = process.env.TAXON_OPENAPI ?? new URL("../../docs/openapi.json", import.meta.url);
const document = JSON.parse(await readFile(source, "utf8"));
// Within v1 only `treatment` is a closed set: any other may gain a value, and code that covers today's must not look complete.
for (const [name, schema] of Object.entries(document.components.schemas)) {
  if (schema.enum && name !== "Treatment") {
    const { enum: values, type, ...rest } = schema;
    document.components.schemas[name] = { ...rest, anyOf: [{ type, enum: values }, { type: "string" }] };
  }
}
const tree = await openapiTS(document, { silent: true, rootTypes: true, rootTypesNoSchemaPrefix: true });
const text = HEADER + astToString(tree);

if (!process.argv.includes("--check")) {
  await writeFile(GENERATED, text);
} else if ((await readFile(GENERATED, "utf8").catch(() => "")) !== text) {
  console.error("src/generated.ts is not what docs/openapi.json gives: run `npm run generate`");
  process.exitCode = 1;
}
