"""Jobs, books and the journal: against the real service, and a server that fails as the test says."""

from __future__ import annotations

import io
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from taxon_client import (
    InvalidRequest,
    JobFailed,
    JobStatus,
    JobUnfinished,
    NotFound,
    RateLimited,
    Retry,
    ServiceFailed,
    Table,
    Taxon,
    TaxonError,
    Unreachable,
)

from conftest import EVM, HASHES, ROOT, Answer, Service, error, named, scripted, serve

QUICK = Retry(tries_max=3, pause_seconds_first=0.001, pause_seconds_max=0.004)
TABLE = "\n".join(["Txhash", *(transaction["hash"] for transaction in EVM[:5])]).encode()
WALLET = EVM[0]["wallet"]
#: What an explorer in the form of Etherscan says of a wallet that did nothing.
NOTHING = Answer(200, {"status": "0", "message": "No transactions found", "result": []})


def status(state: str, **fields: object) -> dict[str, object]:
    """A job as the service writes it."""
    return {
        "id": "job_1", "book": None, "name": "table", "state": state, "reason": None, "rows": 1, "read": 0, "failed": 0,
        "needs_review": 0, "rows_per_second": None, "seconds_left": None, "created_at": "2026-01-01T00:00:00Z", "started_at": None,
        "ended_at": None, "kept_until": "2026-01-31T00:00:00Z", "table": {}, **fields,
    }  # fmt: skip


TAKEN = Answer(202, status("open"))


def client(url: str, retry: Retry = QUICK) -> Taxon:
    return Taxon(url, "txn_abcdefgh_0123456789abcdefghijABCDEFGHIJ01", retry=retry, timeout_seconds=5)


def test_a_table_in_every_form_to_results_in_every_form(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "my table.csv"
    file.write_bytes(TABLE)
    opened = io.BytesIO(b"passed over\n" + TABLE)
    opened.readline()
    with Taxon(service.url, service.key("forms@example.com")) as taxon, file.open("rb") as on_disk:
        forms: list[Table] = [file, str(file), TABLE, bytearray(TABLE), opened, on_disk, iter([TABLE[:9], b"", TABLE[9:]])]
        jobs = [taxon.create_job(form) for form in forms]
        assert [job.name for job in jobs] == ["my table.csv"] * 2 + ["table"] * 5
        seen: list[JobStatus] = []
        for job in jobs:
            assert job.rows == 5 and job.table["columns"]["hash"] == "Txhash"
            ended = taxon.wait_for_job(job.id, timeout_seconds=60, on_progress=seen.append)
            assert (ended.state, ended.read, ended.failed) == ("finished", 5, 0)
        assert seen[-1].state == "finished"

        rows = [json.loads(line) for line in b"".join(taxon.job_results(jobs[0].id, format="jsonl")).splitlines()]
        assert {row["hash"] for row in rows} == {transaction["hash"] for transaction in EVM[:5]}
        saved = tmp_path / "results"
        taxon.save_job_results(jobs[0].id, saved)
        assert saved.read_bytes() == b"".join(taxon.job_results(jobs[0].id))
        taxon.save_job_results(jobs[0].id, saved, format="parquet")
        assert saved.read_bytes()[:4] == b"PAR1"
        with pytest.raises(InvalidRequest):
            taxon.save_job_results(jobs[0].id, saved, format="nonsense")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["my table.csv", "results"]
        assert [job.id for job in taxon.jobs()] == [job.id for job in reversed(jobs)]


def test_what_a_job_may_carry(service: Service) -> None:
    wrap = named("weth_wrap")
    table = f"Txhash,Other\n{HASHES[0]},{wrap['hash']}\n"
    with Taxon(service.url, service.key("carries@example.com")) as taxon:
        first = taxon.books()[0]
        assert first.name == "My books"
        job = taxon.create_job(
            table.encode(),
            book=first.id,
            name="a, b & c",
            column="Other",
            chain="demo",
            wallet=wrap["wallet"],
            own_wallets=[wrap["wallet"], "0x" + "11" * 20],
            policy={"wrap": "disposal", "lp": "non_taxable"},
            start=False,
        )
        assert (job.state, job.book, job.name) == ("ready", first.id, "a, b & c")
        assert job.table["columns"]["hash"] == "Other"
        # It would wait for ever.
        assert taxon.wait_for_job(job.id, timeout_seconds=60).state == "ready"
        assert taxon.start_job(job.id).state in ("open", "finished")
        assert taxon.wait_for_job(job.id, timeout_seconds=60).state == "finished"
        (line,) = b"".join(taxon.job_results(job.id, format="jsonl")).splitlines()
        row = json.loads(line)
        assert (row["hash"], row["chain"], row["treatment"]) == (wrap["hash"], "demo", "disposal")
        assert row["perspective"].lower() == wrap["wallet"].lower()

        ready = taxon.create_job(table.encode(), start=False)
        assert taxon.cancel_job(ready.id).state == taxon.wait_for_job(ready.id).state == "cancelled"
        assert taxon.cancel_job(ready.id).state == taxon.start_job(ready.id).state == "cancelled"


def test_the_errors_of_jobs(service: Service) -> None:
    with Taxon(service.url, service.key("errors@example.com")) as taxon:
        with pytest.raises(InvalidRequest) as unread:
            taxon.create_job(b"nothing,of\nthe,kind\n")
        assert unread.value.request_id and not list(taxon.jobs())
        with pytest.raises(NotFound):
            taxon.create_job(TABLE, book="book_of_somebody_else")
        for call in (taxon.job, taxon.start_job, taxon.cancel_job, taxon.wait_for_job):
            with pytest.raises(NotFound):
                call("job_nobody")
        with pytest.raises(NotFound):
            next(taxon.job_results("job_nobody"))
        for id in ("", "..", "a/../b", "a?b", "é"):
            with pytest.raises(ValueError):
                taxon.job(id)
        with pytest.raises(TypeError):
            taxon.create_job(io.StringIO("hash"))  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError):
            taxon.create_job("/no/such/table")
        with pytest.raises(TypeError):
            taxon.create_wallets_job(WALLET)
        with pytest.raises(TypeError):
            taxon.create_wallets_job([WALLET], to=datetime.now(UTC))
        with pytest.raises(InvalidRequest):
            taxon.create_wallets_job([WALLET])


