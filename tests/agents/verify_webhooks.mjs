// Verifies webhooks with the reference library: one JSON object a line, with the secret and what came in.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const { secret, headers, body } = JSON.parse(line);
  const webhook = new Webhook(secret);
  webhook.verify(body, headers);
  let isForged = true;
  try {
    webhook.verify(`${body} `, headers);
  } catch {
    isForged = false;
  }
  if (isForged) throw new Error("a forged message was accepted");
  console.log(headers["webhook-id"]);
}
