"""Against the real service."""

from __future__ import annotations

import re
import time
from decimal import Decimal

import pytest
from taxon_client import (
    Amount,
    AnyItem,
    InvalidRequest,
    NotFound,
    PartnerStatus,
    PoolStatus,
    QuotaExceeded,
    Retry,
    Taxon,
    Unauthorized,
    UpstreamFailed,
)

from conftest import EVM, HASHES, ROOT, SOLANA, Service, named, serve

QUICK = Retry(tries_max=2, pause_seconds_first=0.01, item_rounds_max=1, item_pause_seconds=0.01)
UNKNOWN = "0x" + "ab" * 32


def test_one_transaction(service: Service) -> None:
    with Taxon(service.url, service.key()) as taxon:
        row = taxon.classify(named("v2_swap_eth_in")["hash"], chain="demo", explain=True)
    assert (row.chain, row.category, row.treatment, row.taxable) == ("demo", "swap", "disposal", True)
    assert row.id is None and row.error is None
    assert row.evidence
    sent = row.assets.sent[0]
    assert (sent.symbol, sent.amount) == ("ETH", "0.8")
    assert Amount.of(sent).units == 8 * 10**17
    assert Amount.of(sent).to_decimal() == Decimal("0.8")
    assert row.assets.received[0].from_


def test_the_sample_of_the_readme(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "clients/python/README.md").read_text()
    sample = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0].replace("http://127.0.0.1:8080", service.url)
    exec(sample, {"key": service.key(), "hashes": HASHES})
    assert capsys.readouterr().out.splitlines()[:2] == ["swap disposal True", "ETH 0.8 800000000000000000"]


def test_what_a_call_may_carry(service: Service) -> None:
    wrap = named("weth_wrap")
    with Taxon(service.url, service.key()) as taxon:
        assert taxon.classify(wrap["hash"]).treatment == "non_taxable"
        assert taxon.classify(wrap["hash"], policy={"wrap": "disposal"}).treatment == "disposal"
        rows = taxon.classify_all([wrap["hash"]], policy={"wrap": "disposal"}, wallet=wrap["wallet"], explain=True)
        assert rows[0].treatment == "disposal" and rows[0].evidence
        assert (rows[0].perspective or "").lower() == wrap["wallet"].lower()
        taxon.classify_all([wrap["hash"]], own_wallets={wrap["wallet"]})


def test_rows_stand_in_the_order_of_the_items(service: Service) -> None:
    swap = named("v2_swap_eth_in")["hash"]
    items: list[AnyItem] = [
        {"hash": swap.upper().replace("0X", "0x"), "tx_id": "a", "chain": "demo"},
        {"hash": UNKNOWN, "tx_id": "b", "chain": "nowhere"},
        SOLANA[0]["hash"],
        swap,
        {"hash": EVM[0]["hash"], "wallet": "0x" + "11" * 20, "tx_id": "e"},
    ]
    with Taxon(service.url, service.key()) as taxon:
        rows = taxon.classify_all(items)
    assert [row.id for row in rows] == ["a", "b", None, None, "e"]
    assert [row.error for row in rows] == [None, "unsupported_chain", None, None, "wallet_not_in_transaction"]
    assert [row.chain for row in rows[2:4]] == ["demo-solana", "demo"]
    assert rows[0].hash == rows[3].hash == swap


def test_the_errors_that_callers_act_on(service: Service) -> None:
    with Taxon(service.url, service.key(), retry=QUICK) as taxon:
        with pytest.raises(InvalidRequest) as invalid:
            taxon.classify("nonsense")
        assert (invalid.value.code, invalid.value.status) == ("invalid_hash", 400)
        assert invalid.value.request_id
        with pytest.raises(NotFound) as missing:
            taxon.classify(EVM[0]["hash"], wallet="0x" + "11" * 20)
        assert missing.value.code == "wallet_not_in_transaction"
        # No chain has it, and the one upstream does not answer: absence was not shown.
        with pytest.raises(UpstreamFailed) as upstream:
            taxon.classify(UNKNOWN)
        assert (upstream.value.code, upstream.value.status) == ("upstream_unavailable", 502)
        assert taxon.classify_all([UNKNOWN, HASHES[0]])[0].error == "upstream_unavailable"
    with Taxon(service.url, "txn_00000000_" + "0" * 32) as taxon:
        with pytest.raises(Unauthorized):
            taxon.classify(HASHES[0])
        with pytest.raises(Unauthorized):
            taxon.quota_status()


