"""Drives a running taxon through the official MCP client, as an agent's host would, in both protocol eras.

usage: mcp_client.py URL KEY    URL is the service's address, without /mcp; it must serve the demo chains.

It says what it did, and ends with a status other than 0 at the first thing that is not as it should be.
"""

import asyncio
import json
import re
import logging
import sys
import urllib.request
from pathlib import Path

import httpx2
import jsonschema
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

# What a client calls the two ways to begin, and the version that each must arrive at.
ERAS = [("legacy", "2025-11-25"), ("auto", "2026-07-28")]
TOOLS = ["classify_batch", "quota_status", "list_chains", "explain_category", "lookup_contract", "map_to_chart_of_accounts"]
RESOURCES = ["taxon://taxonomy", "taxon://guide"]
REVIEW_FLOOR = 70
INVALID_PARAMS = -32602
UNAUTHORIZED = -32011
ADVICE = "not tax advice"
ROUTER = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"
ALIASES = {"tx_type", "tax_category", "reasoning", "authoritative", "source"}
SOURCES = {"protocol", "call", "shape", "labels", "none"}
DEMO = Path(__file__).resolve().parents[2] / "demo"


def say(text):
    print(text, flush=True)


class Failed(Exception):
    pass


def check(holds, what):
    # Not `assert`, which a Python that optimises leaves out.
    if not holds:
        raise Failed(what)


def same(found, wanted, what):
    check(found == wanted, f"{what}: {json.dumps(found)[:2000]} is not {json.dumps(wanted)[:2000]}")


class Rest:
    """The same service, the other way in."""

    def __init__(self, url, key):
        self.url, self.key = url, key

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers)) as answer:
            return json.load(answer)


class Agent:
    """A connected client, and the schemas that the server promised it."""

    def __init__(self, client, tools):
        self.client = client
        self.schemas = {tool.name: tool.output_schema for tool in tools}

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments)
        check(not result.is_error, f"{name}: {result.content}")
        jsonschema.validate(result.structured_content, self.schemas[name], cls=jsonschema.Draft202012Validator)
        same(len(result.content), 1, f"{name}: blocks of content")
        same(json.loads(result.content[0].text), result.structured_content, f"{name}: text and structured content")
        return result.structured_content

    async def refused(self, name, arguments, code):
        try:
            result = await self.client.call_tool(name, arguments)
        except MCPError as error:
            same(error.code, code, f"{name}: code of the error")
            return error
        raise Failed(f"{name} took {arguments} and answered {result}")


def connect(url, key, mode):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    # Without the cache every question reaches the server.
    return Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, cache=None)


async def main(url, key):
    rest = Rest(url, key)
    items = [
        {"hash": done["hash"], "tx_id": done["name"]}
        for file in ["scenario.json", "solana-scenario.json"]
        for done in json.loads((DEMO / file).read_text())["transactions"]
    ]
    rows = {}
    for mode, version in ERAS:
        async with connect(url, key, mode) as client:
            same(client.protocol_version, version, f"{mode}: protocol version")
            same(client.server_info.name, "taxon", "name of the server")
            check(ADVICE in client.instructions, "the instructions carry the disclaimer")
            say(f"{version}: connected to {client.server_info.name} {client.server_info.version}")
            agent = Agent(client, await list_tools(client))
            await read_resources(client)
            rows = await classify(agent, rest, items)
            await summarise(agent, rows)
            await call_the_others(agent, rest)
            await book(agent, rest, list(rows.values()))
            await be_refused(agent, items)
        await come_without_a_key(url, mode)
    say(f"all is well: {len(ERAS)} protocol versions, {len(TOOLS)} tools, {len(rows)} transactions each")


async def list_tools(client):
    tools = (await client.list_tools()).tools
    same([tool.name for tool in tools], TOOLS, "tools")
    for tool in tools:
        for schema in [tool.input_schema, tool.output_schema]:
            jsonschema.Draft202012Validator.check_schema(schema)
            same(schema["type"], "object", f"{tool.name}: root of a schema")
        hints = tool.annotations
        told = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        same(told, (True, False, True, tool.name == "classify_batch"), f"{tool.name}: annotations")
        check(tool.title and tool.title == hints.title and len(tool.description) > 40, f"{tool.name}: words about it")
    check(ADVICE in tools[0].description, "classify_batch carries the disclaimer")
    say(f"  listed {len(tools)} tools: {', '.join(TOOLS)}")
    return tools


