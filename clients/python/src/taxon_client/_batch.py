"""Any number of items through calls of 100."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ._generated import Classification
from .errors import QuotaExceeded, TaxonError
from .retry import Retry, sleep

CALL_ITEMS_MAX = 100

Asked = Mapping[str, object]


def classify_all(
    asked: Sequence[Asked],
    call: Callable[[list[Asked]], list[Classification]],
    retry: Retry,
    on_progress: Callable[[int, int], object] | None,
) -> list[Classification]:
    run = _Run(asked, call, on_progress)
    try:
        run.ask(range(len(asked)))
    except TaxonError as error:
        error.rows = run.rows
        raise
    for round_number in range(1, retry.item_rounds_max + 1):
        again = [index for index, row in enumerate(run.rows) if row is not None and is_transient(row)]
        if not again:
            break
        sleep(retry.item_pause_seconds + retry.jitter_seconds(round_number))
        try:
            run.ask(again)
        except TaxonError:
            # Every item has an answer by now, and it stands.
            break
    return run.finish()


def is_transient(row: Classification) -> bool:
    error = row.error or ""
    return error.startswith("upstream_") or error in ("tx_not_retrievable", "internal_error")


class _Run:
    def __init__(
        self,
        asked: Sequence[Asked],
        call: Callable[[list[Asked]], list[Classification]],
        on_progress: Callable[[int, int], object] | None,
    ) -> None:
        self.rows: list[Classification | None] = [None] * len(asked)
        self._asked = asked
        self._call = call
        self._on_progress = on_progress
        self._done = 0
        #: The items of calls that were refused with 402, each with what was said.
        self._refused: dict[int, QuotaExceeded] = {}

    def ask(self, indexes: Sequence[int]) -> None:
        for cut in _cuts(indexes):
            self._done += self._ask(cut)
            if self._on_progress:
                self._on_progress(self._done, len(self.rows))

    def _ask(self, cut: Sequence[int]) -> int:
        """One call. How many of its items are done: not to be asked again."""
        try:
            answers = self._call([self._asked[index] for index in cut])
        except QuotaExceeded as error:
            # Later items may be repeats, which are served from an empty pool too: the run goes on.
            for index in cut:
                self.rows[index] = None
                self._refused[index] = error
            return len(cut)
        except TaxonError as error:
            error.message = _of_the_input(error.message, cut)
            raise
        for index, row in zip(cut, answers, strict=True):
            self.rows[index] = row
        return sum(not is_transient(row) for row in answers)

    def finish(self) -> list[Classification]:
        served = next((row for row in self.rows if row is not None), None)
        rows = []
        for index, row in enumerate(self.rows):
            if row is None:
                error = self._refused[index]
                if served is None:
                    raise error
                row = _refused_row(self._asked[index], error, served)
            rows.append(row)
        if self._on_progress and self._done < len(rows):
            self._on_progress(len(rows), len(rows))
        return rows


def _cuts(indexes: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(indexes), CALL_ITEMS_MAX):
        yield indexes[start : start + CALL_ITEMS_MAX]


def _of_the_input(message: str, cut: Sequence[int]) -> str:
    """The service counts within the call; the caller knows only its own list."""

    def renumber(match: re.Match[str]) -> str:
        index = int(match[1])
        return f"hashes[{cut[index]}]" if index < len(cut) else match[0]

    return re.sub(r"\bhashes\[([0-9]{1,9})\]", renumber, message)


def _refused_row(asked: Asked, error: QuotaExceeded, served: Classification) -> Classification:
    """As the service itself answers for an item that the pool had no place for."""
    tx_id, given = asked.get("tx_id"), asked["hash"]
    return Classification.model_validate(
        {
            "api_version": served.api_version,
            "engine": served.engine,
            **({} if tx_id is None else {"id": tx_id}),
            "error": "quota_exceeded",
            "hash": given.lower() if isinstance(given, str) and given.startswith("0x") else given,
            "chain": None,
            "category": "unclassified",
            "treatment": "needs_review",
            "taxable": None,
            "confidence": 0,
            "needs_review": True,
            "ledger_action": "review",
            "protocol": None,
            "description": None,
            "review_note": error.message,
            "grey_area": None,
            "assets": {"sent": [], "received": [], "gas": None},
        }
    )
