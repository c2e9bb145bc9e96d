"""What may be asked, as types: dictionaries, since the service checks them better than a client could."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Required, TypedDict


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
