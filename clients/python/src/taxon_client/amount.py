"""Amounts without rounding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import total_ordering

from ._generated import AssetLeg


@total_ordering
@dataclass(frozen=True, eq=False)
class Amount:
    """`units` of 10 to the power of minus `decimals`, as a chain counts. Sums and differences are exact at any size.

    A leg's `amount` stays the text that the service sent. `Decimal` would hold it, but rounds sums to 28 digits unless its
    context is changed, and a token amount may have 78 and more.
    """

    units: int
    decimals: int

    @classmethod
    def parse(cls, text: str) -> Amount:
        if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
            raise ValueError(f"not a decimal amount: {text!r}")
        whole, _, fraction = text.partition(".")
        return cls(int(whole + fraction), len(fraction))

    @classmethod
    def of(cls, leg: AssetLeg) -> Amount:
        """In the token's smallest units. Where its decimals are unknown, `amount` already counts them."""
        parsed = cls.parse(leg.amount)
        return parsed._scaled(max(leg.decimals or 0, parsed.decimals))

    def __add__(self, other: Amount) -> Amount:
        decimals = max(self.decimals, other.decimals)
        return Amount(self._scaled(decimals).units + other._scaled(decimals).units, decimals)

    def __neg__(self) -> Amount:
        return Amount(-self.units, self.decimals)

    def __sub__(self, other: Amount) -> Amount:
        return self + -other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self._value == other._value

    def __lt__(self, other: Amount) -> bool:
        return self._value < other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        """As the service writes amounts: no exponent, no zeros at the end."""
        digits = str(abs(self.units)).rjust(self.decimals + 1, "0")
        split = len(digits) - self.decimals
        fraction = digits[split:].rstrip("0")
        return ("-" if self.units < 0 else "") + digits[:split] + ("." + fraction if fraction else "")

    def to_decimal(self) -> Decimal:
        """Exact; what is then done with it is rounded as the decimal context says."""
        return Decimal(str(self))

    @property
    def _value(self) -> Fraction:
        return Fraction(self.units, 10**self.decimals)

    def _scaled(self, decimals: int) -> Amount:
        return Amount(self.units * 10 ** (decimals - self.decimals), decimals)
