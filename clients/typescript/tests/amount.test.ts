import assert from "node:assert/strict";
import { test } from "node:test";
import { Amount } from "taxon-client";

test("smallest units", () => {
  assert.equal(Amount.of({ amount: "2386.455211", decimals: 6 }).units, 2_386_455_211n);
  assert.equal(Amount.of({ amount: "0.8", decimals: 18 }).units, 8n * 10n ** 17n);
  assert.equal(Amount.of({ amount: "7", decimals: null }).units, 7n);
  assert.equal(Amount.of({ amount: "3", decimals: 0 }).units, 3n);
});

test("no digit is lost", () => {
  const largest = 2n ** 256n - 1n;
  const text = `${largest.toString().slice(0, -18)}.${largest.toString().slice(-18)}`;
  const amount = Amount.of({ amount: text, decimals: 18 });
  assert.equal(amount.units, largest);
  assert.equal(amount.toString(), text);
  assert.equal(amount.plus(new Amount(1n, 18)).units, largest + 1n);
  const smallest = `0.${"0".repeat(254)}1`;
  assert.equal(Amount.parse(smallest).toString(), smallest);
});

test("text there and back", () => {
  for (const text of ["0", "1", "10", "0.1", "-0.5", "120.000001"]) assert.equal(Amount.parse(text).toString(), text);
  assert.equal(JSON.stringify({ amount: Amount.parse("1.500") }), '{"amount":"1.5"}');
  for (const text of ["", ".", "1.", ".5", "1e3", "NaN", "+1", "1,5", " 1", "1\n", "٣"]) {
    assert.throws(() => Amount.parse(text), RangeError);
  }
});

test("sums and order", () => {
  assert.equal(Amount.parse("0.1").plus(Amount.parse("0.2")).toString(), "0.3");
  assert.equal(Amount.parse("0.5").minus(Amount.parse("2")).toString(), "-1.5");
  assert.equal(new Amount(10n, 1).compare(new Amount(1n, 0)), 0);
  const sorted = ["10", "9.99", "-1", "0.000000000000000001", "0"].map((text) => Amount.parse(text));
  sorted.sort((a, b) => a.compare(b));
  assert.deepEqual(sorted.map(String), ["-1", "0", "0.000000000000000001", "9.99", "10"]);
});
