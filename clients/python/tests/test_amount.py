from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from taxon_client import Amount, AssetLeg, Item, PolicyChoice
from taxon_client import _generated as generated


def leg(amount: str, decimals: int | None) -> AssetLeg:
    return AssetLeg(symbol="X", amount=amount, action="received", decimals=decimals)


def test_smallest_units() -> None:
    assert Amount.of(leg("2386.455211", 6)).units == 2_386_455_211
    assert Amount.of(leg("0.8", 18)).units == 8 * 10**17
    assert Amount.of(leg("7", None)) == Amount(7, 0)
    assert Amount.of(leg("3", 0)).units == 3


def test_no_digit_is_lost_where_decimal_would_round() -> None:
    largest = f"{2**256 - 1}"
    whole, fraction = largest[:-18], largest[-18:]
    amount = Amount.of(leg(f"{whole}.{fraction}", 18))
    assert amount.units == 2**256 - 1
    assert str(amount) == f"{whole}.{fraction}"
    assert (amount + Amount(1, 18)).units == 2**256
    assert amount.to_decimal() + 1 - 1 != amount.to_decimal()
    assert str(Amount.parse("0." + "0" * 254 + "1")) == "0." + "0" * 254 + "1"


def test_text_there_and_back() -> None:
    for text in ("0", "1", "10", "0.1", "-0.5", "120.000001"):
        assert str(Amount.parse(text)) == text
    assert str(Amount.parse("1.500")) == "1.5"
    for text in ("", ".", "1.", ".5", "1e3", "NaN", "+1", "1,5", " 1", "٣"):
        with pytest.raises(ValueError):
            Amount.parse(text)


def test_sums_and_order_are_those_of_fractions() -> None:
    draw = random.Random(1)
    for _ in range(500):
        a, b = (Amount(draw.randrange(-(10**30), 10**30), draw.randrange(0, 40)) for _ in range(2))
        fa, fb = (Fraction(x.units, 10**x.decimals) for x in (a, b))
        assert Fraction(str(a + b)) == fa + fb
        assert Fraction(str(a - b)) == fa - fb
        assert (a < b, a == b, a >= b) == (fa < fb, fa == fb, fa >= fb)
    assert Amount(10, 1) == Amount(1, 0) and hash(Amount(10, 1)) == hash(Amount(1, 0))
    assert Amount(5, 1).to_decimal() == Decimal("0.5")
    assert sum([Amount.parse("0.1")] * 3, Amount(0, 0)) == Amount.parse("0.3")


def test_what_may_be_asked_is_what_the_document_says() -> None:
    assert set(Item.__annotations__) == set(generated.BatchItem.model_fields)
    assert set(PolicyChoice.__annotations__) == set(generated.Policy.model_fields)