def test_the_pages_of_jobs() -> None:
    with serve(TAXON_POOL_DEV="1000") as service, Taxon(service.url, service.key()) as taxon:
        ids = []
        for number in range(52):
            job = taxon.create_job(TABLE, name=str(number), start=False)
            taxon.cancel_job(job.id)
            ids.append(job.id)
        assert [job.id for job in taxon.jobs()] == ids[::-1]


def test_wallets() -> None:
    def listed(_: Any) -> Answer:
        return NOTHING

    with scripted(listed) as explorer, serve(TAXON_EXPLORER_ETHEREUM=f"{explorer.url}/api") as service:
        with Taxon(service.url, service.key()) as taxon:
            asked = taxon.create_wallets_job(
                [WALLET], chain="ethereum", from_=date(2024, 1, 1), to="2024-12-31", name="2024", own_wallets=["0x" + "11" * 20],
                policy={"lp": "non_taxable"}, book=taxon.books()[0].id, start=False,
            )  # fmt: skip
            assert (asked.state, asked.name) == ("listing", "2024")
            ended = taxon.wait_for_job(asked.id, timeout_seconds=60)
            assert (ended.state, ended.rows) == ("finished", 0)
            assert ended.table
            # A list that cannot be trusted ends the job.
            explorer.answers[:] = [Answer(200, {"status": "1", "message": "OK", "result": [{"hash": 7}]})]
            failing = taxon.create_wallets_job([WALLET])
            with pytest.raises(JobFailed) as failed:
                taxon.wait_for_job(failing.id, timeout_seconds=60)
            assert failed.value.job.id == failing.id and failed.value.job.reason
            assert failed.value.job.reason in str(failed.value)


def test_the_journal(service: Service) -> None:
    swap = named("v2_swap_eth_in")["hash"]
    with Taxon(service.url, service.key()) as taxon:
        rows = taxon.classify_all([swap, {"hash": "0x" + "ab" * 32, "chain": "nowhere"}])
        price = {"time": "2026-01-01", "asset": "ETH", "currency": "USD", "price": "3000"}
        journal = taxon.journal(rows, prices=[price], currency="USD")
        assert journal.skipped == 1
        ether = [line for line in journal.lines if line.symbol == "ETH" and line.entry == "dispose"]
        assert {(line.quantity, line.value) for line in ether} == {("-0.8", "-2400"), ("0.8", "2400")}
        as_dictionaries = [row.model_dump(mode="json", by_alias=True, exclude_unset=True) for row in rows]
        assert taxon.journal(as_dictionaries).unpriced == len(journal.lines)
        chart = (ROOT / "crates/books/accounts.toml").read_text()
        assert taxon.journal(rows, prices=[price], chart=chart.replace("Assets:Wallets", "Assets:Mine")).lines[0].account.startswith("Assets:Mine")
        with pytest.raises(InvalidRequest):
            taxon.journal(rows, chart="no chart")


