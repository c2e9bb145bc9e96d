import type { AssetLeg } from "./generated.js";

/**
 * `units` of 10 to the power of minus `decimals`, as a chain counts: exact at any size, never a float. A leg's `amount` stays the text
 * that the service sent.
 */
export class Amount {
  readonly units: bigint;
  readonly decimals: number;

  constructor(units: bigint, decimals: number) {
    this.units = units;
    this.decimals = decimals;
  }

  static parse(text: string): Amount {
    const [, sign, whole, fraction = ""] = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(text) ?? [];
    if (whole === undefined) throw new RangeError(`not a decimal amount: ${JSON.stringify(text)}`);
    const units = BigInt(whole + fraction);
    return new Amount(sign ? -units : units, fraction.length);
  }

  /** In the token's smallest units. Where its decimals are unknown, `amount` already counts them. */
  static of(leg: Pick<AssetLeg, "amount" | "decimals">): Amount {
    const parsed = Amount.parse(leg.amount);
    return parsed.#scaled(Math.max(leg.decimals ?? 0, parsed.decimals));
  }

  plus(other: Amount): Amount {
    const decimals = Math.max(this.decimals, other.decimals);
    return new Amount(this.#scaled(decimals).units + other.#scaled(decimals).units, decimals);
  }

  minus(other: Amount): Amount {
    return this.plus(new Amount(-other.units, other.decimals));
  }

  /** Below, at or above 0, as sorting wants it. */
  compare(other: Amount): number {
    const difference = this.minus(other).units;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  /** As the service writes amounts: no exponent, no zeros at the end. */
  toString(): string {
    const sign = this.units < 0n ? "-" : "";
    const digits = (this.units < 0n ? -this.units : this.units).toString().padStart(this.decimals + 1, "0");
    const split = digits.length - this.decimals;
    const fraction = digits.slice(split).replace(/0+$/, "");
    return sign + digits.slice(0, split) + (fraction && `.${fraction}`);
  }

  toJSON(): string {
    return this.toString();
  }

  #scaled(decimals: number): Amount {
    return new Amount(this.units * 10n ** BigInt(decimals - this.decimals), decimals);
  }
}
