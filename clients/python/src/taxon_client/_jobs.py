"""Jobs: the table that is sent, and the wait for the end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from ._generated import JobStatus
from .errors import JobFailed, JobUnfinished
from .requests import Readable, Table
from .retry import sleep

CHUNK_BYTES = 64 * 1024

PAUSE_SECONDS_FIRST = 0.5
PAUSE_SECONDS_MAX = 15.0
PAUSE_GROWTH = 1.5

_ENDED = ("finished", "cancelled", "failed")


@dataclass(frozen=True)
class Upload:
    """A table as a body."""

    open: Callable[[], AbstractContextManager[bytes | Iterable[bytes]]]
    #: Whether it can be opened a second time.
    is_repeatable: bool
    #: Of the file, where there is one.
    name: str | None = None


def upload(table: Table) -> Upload:
    if isinstance(table, (str, os.PathLike)):
        path = Path(table)
        return Upload(lambda: path.open("rb"), True, path.name)
    if isinstance(table, (bytes, bytearray, memoryview)):
        whole = bytes(table)
        return Upload(lambda: nullcontext(whole), True)
    if isinstance(table, Readable):
        return _upload_of_file(table)
    return Upload(lambda: nullcontext(_checked(table)), False)


def _upload_of_file(file: Readable) -> Upload:
    seek = getattr(file, "seek", None) if getattr(file, "seekable", bool)() else None
    if seek is None:
        return Upload(lambda: nullcontext(_chunks(file)), False)
    start = getattr(file, "tell")()

    def rewound() -> AbstractContextManager[Iterable[bytes]]:
        seek(start)
        return nullcontext(_chunks(file))

    return Upload(rewound, True)


def _chunks(file: Readable) -> Iterator[bytes]:
    # Not the file itself: httpx would announce the whole file's length, wherever it is read from.
    return _checked(iter(lambda: file.read(CHUNK_BYTES) or b"", b""))


def _checked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            raise TypeError("a table is sent as bytes: open its file with mode 'rb'")
        # An empty chunk would end the body.
        if len(chunk) > 0:
            yield bytes(chunk)


def path_of(id: str, tail: str = "") -> str:
    # Anything else could name another path of the service.
    if not id or not id.isascii() or not id.replace("_", "").replace("-", "").isalnum():
        raise ValueError("the id of a job is letters, digits, `_` and `-`")
    return f"v1/jobs/{id}{tail}"


def day(value: date | str | None) -> str | None:
    if isinstance(value, datetime):
        raise TypeError("a day is needed, not a time: whose day it is, only you know")
    return value.isoformat() if isinstance(value, date) else value


def wait(
    look: Callable[[float], JobStatus], timeout_seconds: float | None, on_progress: Callable[[JobStatus], object] | None
) -> JobStatus:
    """`look` is given how many seconds are left."""
    end = math.inf if timeout_seconds is None else time.monotonic() + timeout_seconds
    pause = PAUSE_SECONDS_FIRST
    while True:
        job = look(max(0.0, end - time.monotonic()))
        if on_progress:
            on_progress(job)
        if job.state == "failed":
            raise JobFailed(f"{job.id} failed: {job.reason or 'no reason was given'}", job)
        # By the time too: a state that this client does not know may be an end.
        if job.state == "ready" or job.state in _ENDED or job.ended_at is not None:
            return job
        left = end - time.monotonic()
        if left <= 0:
            why = f" ({job.reason})" if job.reason else ""
            raise JobUnfinished(f"{job.id} is still {job.state}{why} after {timeout_seconds:g} s; it goes on", job)
        sleep(min(pause, left))
        pause = min(pause * PAUSE_GROWTH, PAUSE_SECONDS_MAX)
