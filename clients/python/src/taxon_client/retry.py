"""When a call is made again, and after how long."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from .errors import TaxonError

TRIES_MAX = 6
SECONDS_MAX = 300.0
PAUSE_SECONDS_FIRST = 0.5
PAUSE_SECONDS_MAX = 30.0
ITEM_ROUNDS_MAX = 3
#: The service tries a failed node again within 2 s; asking sooner gets the same answer.
ITEM_PAUSE_SECONDS = 2.0

_T = TypeVar("_T")

# `time.sleep` refuses numbers past what the platform's clock holds.
_SLEEP_SECONDS_MAX = 3600.0


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Limits of trying again. The first four are for one HTTP call, the last two for items of `classify_all`."""

    tries_max: int = TRIES_MAX
    #: No further try begins when it would begin later than this after the first.
    seconds_max: float = SECONDS_MAX
    #: Pauses are drawn evenly between 0 and a bound that starts here, doubles, and ends at `pause_seconds_max`.
    pause_seconds_first: float = PAUSE_SECONDS_FIRST
    pause_seconds_max: float = PAUSE_SECONDS_MAX
    #: How often items that failed for a passing reason are asked again, after the rest is done.
    item_rounds_max: int = ITEM_ROUNDS_MAX
    item_pause_seconds: float = ITEM_PAUSE_SECONDS

    def pause_seconds(self, error: TaxonError, tries: int, elapsed_seconds: float) -> float | None:
        """How long to wait after the given number of tries; None when it is over."""
        if not error.is_transient or tries >= self.tries_max:
            return None
        pause = (error.retry_after or 0) + self.jitter_seconds(tries)
        return pause if elapsed_seconds + pause <= self.seconds_max else None

    def jitter_seconds(self, tries: int) -> float:
        # A large exponent would overflow a float long after the bound is reached.
        bound = min(self.pause_seconds_max, self.pause_seconds_first * 2 ** min(tries - 1, 32))
        return random.uniform(0, bound)

    def call(self, ask: Callable[[], _T], *, is_safe: bool = True) -> _T:
        """What is not safe to do twice is asked again only where the service surely did nothing."""
        started = time.monotonic()
        tries = 0
        while True:
            try:
                return ask()
            except TaxonError as error:
                tries += 1
                pause = self.pause_seconds(error, tries, time.monotonic() - started)
                if pause is None or not (is_safe or error.is_untaken):
                    raise
            sleep(pause)


def sleep(seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLEEP_SECONDS_MAX))


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The header as seconds from now; None when it is absent or says nothing that can be read."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return float(text)
    until = _date(text)
    if until is None:
        return None
    # The answer's own date, where it has one: two machines' clocks may disagree.
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
