"""The client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from . import errors
from ._batch import Asked, classify_all
from ._generated import (
    BatchResponse,
    CategoryList,
    CategoryRow,
    ChainList,
    ChainRow,
    Classification,
    PartnerStatus,
    PoolStatus,
    QuotaStatus,
)
from .requests import AnyItem, PolicyChoice
from .retry import Retry, retry_after_seconds

#: For connecting, and for each wait for the answer to go on. A batch of 100 on a slow node takes its time.
TIMEOUT_SECONDS = 120.0

VERSION = "0.1.0"

_T = TypeVar("_T")

_CLASSIFICATION = TypeAdapter(Classification)
_BATCH = TypeAdapter(BatchResponse)
_CHAINS = TypeAdapter(ChainList)
_CATEGORIES = TypeAdapter(CategoryList)
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
    ) -> _T:
        return self._retry.call(lambda: self._ask(method, path, expected, body, query))

    def _ask(
        self, method: str, path: str, expected: TypeAdapter[_T], body: dict[str, Any] | None, query: dict[str, str] | None
    ) -> _T:
        failure: errors.TaxonError
        try:
            response = self._http.request(method, path, json=body, params=query)
        except httpx.RequestError as error:
            failure = errors.Unreachable("unreachable", self._redacted(f"{type(error).__name__}: {error}"))
        else:
            if response.status_code != 200:
                failure = self._failure(response)
            else:
                try:
                    return expected.validate_json(response.content, strict=True)
                except ValidationError as error:
                    failure = self._bad_answer(response, error)
        # Raised out here so that it does not carry along an exception that holds the request, and with it the key.
        raise failure

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


def _several(values: Iterable[_T], name: str) -> Iterable[_T]:
    # A string is an iterable of strings too: no type checker sees the mistake.
    if isinstance(values, str):
        raise TypeError(f"{name} takes a list, not one string")
    return values


def _present(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
