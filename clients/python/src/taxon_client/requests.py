"""What may be asked, as types: dictionaries, since the service checks them better than a client could."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol, Required, TypedDict, runtime_checkable


class Item(TypedDict, total=False):
    """One transaction of `classify_all`."""

    hash: Required[str]
    #: Comes back as the row's `id`.
    tx_id: str | None
    chain: str | None
    #: Whose side the transaction is read from.
    wallet: str | None


class PolicyChoice(TypedDict, total=False):
    """The house position on treatments that have two sides."""

    lp: Literal["disposal", "non_taxable"]
    wrap: Literal["non_taxable", "disposal"]
    lst: Literal["disposal", "non_taxable"]
    staking: Literal["income", "defer"]


#: A hash alone, or a dictionary as `Item` tells.
AnyItem = str | Item | Mapping[str, str | None]


@runtime_checkable
class Readable(Protocol):
    """A file that was opened with mode `rb`, or anything that reads like one."""

    def read(self, size: int, /) -> bytes | None: ...


#: The path of a file, its bytes, an open file, or its bytes in pieces.
Table = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable | Iterable[bytes]


class Price(TypedDict, total=False):
    """One price of one asset, for `journal`."""

    #: ISO 8601; it holds for transactions of less than 24 hours after it.
    time: Required[str]
    #: The symbol of a native coin, or a token's address; of an NFT its contract's address, a slash and its id.
    asset: Required[str]
    #: Three letters.
    currency: Required[str]
    #: Of one whole unit: a plain decimal as text.
    price: Required[str]
    #: Where the price is for one chain alone.
    chain: str | None
