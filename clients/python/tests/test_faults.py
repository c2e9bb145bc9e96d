"""What the real service does not do on demand: a small local server fails as the test says."""

from __future__ import annotations

import logging
import random
import socket
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from taxon_client import (
    BadAnswer,
    InvalidRequest,
    NotFound,
    NotYetMined,
    QuotaExceeded,
    RateLimited,
    Retry,
    ServiceFailed,
    Taxon,
    TaxonError,
    Unauthorized,
    Unreachable,
    UpstreamFailed,
)
from taxon_client.retry import retry_after_seconds

from conftest import Answer, batch, error, row, scripted

KEY = "txn_abcdefgh_0123456789abcdefghijABCDEFGHIJ01"
QUICK = Retry(pause_seconds_first=0.001, pause_seconds_max=0.004, item_pause_seconds=0.001)
LEG = {"symbol": "X", "amount": "0.1", "action": "received", "decimals": 18}
HTML = Answer(200, b"<html>a proxy's page</html>", {"content-type": "text/html"})


def taxon(url: str, retry: Retry = QUICK) -> Taxon:
    return Taxon(url, KEY, retry=retry, timeout_seconds=5)


@pytest.mark.parametrize(
    "failure",
    [
        error(502, "upstream_timeout"),
        Answer(502, b"<html>bad gateway</html>"),
        Answer(502, b""),
        Answer(503, {"error": "quota_status_unavailable"}),
        error(500, "internal_error"),
        error(429, "rate_limited"),
        error(429, "rate_limited", retry_after="soon"),
        error(429, "rate_limited", retry_after="-5"),
        error(429, "rate_limited", retry_after="0"),
        error(429, "rate_limited", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
        Answer(is_reset=True),
        Answer(200, row(), cut_at=20),
        Answer(200, b'{"api_version":"v1","ha'),
        Answer(200, b""),
        HTML,
    ],
)
def test_what_passes_is_tried_again(failure: Answer) -> None:
    with scripted(failure, failure, Answer(200, row())) as script, taxon(script.url) as client:
        assert client.classify("0x1").category == "swap"
    assert len(script.seen) == 3


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (error(400, "invalid_hash"), InvalidRequest, "invalid_hash"),
        (error(401, "unauthorized"), Unauthorized, "unauthorized"),
        (error(402, "quota_exceeded"), QuotaExceeded, "quota_exceeded"),
        (error(404, "tx_not_found"), NotFound, "tx_not_found"),
        (error(404, "tx_not_yet_mined"), NotYetMined, "tx_not_yet_mined"),
        (Answer(404, b"<html>"), NotFound, "http_404"),
        (Answer(302, b"", {"location": "/elsewhere"}), TaxonError, "http_302"),
        (Answer(200, row(treatment="a_sixth_one")), BadAnswer, "bad_answer"),
        (Answer(200, row(taxable="false")), BadAnswer, "bad_answer"),
        (Answer(200, row(assets={"sent": [LEG | {"amount": 0.1}], "received": [], "gas": None})), BadAnswer, "bad_answer"),
        (Answer(200, []), BadAnswer, "bad_answer"),
        (Answer(200, None), BadAnswer, "bad_answer"),
        (Answer(400, {"error": {"code": 7}}), InvalidRequest, "http_400"),
        (Answer(400, ["error"]), InvalidRequest, "http_400"),
    ],
)
def test_what_stays_is_not_tried_again(answer: Answer, kind: type[TaxonError], code: str) -> None:
    with scripted(answer) as script, taxon(script.url) as client, pytest.raises(TaxonError) as raised:
        client.classify("0x1")
    assert type(raised.value) is kind
    assert raised.value.code == code
    assert len(script.seen) == 1


def test_tries_are_bounded() -> None:
    with scripted(error(502, "upstream_timeout")) as script, taxon(script.url) as client:
        with pytest.raises(UpstreamFailed) as raised:
            client.classify("0x1")
    assert raised.value.code == "upstream_timeout"
    assert len(script.seen) == QUICK.tries_max


def test_time_is_bounded() -> None:
    retry = Retry(tries_max=1000, seconds_max=0.3, pause_seconds_first=0.05)
    with scripted(error(500, "internal_error")) as script, taxon(script.url, retry) as client:
        started = time.monotonic()
        with pytest.raises(ServiceFailed):
            client.classify("0x1")
    assert time.monotonic() - started < 2


def test_nobody_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with taxon(f"http://127.0.0.1:{bound.getsockname()[1]}") as client, pytest.raises(Unreachable) as raised:
            client.chains()
    assert raised.value.status is None


