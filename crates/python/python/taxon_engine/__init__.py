"""Reads blockchain transactions for tax: facts in, verdicts out.

The pure engine of taxon. It asks no node and no service: what it knows of a transaction is in the row of facts that it is given
(the schema is in taxon's docs/facts.md). Verdicts are informational only and are not tax advice.

    >>> import taxon_engine
    >>> verdict = taxon_engine.classify(row, {"wallet": "0x..."})
    >>> verdict["category"], verdict["taxable"]
    ('swap', True)
"""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from ._native import DISCLAIMER, SCHEMA_VERSION, Engine as _Engine, FactsError, __version__

__all__ = [
    "DISCLAIMER",
    "SCHEMA_VERSION",
    "Engine",
    "FactsError",
    "__version__",
    "classify",
    "classify_json",
    "classify_many",
    "classify_many_json",
]

Facts = Union[Mapping[str, Any], str]
Question = Optional[Mapping[str, Any]]


class Engine:
    """Rules, treatments and chains. The functions of the module use one that is made when it is first wanted.

    chains: further chains, as text in the format of chains.toml.
    rules: further rule packs, as text by name.
    """

    def __init__(self, chains: str | None = None, rules: Mapping[str, str] | None = None) -> None:
        self._engine = _Engine(chains, dict(rules) if rules else None)

    @property
    def version(self) -> str:
        """Version of the engine and digest of its rules. The same facts and the same version give the same bytes."""
        return self._engine.version

    def classify(self, facts: Facts, question: Question = None) -> dict[str, Any]:
        """The verdict on one row of facts.

        facts: a mapping with the columns of the schema, or such an object as JSON text. What is JSON in a column may be text or
            be nested as it is.
        question: `wallet`, `own_wallets`, `policy` and `explain`, as over REST; each may be left out. A row's own `wallet`
            counts before the question's.

        Raises FactsError, whose `args` are a code and the reason, where the facts are wrong or the wallet is no part of them.
        """
        return json.loads(self.classify_json(facts, question))

    def classify_json(self, facts: Facts, question: Question = None) -> str:
        """The same as JSON text, byte for byte as `taxon read` writes it."""
        return self._engine.classify_json(_text(facts), _asked(question))

    def classify_many(
        self, facts: Iterable[Facts], question: Question = None, threads: int | None = None
    ) -> list[dict[str, Any]]:
        """Verdicts on many rows, in their order, on all processors (or so many threads) and without the interpreter's lock.

        Nothing is raised for a row: one without a verdict has `error`, and its `review_note` says why.
        """
        return [json.loads(verdict) for verdict in self.classify_many_json(facts, question, threads)]

    def classify_many_json(
        self, facts: Iterable[Facts], question: Question = None, threads: int | None = None
    ) -> list[str]:
        """The same as JSON texts."""
        return self._engine.classify_many_json([_text(row) for row in facts], _asked(question), threads)


_default: Engine | None = None
_making = threading.Lock()


def _engine() -> Engine:
    global _default
    with _making:
        if _default is None:
            _default = Engine()
        return _default


def classify(facts: Facts, question: Question = None) -> dict[str, Any]:
    return _engine().classify(facts, question)


def classify_json(facts: Facts, question: Question = None) -> str:
    return _engine().classify_json(facts, question)


def classify_many(facts: Iterable[Facts], question: Question = None, threads: int | None = None) -> list[dict[str, Any]]:
    return _engine().classify_many(facts, question, threads)


def classify_many_json(facts: Iterable[Facts], question: Question = None, threads: int | None = None) -> list[str]:
    return _engine().classify_many_json(facts, question, threads)


for _name in ("classify", "classify_json", "classify_many", "classify_many_json"):
    globals()[_name].__doc__ = getattr(Engine, _name).__doc__


def _text(facts: Facts) -> str:
    return facts if isinstance(facts, str) else json.dumps(facts, default=_plain)


def _asked(question: Question) -> str | None:
    return None if question is None else json.dumps(question)


def _plain(value: Any) -> Any:
    """What tables hold beside JSON: times, which are UTC where they do not say, and mappings of their own kinds."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return aware.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"facts hold a {type(value).__name__}, which is no JSON")