def test_the_job_of_the_readme(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes(TABLE)
    readme = (ROOT / "clients/python/README.md").read_text()
    sample = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[1]
    with Taxon(service.url, service.key("readme@example.com")) as taxon:
        exec(sample, {"taxon": taxon})
    assert Path("table.koinly.csv").stat().st_size > 100


@pytest.mark.parametrize("failure", [error(429, "rate_limited", retry_after="0"), Answer(503, b"")])
def test_an_upload_that_was_not_taken_is_sent_again_whole(failure: Answer, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(TABLE)
    for table in (TABLE, file, io.BytesIO(TABLE)):
        with scripted(failure, failure, TAKEN) as script, client(script.url) as taxon:
            assert taxon.create_job(table).id == "job_1"
        assert [seen.body for seen in script.seen] == [TABLE] * 3
    with scripted(failure, TAKEN) as script, client(script.url) as taxon:
        taxon.create_wallets_job([WALLET])
    assert [seen.body for seen in script.seen] == [{"wallets": [WALLET]}] * 2


@pytest.mark.parametrize(
    "failure",
    [
        error(500, "internal_error"),
        Answer(502, b"<html>"),
        Answer(504, b""),
        Answer(is_reset=True),
        Answer(202, status("open"), cut_at=20),
        Answer(202, b"<html>"),
    ],
)
def test_what_may_have_been_taken_is_not_sent_again(failure: Answer) -> None:
    with scripted(failure, TAKEN) as script, client(script.url) as taxon:
        with pytest.raises(TaxonError):
            taxon.create_job(TABLE)
        assert len(script.seen) == 1
    with scripted(failure, TAKEN) as script, client(script.url) as taxon:
        with pytest.raises(TaxonError):
            taxon.create_wallets_job([WALLET])
        assert len(script.seen) == 1


def test_a_table_that_can_be_read_once_is_sent_once() -> None:
    with scripted(error(429, "rate_limited", retry_after="0")) as script, client(script.url) as taxon:
        with pytest.raises(RateLimited):
            taxon.create_job(iter([TABLE]))
    assert len(script.seen) == 1


def test_nobody_listens_yet() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with client(f"http://127.0.0.1:{bound.getsockname()[1]}", Retry(tries_max=50, pause_seconds_first=0.05)) as taxon:
            # Refused until then, and reset without an answer after it: only the former is surely not taken.
            threading.Timer(0.3, bound.listen).start()
            threading.Timer(0.6, lambda: bound.accept()[0].close()).start()
            with pytest.raises(Unreachable) as lost:
                taxon.create_job(TABLE)
    assert not lost.value.is_untaken


def test_a_large_table_that_is_refused_early() -> None:
    with serve(TAXON_RATE_PER_MINUTE="1") as service, Taxon(service.url, service.key(), retry=Retry(tries_max=1)) as taxon:
        taxon.create_job(TABLE)
        with pytest.raises(RateLimited) as limited:
            taxon.create_job(b"x" * 30_000_000)
    assert limited.value.retry_after


def test_waiting() -> None:
    answers = [Answer(200, status(state)) for state in ("open", "waiting", "a_new_state")]
    ended = Answer(200, status("a_new_end", ended_at="2026-01-01T00:00:01Z"))
    with scripted(*answers, error(502, "upstream_timeout"), ended) as script, client(script.url) as taxon:
        assert taxon.wait_for_job("job_1").state == "a_new_end"
    pauses = [later.at - earlier.at for earlier, later in zip(script.seen, script.seen[1:], strict=False)]
    assert len(pauses) == 4 and 0.4 < pauses[0] < pauses[1] < pauses[2]

    with scripted(Answer(200, status("waiting", reason="the pool is used up"))) as script, client(script.url) as taxon:
        started = time.monotonic()
        with pytest.raises(JobUnfinished) as unfinished:
            taxon.wait_for_job("job_1", timeout_seconds=0.7)
        assert 0.6 < time.monotonic() - started < 3
    assert unfinished.value.job.state == "waiting" and "the pool is used up" in str(unfinished.value)

    with scripted(error(500, "internal_error")) as script, client(script.url, Retry(tries_max=99)) as taxon:
        started = time.monotonic()
        with pytest.raises(ServiceFailed):
            taxon.wait_for_job("job_1", timeout_seconds=0.5)
        assert time.monotonic() - started < 3


def test_results_that_break_off(tmp_path: Path) -> None:
    target = tmp_path / "results.csv"
    whole, broken = Answer(200, b"a,b\n1,2\n"), Answer(200, b"a,b\n1,2\n", cut_at=4)
    with scripted(error(502, "upstream_timeout"), broken, whole) as script, client(script.url) as taxon:
        taxon.save_job_results("job_1", target)
        assert target.read_bytes() == b"a,b\n1,2\n" and len(script.seen) == 3
    with scripted(broken) as script, client(script.url) as taxon:
        target.write_bytes(b"before")
        with pytest.raises(Unreachable):
            taxon.save_job_results("job_1", target)
        assert target.read_bytes() == b"before" and list(tmp_path.iterdir()) == [target]
        pieces = taxon.job_results("job_1")
        assert next(pieces) == b"a,b\n"
        asked = len(script.seen)
        with pytest.raises(Unreachable):
            next(pieces)
        assert len(script.seen) == asked


def test_pages_that_never_end_are_asked_for_one_by_one() -> None:
    with scripted(Answer(200, {"jobs": [status("open")] * 50, "next": "job_1"})) as script, client(script.url) as taxon:
        jobs: Iterator[JobStatus] = taxon.jobs()
        for _ in range(120):
            next(jobs)
    assert [seen.path for seen in script.seen] == ["/v1/jobs"] + ["/v1/jobs?before=job_1"] * 2