def test_an_answer_that_does_not_come() -> None:
    with scripted(Answer(silent_seconds=3, is_reset=True)) as script:
        with Taxon(script.url, retry=Retry(tries_max=2, pause_seconds_first=0.01), timeout_seconds=1) as client:
            with pytest.raises(Unreachable) as raised:
                client.chains()
    assert "Timeout" in raised.value.message
    assert len(script.seen) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_it_is_told_and_a_little_longer(status: int) -> None:
    with scripted(error(status, "rate_limited", retry_after="1"), Answer(200, row())) as script, taxon(script.url) as client:
        client.classify("0x1")
    first, second = script.seen
    assert 1 <= second.at - first.at < 2


def test_it_waits_for_a_date_by_the_clock_of_whoever_named_it() -> None:
    theirs = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
    limited = error(429, "rate_limited", retry_after=_http(theirs + timedelta(seconds=1)), date=_http(theirs))
    with scripted(limited, Answer(200, row())) as script, taxon(script.url) as client:
        client.classify("0x1")
    first, second = script.seen
    assert 1 <= second.at - first.at < 2


@pytest.mark.parametrize(("text", "least"), [("1000000000", 1e9), ("9" * 400, 1e300), ("Fri, 01 Jan 2999 00:00:00 GMT", 1e9)])
def test_it_does_not_wait_for_ever_nor_ask_too_early(text: str, least: float) -> None:
    with scripted(error(429, "rate_limited", retry_after=text)) as script, taxon(script.url) as client:
        with pytest.raises(RateLimited) as raised:
            client.classify("0x1")
    assert len(script.seen) == 1
    assert raised.value.retry_after is not None and raised.value.retry_after >= least


def test_pauses_double_up_to_a_bound_and_are_drawn_from_the_whole_span() -> None:
    retry = Retry(tries_max=99, pause_seconds_first=1, pause_seconds_max=8)
    random.seed(1)
    for tries, bound in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (98, 8)]:
        drawn = [retry.jitter_seconds(tries) for _ in range(300)]
        assert max(drawn) <= bound
        assert min(drawn) < 0.1 * bound and max(drawn) > 0.9 * bound
    told = RateLimited("rate_limited", "", 429, retry_after=60)
    waited = [retry.pause_seconds(told, 1, 0) or 0 for _ in range(300)]
    assert min(waited) >= 60 and max(waited) > 60.5


def test_retry_after_without_a_date_of_the_answer() -> None:
    seconds = retry_after_seconds({"retry-after": _http(datetime.now(UTC) + timedelta(seconds=30))})
    assert seconds is not None and 28 < seconds <= 30


def test_nothing_to_ask_asks_nothing() -> None:
    with scripted(error(500, "internal_error")) as script, taxon(script.url) as client:
        assert client.classify_all([]) == []
        assert client.classify_all(iter(())) == []
    assert script.seen == []


def test_a_single_string_is_not_a_list() -> None:
    with taxon("http://127.0.0.1:9") as client:
        with pytest.raises(TypeError):
            client.classify_all("0x1")
        with pytest.raises(TypeError):
            client.classify("0x1", own_wallets="0x2")


def test_cut_in_order_through_failures_and_with_repeats() -> None:
    items = [f"0x{number % 150:x}" for number in range(0, 350)]
    progress: list[tuple[int, int]] = []
    limited = error(429, "rate_limited", retry_after="0")
    with scripted(batch, limited, batch, error(502, "upstream_timeout"), Answer(is_reset=True), batch) as script:
        with taxon(script.url) as client:
            rows = client.classify_all(items, chain="demo", on_progress=lambda *done: progress.append(done))
    assert [row.hash for row in rows] == items
    assert [len(seen.body["hashes"]) for seen in script.seen] == [100, 100, 100, 100, 100, 100, 50]
    assert script.seen[0].body["hashes"][0] == {"hash": "0x0", "chain": "demo"}
    assert progress == [(100, 350), (200, 350), (300, 350), (350, 350)]


@pytest.mark.parametrize("count", [99, 101, 0])
def test_another_number_of_rows_than_asked_for_is_no_answer(count: int) -> None:
    def other(body: Any) -> Answer:
        return Answer(200, {"api_version": "v1", "count": 100, "results": [row()] * count})

    with scripted(batch, other) as script, taxon(script.url) as client, pytest.raises(BadAnswer) as raised:
        client.classify_all(["0x1"] * 200)
    assert raised.value.rows is not None
    assert sum(row is not None for row in raised.value.rows) == 100
    assert len(script.seen) == 2


def _failing(code: str, *places: int) -> Any:
    def answer(body: Any) -> Answer:
        whole = batch(body)
        for place in places:
            whole.body["results"][place] |= {"error": code, "category": "unclassified"}
        return whole

    return answer