async def read_resources(client):
    resources = (await client.list_resources()).resources
    same([str(resource.uri) for resource in resources], RESOURCES, "resources")
    for resource in resources:
        (page,) = (await client.read_resource(str(resource.uri))).contents
        same(page.mime_type, "text/markdown", f"{resource.uri}: type")
        check(ADVICE in page.text, f"{resource.uri} carries the disclaimer")
        say(f"  read {resource.uri}: {len(page.text)} characters")
    try:
        await client.read_resource("taxon://nothing")
    except MCPError as error:
        # -32002 is the older protocol's own code for it; the newer has none.
        wanted = -32002 if client.protocol_version == "2025-11-25" else INVALID_PARAMS
        same(error.code, wanted, "code for a resource that is not there")
    else:
        raise Failed("a resource that is not there was read")


async def classify(agent, rest, items):
    """Every demo transaction, on both interfaces."""
    body = {"hashes": items, "explain": True}
    wanted = rest.ask("/v1/classify-batch", body)
    found = await agent.call("classify_batch", body)
    same((found["api_version"], found["count"]), ("v1", len(items)), "head of the batch")
    floored = []
    for rest_row, row in zip(wanted["results"], found["results"], strict=True):
        name = rest_row["id"]
        check(not ALIASES & rest_row.keys(), f"{name}: no alias on REST")
        aliases = {alias: row.pop(alias) for alias in ALIASES}
        check(aliases.pop("source") in SOURCES, f"{name}: source")
        old_names = {
            "tx_type": row["category"],
            "tax_category": row["treatment"],
            "reasoning": row["description"],
            "authoritative": not row["needs_review"],
        }
        same(aliases, old_names, f"{name}: aliases")
        if rest_row["confidence"] < REVIEW_FLOOR and not rest_row["needs_review"]:
            floored.append(name)
            check(str(REVIEW_FLOOR) in row["review_note"], f"{name}: the note says why")
            rest_row = held_back(rest_row, row["review_note"])
        same(row, rest_row, name)
    check(floored, "some demo transaction is under the review floor, else it is not tested")
    say(f"  classified {len(items)} as on REST, with aliases; the floor holds back {', '.join(floored)}")
    return {row["id"]: row for row in found["results"]}


def held_back(row, note):
    """A row of REST as the review floor leaves it: what it said of the treatment is taken back."""
    left = {"taxable": None, "ledger_action": "review"}
    row = row | left | {"needs_review": True, "review_note": note}
    row["description"] = open_again(row["description"])
    row["postings"] = [part if part["side"] == "gas" else part | {"entry": "open", "taxable": None} for part in row["postings"]]
    if "legs" in row:
        row["legs"] = [leg | left | {"description": open_again(leg["description"])} for leg in row["legs"]]
        row["parent"] = row["parent"] | {"description": open_again(row["parent"]["description"])}
        row["memo"] = open_again(row["memo"])
    return row


def open_again(text):
    """Every reading under the floor leans to no taxable event; a description of several parts says so once."""
    decided = r"Not a taxable event( \([^)]*\))?\."
    first = re.sub(decided, "A person decides the treatment; the leaning is to no taxable event.", text, count=1)
    return re.sub(" " + decided, "", first)


def booked(row, part):
    """A posting as a summary has it: with the symbol of its leg instead of its place."""
    legs = [row["assets"]["gas"]] if part["side"] == "gas" else row["assets"][part["side"]]
    return {field: part[field] for field in ("entry", "amount", "category", "taxable")} | {"symbol": legs[part["index"]]["symbol"]}


