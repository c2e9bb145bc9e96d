"""Holds taxon-engine against `taxon read`, and both against pyarrow and DuckDB. Called by `test` beside it."""

import collections
import datetime
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import duckdb
import pyarrow
import pyarrow.parquet
import taxon_engine

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAXON = str(pathlib.Path(sys.argv[1]).resolve())
CHAINS = (ROOT / "demo/chain.toml").read_text()


def taxon(*arguments: str) -> str:
    # A configured upstream keeps the public endpoints out; nobody asks it.
    env = os.environ | {"TAXON_DATA_DIR": os.getcwd(), "TAXON_RPC_ETHEREUM": "http://127.0.0.1:9", "TAXON_LOG": "error"}
    done = subprocess.run([TAXON, *arguments], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(facts: str) -> list[str]:
    taxon("read", facts, "--demo", "--out", "again.jsonl")
    return pathlib.Path("again.jsonl").read_text().splitlines()


def the_engine_says_what_the_command_says(rows: list[dict], lines: list[str]) -> None:
    engine = taxon_engine.Engine(chains=CHAINS)
    assert engine.classify_many_json(rows) == lines
    assert engine.classify_many_json(rows, threads=1) == lines
    assert engine.classify_many_json([json.dumps(row, default=str) for row in rows]) == lines
    assert [engine.classify_json(row) for row in rows[:10]] == lines[:10]
    nested = {name: json.loads(cell) if name in ("transaction", "receipt", "internal", "known") and cell else cell for name, cell in rows[0].items()}
    assert engine.classify(nested) == json.loads(lines[0])
    assert engine.version == json.loads(lines[0])["engine"]
    explained = engine.classify(rows[0], {"explain": True, "own_wallets": [], "policy": {"lp": "non_taxable"}})
    assert explained["evidence"], explained
    assert engine.classify_many([]) == []


def what_is_wrong_is_said(rows: list[dict]) -> None:
    engine = taxon_engine.Engine(chains=CHAINS)
    stranger = "0x" + "12" * 20
    # Facts are kept in the order in which they came, and a row of Solana has no receipt.
    first, second = [row for row in rows if row["chain"] == "demo"][:2]
    for bad, question, code in [
        (first | {"receipt": second["receipt"]}, None, "invalid_facts"),
        (first | {"version": 2}, None, "invalid_facts"),
        (first | {"chain": "nowhere"}, None, "unsupported_chain"),
        (first, {"wallet": stranger}, "wallet_not_in_transaction"),
        ("[]", None, "invalid_facts"),
        ("{" * 100_000, None, "invalid_facts"),
    ]:
        try:
            engine.classify(bad, question)
        except taxon_engine.FactsError as error:
            assert error.args[0] == code, error.args
        else:
            raise AssertionError(f"{code} was expected")
        [verdict] = engine.classify_many([bad], question)
        assert verdict["error"] == code and verdict["needs_review"] and verdict["taxable"] is None, verdict
    for question in [{"wallet": "me"}, {"walet": stranger}, {"own_wallets": [stranger] * 1001}]:
        try:
            engine.classify(rows[0], question)
        except ValueError as error:
            assert not isinstance(error, taxon_engine.FactsError) and str(error).startswith("question: "), error
        else:
            raise AssertionError(f"{question} was taken")
    try:
        taxon_engine.Engine(chains="chain = 1")
    except ValueError:
        pass
    else:
        raise AssertionError("a broken file of chains was taken")


def the_lock_is_let_go(rows: list[dict]) -> None:
    engine = taxon_engine.Engine(chains=CHAINS)
    texts = [json.dumps(row, default=str) for row in rows] * 5
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(1)

    ticking = threading.Thread(target=tick)
    ticking.start()
    engine.classify_many_json(texts, threads=1)
    done.set()
    ticking.join()
    assert len(ticks) > 10, len(ticks)


def verdicts_are_read_by_others(lines: list[str]) -> None:
    taxon("read", "facts.parquet", "--demo", "--out", "verdicts.parquet")
    answers = [json.loads(line) for line in lines]
    table = pyarrow.parquet.read_table("verdicts.parquet")
    assert table.column("answer").to_pylist() == lines
    for name in ("hash", "chain", "category", "treatment", "taxable", "confidence", "needs_review", "ledger_action", "protocol", "perspective", "engine"):
        assert table.column(name).to_pylist() == [answer[name] for answer in answers], name
    times = [datetime.datetime.fromisoformat(answer["block"]["timestamp"]) for answer in answers]
    assert table.column("time").to_pylist() == times
    assert table.schema.field("time").type == pyarrow.timestamp("ms", tz="UTC")
    group = pyarrow.parquet.ParquetFile("verdicts.parquet").metadata.row_group(0)
    by_name = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert by_name["category"].statistics.has_min_max and by_name["time"].statistics.has_min_max
    assert {column.compression for column in by_name.values()} == {"SNAPPY"}
    counted = duckdb.sql("SELECT category, count(*) FROM 'verdicts.parquet' GROUP BY ALL").fetchall()
    assert dict(counted) == dict(collections.Counter(answer["category"] for answer in answers))
    described = duckdb.sql("SELECT answer->>'$.description' FROM 'verdicts.parquet'").fetchall()
    assert [text for (text,) in described] == [answer["description"] for answer in answers]


def facts_of_others_are_read(lines: list[str]) -> None:
    table = pyarrow.parquet.read_table("facts.parquet")
    pyarrow.parquet.write_table(table, "other.parquet")
    assert read("other.parquet") == lines
    options = dict(compression="zstd", data_page_version="2.0", use_dictionary=False, row_group_size=7)
    pyarrow.parquet.write_table(table, "other.parquet", **options)
    assert read("other.parquet") == lines
    for more in ["", ", COMPRESSION zstd, PARQUET_VERSION v2"]:
        duckdb.sql(f"COPY (SELECT *, 1.5 AS mine FROM 'facts.parquet') TO 'other.parquet' (FORMAT parquet{more})")
        assert read("other.parquet") == lines
    # As somebody who has seconds, and no columns that may be absent.
    duckdb.sql("""
        COPY (SELECT 1::TINYINT AS version, chain, hash, epoch(block_time)::BIGINT AS block_time, final, transaction, receipt, internal, known FROM 'facts.parquet')
        TO 'other.parquet' (FORMAT parquet)
    """)
    without_wallets = [json.loads(line)["hash"] for line in read("other.parquet")]
    assert without_wallets == [json.loads(line)["hash"] for line in lines]


def the_readme_is_true() -> None:
    text = (ROOT / "crates/python/README.md").read_text()
    samples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(samples) == 3, len(samples)
    # The demo chains are not among those that the module's own engine knows.
    taxon_engine._default = taxon_engine.Engine(chains=CHAINS)
    names: dict = {}
    for sample in samples:
        exec(compile(sample, "README.md", "exec"), names)
    assert names["verdict"]["evidence"] and len(names["verdicts"]) == len(names["rows"])
    counted = names["con"].sql(names["query"]).fetchall()
    assert dict(counted) == dict(collections.Counter(verdict["category"] for verdict in names["verdicts"])), counted
    # DuckDB complains of what is left when the interpreter ends.
    names["con"].close()
    names.clear()
    gc.collect()


def main() -> None:
    os.chdir(sys.argv[2])
    taxon("bulk", str(ROOT / "demo/demo.csv"), "--demo", "--format", "jsonl", "--out", "direct.jsonl", "--keep-facts", "kept")
    [kept] = pathlib.Path("kept").iterdir()
    kept.rename("facts.parquet")
    lines = read("facts.parquet")
    direct = pathlib.Path("direct.jsonl").read_text().splitlines()
    assert len(lines) > 80 and sorted(lines) == sorted(direct)
    rows = pyarrow.parquet.read_table("facts.parquet").to_pylist()
    the_engine_says_what_the_command_says(rows, lines)
    what_is_wrong_is_said(rows)
    the_lock_is_let_go(rows)
    verdicts_are_read_by_others(lines)
    facts_of_others_are_read(lines)
    the_readme_is_true()
    print(f"{len(lines)} verdicts, the same from Python, from the command and from the nodes")


main()
