"""What can go wrong: one class per thing that a caller does something about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._generated import Classification, JobStatus

__all__ = [
    "BadAnswer",
    "InvalidRequest",
    "JobError",
    "JobFailed",
    "JobUnfinished",
    "NotFound",
    "NotYetMined",
    "QuotaExceeded",
    "RateLimited",
    "ServiceFailed",
    "TaxonError",
    "Unauthorized",
    "Unreachable",
    "UpstreamFailed",
]


class TaxonError(Exception):
    """`code` is stable and for machines; `message` is for people and may change; `status` is None when nothing was answered."""

    #: Whether the same request may succeed a little later.
    is_transient = False

    def __init__(
        self,
        code: str,
        message: str,
        status: int | None = None,
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status
        #: What the service's log calls the request.
        self.request_id = request_id
        #: Seconds from the answer on, where it said so.
        self.retry_after = retry_after
        #: Whether the service surely did nothing with the request, so that not even a new job is made twice by asking again.
        self.is_untaken = status in (429, 503)
        #: Set by `classify_all`: what was answered before it failed, one place per input, None where nothing was.
        self.rows: Sequence[Classification | None] | None = None

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {self.message!r}, {self.status!r})"


class InvalidRequest(TaxonError):
    """400: `invalid_request` or `invalid_hash`. The same request fails again."""


class Unauthorized(TaxonError):
    """401: the key is missing, malformed or revoked."""


class QuotaExceeded(TaxonError):
    """402: the pool of the period is used up; `quota_status()` tells when it fills again."""


class NotFound(TaxonError):
    """404: the transaction, its chain or the wallet in it was not found, or no job or book of yours is called so."""


class NotYetMined(NotFound):
    """404 `tx_not_yet_mined`: ask again once it is in a block."""


class RateLimited(TaxonError):
    """429, and waiting as long as `retry_after` says would have taken longer than `Retry` allows."""

    is_transient = True


class UpstreamFailed(TaxonError):
    """502 (or a proxy's 504): a node behind the service failed. Nothing was classified or counted."""

    is_transient = True


class ServiceFailed(TaxonError):
    """500 and other 5xx: a fault inside the service, or its ledger is out of reach."""

    is_transient = True


class Unreachable(TaxonError):
    """No whole answer: no connection, a reset, a timeout."""

    is_transient = True


class BadAnswer(TaxonError):
    """An answer that is not of the interface, such as a proxy's page. It was asked for again only when it was no JSON at all."""


class JobError(TaxonError):
    """What `wait_for_job` raises, with the job as it was seen last."""

    def __init__(self, code: str, message: str, job: JobStatus) -> None:
        super().__init__(code, message)
        self.job = job


class JobFailed(JobError):
    """The job cannot go on; `job.reason` says why. What was read stays among its results."""

    def __init__(self, message: str, job: JobStatus) -> None:
        super().__init__("job_failed", message, job)


class JobUnfinished(JobError):
    """The time to wait is over, and the job is not; it goes on by itself."""

    def __init__(self, message: str, job: JobStatus) -> None:
        super().__init__("job_unfinished", message, job)