async def summarise(agent, rows):
    names = ["v2_swap_eth_in", "approval", "forged_supply"]
    items = [{"hash": rows[name]["hash"], "tx_id": name} for name in names]
    nowhere = {"hash": items[0]["hash"], "tx_id": "nowhere", "chain": "atlantis"}
    told = await agent.call("classify_batch", {"hashes": [*items, nowhere], "fields": "summary"})
    for line in told["results"][:-1]:
        row = rows[line["id"]]
        moved = line.pop("moved")
        same(line.pop("postings"), [booked(row, part) for part in row["postings"]], f"{line['id']}: how each part is booked, in short")
        same(line, {field: row.get(field) for field in line}, f"{line['id']}: a summary is part of the whole")
        sent = [f"-{leg['amount']} {leg['symbol']}" for leg in row["assets"]["sent"]]
        received = [f"+{leg['amount']} {leg['symbol']}" for leg in row["assets"]["received"]]
        same(moved, ", ".join(sent + received), f"{line['id']}: what moved")
        same("review_note" in line, row["needs_review"], f"{line['id']}: a note where a person must look")
    last = told["results"][-1]
    same((last["error"], last["needs_review"], last["taxable"]), ("unsupported_chain", True, None), "an item that failed")
    say(f"  summarised {len(names)} of them: {json.dumps(told['results'][0])[:120]}…")


async def call_the_others(agent, rest):
    same(await agent.call("quota_status", {}), rest.ask("/quota-status"), "quota_status")
    same(await agent.call("list_chains", {}), rest.ask("/chains"), "list_chains")
    for category in rest.ask("/categories")["categories"][:3]:
        same(await agent.call("explain_category", {"category": category["category"]}), category, "explain_category")
    known = (await agent.call("lookup_contract", {"address": ROUTER, "chain": "ethereum"}))["known"]
    check([row for row in known if row["protocol"] == "Uniswap v2" and row["links"]], f"lookup_contract: {known}")
    same((await agent.call("lookup_contract", {"address": "0x" + "12" * 20}))["known"], [], "a contract that no pack knows")
    say("  called quota_status, list_chains, explain_category and lookup_contract: as on REST")


async def book(agent, rest, rows):
    """Rows as the agent got them, and a price of its own."""
    price = {"time": "2026-01-01", "asset": "ETH", "currency": "USD", "price": "3000"}
    body = {"results": rows[:50], "prices": [price]}
    told = await agent.call("map_to_chart_of_accounts", body)
    same(told, rest.ask("/v1/journal", body), "map_to_chart_of_accounts")
    postings = sum(len(row["postings"]) for row in body["results"])
    same(len(told["lines"]), 2 * postings, "two lines for each posting")
    check(any(line.get("price_time") == "2026-01-01T00:00:00Z" for line in told["lines"]), "a line tells the price's time")
    say(f"  booked {len(body['results'])} of them in {len(told['lines'])} lines, {told['unpriced']} without a price")


async def be_refused(agent, items):
    error = await agent.refused("classify_batch", {"hashes": [items[0], {"hash": "0x1"}]}, INVALID_PARAMS)
    same(error.data, {"code": "invalid_hash", "index": 1}, "which item is at fault")
    error = await agent.refused("classify_batch", {"hashes": [items[0], items[1], {"hash": 7}]}, INVALID_PARAMS)
    same(error.data, {"code": "invalid_request", "index": 2}, "which item is at fault")
    await agent.refused("explain_category", {"category": "nothing"}, INVALID_PARAMS)
    await agent.refused("nothing", {}, INVALID_PARAMS)
    say("  was refused a bad hash (index 1), a wrong type (index 2), an unknown category and an unknown tool")


async def come_without_a_key(url, mode):
    for key in [None, "txn_nobodys1_" + "x" * 32]:
        async with connect(url, key, mode) as client:
            agent = Agent(client, (await client.list_tools()).tools)
            error = await agent.refused("list_chains", {}, UNAUTHORIZED)
            same(error.data["code"], "unauthorized", "what a stranger is told")
    say("  without a key: lists are shown, calls are refused")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    # The client tells of every HTTP error; those that are provoked here are checked.
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(main(sys.argv[1].rstrip("/"), sys.argv[2]))
    except* Failed as failures:
        # The client wraps what goes wrong within it; the innermost says what it was.
        failure = failures
        while isinstance(failure, BaseExceptionGroup):
            (failure, *_) = failure.exceptions
        sys.exit(f"FAILED: {failure}")