@pytest.mark.parametrize("code", ["upstream_timeout", "upstream_new_reason", "tx_not_retrievable", "internal_error"])
def test_items_that_failed_in_passing_are_asked_again_at_the_end(code: str) -> None:
    items = [{"hash": f"0x{number:x}", "tx_id": str(number)} for number in range(150)]
    progress: list[int] = []
    with scripted(_failing(code, 3, 99), _failing(code, 7), _failing(code, 1), batch) as script:
        with taxon(script.url) as client:
            rows = client.classify_all(items, on_progress=lambda done, _: progress.append(done))
    assert [row.error for row in rows] == [None] * 150
    assert [row.id for row in rows] == [str(number) for number in range(150)]
    assert [item["tx_id"] for item in script.seen[2].body["hashes"]] == ["3", "99", "107"]
    assert [item["tx_id"] for item in script.seen[3].body["hashes"]] == ["99"]
    assert progress == [98, 147, 149, 150]


def test_the_last_answer_stands() -> None:
    progress: list[int] = []
    with scripted(_failing("upstream_timeout", 0), _failing("upstream_unavailable", 0)) as script:
        with taxon(script.url) as client:
            rows = client.classify_all(["0x1", "0x2"], on_progress=lambda done, _: progress.append(done))
    assert [row.error for row in rows] == ["upstream_unavailable", None]
    assert len(script.seen) == 1 + QUICK.item_rounds_max
    assert progress == [1, 1, 1, 1, 2]


def test_a_round_that_fails_as_a_whole_takes_nothing_back() -> None:
    with scripted(_failing("upstream_timeout", 0), error(401, "unauthorized")) as script, taxon(script.url) as client:
        rows = client.classify_all(["0x1", "0x2"])
    assert [row.error for row in rows] == ["upstream_timeout", None]


def test_items_that_failed_for_good_are_not_asked_again() -> None:
    with scripted(_failing("tx_not_found", 0)) as script, taxon(script.url) as client:
        assert client.classify_all(["0x1"])[0].error == "tx_not_found"
    assert len(script.seen) == 1


def test_a_refused_round_says_so() -> None:
    refused = error(402, "quota_exceeded")
    with scripted(_failing("upstream_timeout", 0), refused) as script, taxon(script.url) as client:
        rows = client.classify_all(["0x1", "0x2"])
    assert [row.error for row in rows] == ["quota_exceeded", None]
    assert len(script.seen) == 2


def test_refused_first_and_served_later() -> None:
    with scripted(error(402, "quota_exceeded"), batch) as script, taxon(script.url) as client:
        rows = client.classify_all(["0xAB"] * 101)
    assert [row.error for row in rows] == ["quota_exceeded"] * 100 + [None]
    assert rows[0].hash == "0xab"


def test_unknown_fields_and_categories_are_fine() -> None:
    answer = row(category="invented_tomorrow", something={"new": 1}, ledger_action="also_new")
    with scripted(Answer(200, answer)) as script, taxon(script.url) as client:
        got = client.classify("0x1")
    assert got.category == "invented_tomorrow"
    assert got.ledger_action == "also_new"


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    answers = [
        error(401, "unauthorized", f"no such key: {KEY}"),
        Answer(200, row(treatment=KEY)),
        Answer(400, {"error": {"code": KEY, "message": KEY}}),
        Answer(is_reset=True),
    ]
    for answer in answers:
        with scripted(answer) as script, taxon(script.url) as client:
            with pytest.raises(TaxonError) as raised:
                client.classify("0x1")
            assert script.seen[0].headers["authorization"] == f"Bearer {KEY}"
            cause: BaseException | None = raised.value
            while cause is not None:
                shown += [str(cause), repr(cause), *traceback.format_exception(cause)]
                cause = cause.__cause__ or cause.__context__
            shown += [repr(client), str(client)]
    shown.append(caplog.text)
    assert KEY not in "".join(shown)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}é", "", "\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError) as raised:
        Taxon("http://127.0.0.1:9", key)
    assert KEY not in str(raised.value)


def test_address_and_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(Answer(200, row())) as script:
        monkeypatch.setenv("TAXON_URL", f"{script.url}/under/a/path/")
        monkeypatch.setenv("TAXON_KEY", KEY)
        with Taxon() as client:
            client.classify("0x1")
    assert script.seen[0].path == "/under/a/path/v1/classify"
    assert script.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert script.seen[0].body == {"hash": "0x1"}
    monkeypatch.delenv("TAXON_URL")
    for bad in (None, "", "127.0.0.1:8080", "ftp://host", "http://", "http://a:secret@host", "http://a:secret@host:x", "http://host/?a=b"):
        with pytest.raises(ValueError) as raised:
            Taxon(bad)
        assert "secret" not in str(raised.value)


def test_an_error_says_in_every_form_where_the_input_is_wrong() -> None:
    wrong = error(400, "invalid_hash", "hashes[3]: no hash; hashes[700] is none of ours")
    with scripted(batch, wrong) as script, taxon(script.url) as client, pytest.raises(InvalidRequest) as raised:
        client.classify_all(["0x1"] * 110)
    for text in (str(raised.value), repr(raised.value), raised.value.message):
        assert "hashes[103]" in text and "hashes[700]" in text and "hashes[3]" not in text


def _http(date: datetime) -> str:
    return format_datetime(date, usegmt=True)
