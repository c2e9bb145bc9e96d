"""Verifies webhooks with the reference library, as docs/webhooks.md shows it: one JSON object a line, with the secret and what came in."""

import json
import pathlib
import sys

from standardwebhooks import WebhookVerificationError

page = (pathlib.Path(__file__).parents[2] / "docs/webhooks.md").read_text()
(sample,) = (block for block in page.split("```text\n") if block.startswith("from standardwebhooks"))
shown = {}
exec(sample.split("```")[0], shown)
read = shown["read"]

for line in sys.stdin:
    came = json.loads(line)
    body = came["body"].encode()
    event = read(came["secret"], came["headers"], body)
    assert event == json.loads(body), event
    for forged in (body + b" ", body.replace(b"type", b"typo")):
        try:
            read(came["secret"], came["headers"], forged)
        except WebhookVerificationError:
            continue
        raise AssertionError("a forged message was accepted")
    print(came["headers"]["webhook-id"])
