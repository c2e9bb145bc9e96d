"""The client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from . import _jobs, errors
from ._batch import Asked, classify_all
from ._generated import (
    BatchResponse,
    BookList,
    BookName,
    CategoryList,
    CategoryRow,
    ChainList,
    ChainRow,
    Chart,
    Classification,
    JobList,
    JobStatus,
    JournalAnswer,
    JournalPrice,
    PartnerStatus,
    PoolStatus,
    QuotaStatus,
)
from .requests import AnyItem, PolicyChoice, Price, Table
from .retry import Retry, retry_after_seconds

#: For connecting, and for each wait for the answer to go on. A batch of 100 on a slow node takes its time.
TIMEOUT_SECONDS = 120.0

#: How long `wait_for_job` waits unless told otherwise.
JOB_SECONDS_MAX = 3600.0

VERSION = "0.1.0"

_T = TypeVar("_T")

_CLASSIFICATION = TypeAdapter(Classification)
_BATCH = TypeAdapter(BatchResponse)
_CHAINS = TypeAdapter(ChainList)
_CATEGORIES = TypeAdapter(CategoryList)
_JOB = TypeAdapter(JobStatus)
_JOBS = TypeAdapter(JobList)
_BOOKS = TypeAdapter(BookList)
_JOURNAL = TypeAdapter(JournalAnswer)
_QUOTA: TypeAdapter[PoolStatus | PartnerStatus] = TypeAdapter(QuotaStatus)


class Taxon:
    """A taxon service, with retries. One client may be used from several threads.

    The address and the key may come from the environment: `TAXON_URL` and `TAXON_KEY`. Without a key only `chains()`,
    `categories()` and the anonymous `quota_status()` are answered.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        retry: Retry = Retry(),
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        url = _checked_url(base_url or os.environ.get("TAXON_URL"))
        key = _checked_key((os.environ.get("TAXON_KEY") or None) if key is None else key)
        self._key = key
        self._retry = retry
        headers = {"user-agent": f"taxon-client-python/{VERSION}", "accept": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_seconds)

    def classify(
        self,
        hash: str,
        *,
        chain: str | None = None,
        policy: PolicyChoice | Mapping[str, str] | None = None,
        wallet: str | None = None,
        own_wallets: Iterable[str] | None = None,
        explain: bool = False,
    ) -> Classification:
        """One transaction."""
        body = _present(hash=hash, chain=chain, **_options(policy, wallet, own_wallets, explain))
        return self._call("POST", "v1/classify", _CLASSIFICATION, body=body)

    def classify_all(
        self,
        items: Iterable[AnyItem],
        *,
        chain: str | None = None,
        policy: PolicyChoice | Mapping[str, str] | None = None,
        wallet: str | None = None,
        own_wallets: Iterable[str] | None = None,
        explain: bool = False,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> list[Classification]:
        """Any number of transactions: one row for each, in the order given. `chain` is for items that name none.

        A row whose `error` is set was not classified. Items that failed for a passing reason were asked again before that. When
        the pool runs out, the items that it had no place for carry `quota_exceeded`; `QuotaExceeded` is raised when there was
        a place for none. Any other failure of a call is raised, with what was answered until then in its `rows`.

        `on_progress(done, total)` is called after each call to the service; items that will be asked again are not done.
        """
        asked = [_item(item, chain) for item in _several(items, "items")]
        options = _options(policy, wallet, own_wallets, explain)

        def call(cut: list[Asked]) -> list[Classification]:
            answer = self._call("POST", "v1/classify-batch", _BATCH, body={"hashes": cut, **options})
            if len(answer.results) != len(cut):
                message = f"{len(answer.results)} results for {len(cut)} items"
                raise errors.BadAnswer("bad_answer", message, 200)
            return answer.results

        return classify_all(asked, call, self._retry, on_progress) if asked else []

    def quota_status(self, hash: str | None = None) -> PoolStatus | PartnerStatus:
        """What is left in the pool; with a hash, whether running it again is free. It consumes nothing."""
        return self._call("GET", "quota-status", _QUOTA, query=None if hash is None else {"hash": hash})

    def chains(self) -> list[ChainRow]:
        """The chains that this instance serves."""
        return self._call("GET", "chains", _CHAINS).chains

    def categories(self) -> list[CategoryRow]:
        """Every category that this instance knows, with its treatment."""
        return self._call("GET", "categories", _CATEGORIES).categories

    def create_job(
        self,
        table: Table,
        *,
        book: str | None = None,
        name: str | None = None,
        column: str | None = None,
        chain: str | None = None,
        wallet: str | None = None,
        own_wallets: Iterable[str] | None = None,
        policy: PolicyChoice | Mapping[str, str] | None = None,
        start: bool = True,
    ) -> JobStatus:
        """A whole table, read while you do something else. A string is the path of a file, and `name` then is the file's.

        `column` holds the hashes; `chain` and `wallet` are for rows that name none. With `start=False` it stays `ready` until
        `start_job`, so that `table` of the answer can be looked at first.

        Sent again only where the service surely did not take it (429, 503, no connection), since each upload is a job; and never where
        `table` can be read only once.
        """
        upload = _jobs.upload(table)
        query = _present(
            book=book,
            name=upload.name if name is None else name,
            column=column,
            chain=chain,
            wallet=wallet,
            own_wallets=None if own_wallets is None else ",".join(_several(own_wallets, "own_wallets")),
            policy=None if policy is None else ",".join(f"{key}:{side}" for key, side in policy.items()),
            start=None if start else "false",
        )

        def send() -> JobStatus:
            with upload.open() as content:
                headers = {"content-type": "application/octet-stream"}
                return self._ask("POST", "v1/jobs", _JOB, content=content, headers=headers, params=query)

        retry = self._retry if upload.is_repeatable else replace(self._retry, tries_max=1)
        return retry.call(send, is_safe=False)

    def create_wallets_job(
        self,
        wallets: Iterable[str],
        *,
        chain: str | None = None,
        from_: date | str | None = None,
        to: date | str | None = None,
        book: str | None = None,
        name: str | None = None,
        own_wallets: Iterable[str] | None = None,
        policy: PolicyChoice | Mapping[str, str] | None = None,
        start: bool = True,
    ) -> JobStatus:
        """All that 1 to 100 wallets did, from one day to another, both counted in. Sent again as `create_job` is.

        The job is `listing` until all is found; with `start=False` it then is `ready`, and waits for `start_job`.
        """
        days = {"from": _jobs.day(from_), "to": _jobs.day(to)}
        body = _present(
            wallets=list(_several(wallets, "wallets")),
            chain=chain,
            book=book,
            name=name,
            start=None if start else False,
            **days,
            **_options(policy, None, own_wallets, False),
        )
        return self._call("POST", "v1/jobs/wallets", _JOB, body=body, is_safe=False)

    def job(self, id: str) -> JobStatus:
        """Where a job is."""
        return self._call("GET", _jobs.path_of(id), _JOB)

    def jobs(self) -> Iterator[JobStatus]:
        """All of the owner's jobs, the newest first; each page of 50 is asked for when it is reached."""
        query = None
        while True:
            page = self._call("GET", "v1/jobs", _JOBS, query=query)
            yield from page.jobs
            if page.next is None or not page.jobs:
                return
            query = {"before": page.next}

    def start_job(self, id: str) -> JobStatus:
        """Starts what is `ready`, or will be; another job stays as it is."""
        return self._call("POST", _jobs.path_of(id, "/start"), _JOB)

    def cancel_job(self, id: str) -> JobStatus:
        """Nothing more is read or counted; what was read stays. A job that has ended stays as it is."""
        return self._call("DELETE", _jobs.path_of(id), _JOB)

    def wait_for_job(
        self,
        id: str,
        *,
        timeout_seconds: float | None = JOB_SECONDS_MAX,
        on_progress: Callable[[JobStatus], object] | None = None,
    ) -> JobStatus:
        """Waits until the job is `finished` or `cancelled`, looking at it with growing pauses, and calling `on_progress` each time.

        A job that is `ready` comes back at once: it would wait for `start_job` for ever. `JobFailed` is raised when it has failed,
        `JobUnfinished` when the time is over; both have the `job`. No timeout is None: a job past the pool waits for the next period.
        """

        def look(left_seconds: float) -> JobStatus:
            retry = replace(self._retry, seconds_max=min(self._retry.seconds_max, left_seconds))
            return retry.call(lambda: self._ask("GET", _jobs.path_of(id), _JOB))

        return _jobs.wait(look, timeout_seconds, on_progress)

    def job_results(self, id: str, *, format: str = "csv") -> Iterator[bytes]:
        """What came of a job, as a file in pieces; of one that goes on, what was read so far.

        Asked for again only until the first piece. When it breaks off later, `Unreachable` is raised, and what came is not whole.
        """
        response = self._retry.call(lambda: self._opened(_jobs.path_of(id, "/results"), {"format": format}))
        with closing(response):
            yield from self._pieces(response)

    def save_job_results(self, id: str, path: str | os.PathLike[str], *, format: str = "csv") -> None:
        """The same into a file, asked for again when it breaks off. The file appears, or is replaced, only when it is whole."""
        self._retry.call(lambda: self._save(_jobs.path_of(id, "/results"), {"format": format}, Path(path)))

    def journal(
        self,
        results: Iterable[Classification | Mapping[str, Any]],
        *,
        prices: Iterable[Price | JournalPrice | Mapping[str, str | None]] | None = None,
        currency: str | None = None,
        chart: str | Chart | Mapping[str, Any] | None = None,
    ) -> JournalAnswer:
        """Journal lines of up to 100 results, by your prices and your chart of accounts (as TOML, or the same as a dictionary)."""
        body = _present(
            results=[_plain(result) for result in results],
            prices=None if prices is None else [_plain(price) for price in prices],
            currency=currency,
            chart=chart if chart is None or isinstance(chart, str) else _plain(chart),
        )
        return self._call("POST", "v1/journal", _JOURNAL, body=body)

    def books(self) -> list[BookName]:
        """The owner's books. The first is the one of jobs that name none."""
        return self._call("GET", "v1/books", _BOOKS).books

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Taxon({str(self._http.base_url)!r})"

    def _call(
        self,
        method: str,
        path: str,
        expected: TypeAdapter[_T],
        *,
        body: dict[str, Any] | None = None,
        query: dict[str, str] | None = None,
        is_safe: bool = True,
    ) -> _T:
        return self._retry.call(lambda: self._ask(method, path, expected, json=body, params=query), is_safe=is_safe)

    def _ask(self, method: str, path: str, expected: TypeAdapter[_T], **request: Any) -> _T:
        failure: errors.TaxonError
        try:
            response = self._http.request(method, path, **request)
        except httpx.RequestError as error:
            failure = self._unreachable(error)
        else:
            if response.status_code not in (200, 202):
                failure = self._failure(response)
            else:
                try:
                    return expected.validate_json(response.content, strict=True)
                except ValidationError as error:
                    failure = self._bad_answer(response, error)
        # Raised out here so that it does not carry along an exception that holds the request, and with it the key.
        raise failure

    def _opened(self, path: str, query: dict[str, str]) -> httpx.Response:
        """The head of an answer whose body is still to come; whoever has it closes it."""
        failure: errors.TaxonError
        request = self._http.build_request("GET", path, params=query, headers={"accept": "*/*"})
        try:
            response = self._http.send(request, stream=True)
            if response.status_code == 200:
                return response
            with closing(response):
                response.read()
        except httpx.RequestError as error:
            failure = self._unreachable(error)
        else:
            failure = self._failure(response)
        raise failure

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes()
            return
        except httpx.RequestError as error:
            failure = self._unreachable(error)
        raise failure

    def _save(self, path: str, query: dict[str, str], target: Path) -> None:
        part = target.with_name(f"{target.name}.part")
        with closing(self._opened(path, query)) as response:
            try:
                with part.open("wb") as file:
                    for piece in self._pieces(response):
                        file.write(piece)
                part.replace(target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def _unreachable(self, error: httpx.RequestError) -> errors.Unreachable:
        failure = errors.Unreachable("unreachable", self._redacted(f"{type(error).__name__}: {error}"))
        failure.is_untaken = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        return failure

    def _bad_answer(self, response: httpx.Response, error: ValidationError) -> errors.BadAnswer:
        # What stood there is left out: it may be long, and is not ours to print.
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        message = self._redacted(f"the answer is not as expected{place and f' at `{place}`'}: {first['msg']}")
        request_id = response.headers.get("x-request-id")
        bad = errors.BadAnswer("bad_answer", message, response.status_code, request_id=request_id)
        bad.is_transient = first["type"] == "json_invalid"
        return bad

    def _failure(self, response: httpx.Response) -> errors.TaxonError:
        code, message = _code_and_message(response)
        return _kind(response.status_code, code)(
            self._redacted(code),
            self._redacted(message),
            response.status_code,
            request_id=response.headers.get("x-request-id"),
            retry_after=retry_after_seconds(response.headers),
        )

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _checked_url(text: str | None) -> httpx.URL:
    if not text:
        raise ValueError("the address of the service is needed: as base_url, or in TAXON_URL")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("base_url is http:// or https://, a host and perhaps a path; no user, password or query")
    return url


def _checked_key(key: str | None) -> str | None:
    # Checked here because a library that refuses such a header prints it.
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise ValueError("the key is empty, or holds a character that cannot be sent; is there a line break in it?")
    return key


def _code_and_message(response: httpx.Response) -> tuple[str, str]:
    """Of the envelope, or of the plain string that `/quota-status` sends, or of neither."""
    status = response.status_code
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        return error, error.replace("_", " ")
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        return error["code"], str(error.get("message", ""))
    return f"http_{status}", f"status {status} without an error of the service: something in between may have answered"


def _kind(status: int, code: str) -> type[errors.TaxonError]:
    if code == "tx_not_yet_mined":
        return errors.NotYetMined
    if status in (502, 504):
        return errors.UpstreamFailed
    if status >= 500:
        return errors.ServiceFailed
    return {
        400: errors.InvalidRequest,
        401: errors.Unauthorized,
        402: errors.QuotaExceeded,
        404: errors.NotFound,
        429: errors.RateLimited,
    }.get(status, errors.TaxonError)


def _item(item: AnyItem, chain: str | None) -> Asked:
    asked: dict[str, object] = {"hash": item} if isinstance(item, str) else dict(item)
    if chain is not None and asked.get("chain") is None:
        asked["chain"] = chain
    return asked


def _options(
    policy: PolicyChoice | Mapping[str, str] | None,
    wallet: str | None,
    own_wallets: Iterable[str] | None,
    explain: bool,
) -> dict[str, Any]:
    return _present(
        policy=None if policy is None else dict(policy),
        wallet=wallet,
        own_wallets=None if own_wallets is None else list(_several(own_wallets, "own_wallets")),
        explain=explain or None,
    )


def _plain(value: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    # What was absent stays absent: null is not always the same.
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else dict(value)


def _several(values: Iterable[_T], name: str) -> Iterable[_T]:
    # A string is an iterable of strings too: no type checker sees the mistake.
    if isinstance(values, str):
        raise TypeError(f"{name} takes a list, not one string")
    return values


def _present(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