def test_an_invalid_hash_is_named_by_its_place_in_the_input(service: Service) -> None:
    hashes = (HASHES * 2)[:130]
    hashes[123] = "nonsense"
    with Taxon(service.url, service.key()) as taxon, pytest.raises(InvalidRequest) as invalid:
        taxon.classify_all(hashes)
    assert "hashes[123]" in str(invalid.value)
    rows = invalid.value.rows
    assert rows is not None
    assert [row is not None for row in rows] == [True] * 100 + [False] * 30


def test_the_lists(service: Service) -> None:
    with Taxon(service.url) as taxon:
        assert [chain.slug for chain in taxon.chains()] == ["demo", "demo-solana", "ethereum"]
        categories = {row.category: row for row in taxon.categories()}
        assert categories["swap"].treatment == "disposal"
        anonymous = taxon.quota_status()
        assert isinstance(anonymous, PoolStatus)
        assert anonymous.kind == "anon"
    with Taxon(service.url, service.key("partner@example.com", "partner")) as taxon:
        partner = taxon.quota_status()
        assert isinstance(partner, PartnerStatus)
        assert partner.metered == "billing-rail"


def test_an_exhausted_pool_keeps_what_was_classified() -> None:
    with serve(TAXON_POOL_DEV="3") as service:
        with Taxon(service.url, service.key()) as taxon:
            swap = named("v2_swap_eth_in")["hash"]
            first = taxon.classify(swap)
            status = taxon.quota_status(swap)
            assert isinstance(status, PoolStatus)
            assert status.repeat and status.limit == 3

            # The first call fills the pool, the second is refused as a whole, the third holds a repeat.
            billable = [transaction["hash"] for transaction in EVM if transaction["hash"] != swap]
            unseen = [f"0x{number:064x}" for number in range(1, 101)]
            items: list[AnyItem] = [*(billable * 2)[:100], *({"hash": hash, "tx_id": hash[-4:]} for hash in unseen), swap]
            done: list[tuple[int, int]] = []
            rows = taxon.classify_all(items, on_progress=lambda *progress: done.append(progress))
            assert len(rows) == 201
            assert rows[200].error is None and rows[200].category == first.category
            assert {row.error for row in rows[100:200]} == {"quota_exceeded"}
            refused = rows[150]
            assert (refused.id, refused.hash, refused.taxable) == (unseen[50][-4:], unseen[50], None)
            assert refused.needs_review and refused.review_note and refused.engine == first.engine
            assert done[-1] == (201, 201)

            with pytest.raises(QuotaExceeded) as nothing:
                taxon.classify_all(unseen)
            assert nothing.value.status == 402
            with pytest.raises(QuotaExceeded):
                taxon.classify(unseen[0])


@pytest.mark.window
def test_250_hashes_at_two_calls_a_minute() -> None:
    with serve(TAXON_RATE_PER_MINUTE="2") as service:
        hashes = (HASHES * 3)[:250]
        progress: list[tuple[int, int]] = []
        started = time.monotonic()
        with Taxon(service.url, service.key()) as taxon:
            rows = taxon.classify_all(hashes, on_progress=lambda *done: progress.append(done))
        seconds = time.monotonic() - started
    assert [row.hash for row in rows] == hashes
    assert [row.error for row in rows] == [None] * 250
    assert progress == [(100, 250), (200, 250), (250, 250)]
    assert 55 < seconds < 90, f"three calls at two a minute took {seconds:.1f} s"
