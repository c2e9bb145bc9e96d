# Generated from docs/openapi.json by ./generate. Do not edit.

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType


class AccountName(BaseModel):
    """
    The wallet's own account.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    account: Annotated[str, Field(max_length=256)]
    """
    Parts between colons; `{wallet}`, `{chain}`, `{protocol}` and `{category}` stand for those of the posting.
    """
    code: Annotated[str | None, Field(max_length=64)] = None
    """
    For ledgers that number their accounts.
    """


Billing = TypeAliasType("Billing", Literal["billable", "free"] | str)
"""
Whether a classification of this category is counted against the pool. Rows that need review always are.
"""


class BlockTime(BaseModel):
    """
    The block that the transaction stands in.
    """

    finalized: bool
    """
    Whether the chain calls the block final.
    """
    number: Annotated[int, Field(ge=0)]
    """
    Block number; the slot on Solana.
    """
    timestamp: AwareDatetime
    """
    RFC 3339, UTC.
    """


class BookName(BaseModel):
    """
    A book of the caller.
    """

    id: str
    """
    For `book` of `POST /v1/jobs`.
    """
    name: str
    """
    As its owner called it.
    """


Category = TypeAliasType("Category", Annotated[str, Field(examples=["swap"])])
"""
Canonical transaction type. The vocabulary is open and only grows: branch on `treatment`, and take a category that you do not know as it comes. Known to this version: `swap`, `transfer`, `self_transfer`, `cex_deposit`, `cex_withdrawal`, `nft_transfer`, `income_receipt`, `fee_payment`, `payment`, `borrow`, `repay`, `collateral_supply`, `collateral_withdraw`, `vault_deposit`, `vault_withdraw`, `liquidity_add`, `liquidity_remove`, `wrap`, `unwrap`, `liquid_staking_mint`, `liquid_staking_redeem`, `staking_deposit`, `staking_withdraw`, `reward`, `interest`, `mining_reward`, `mev_reward`, `staking_rebase`, `airdrop`, `bridge_out`, `bridge_in`, `bridge_swap`, `nft_purchase`, `nft_sale`, `nft_mint`, `order_place`, `order_cancel`, `margin_deposit`, `margin_withdraw`, `redemption_request`, `token_migration`, `liquidation`, `flash_loan`, `token_sale`, `governance`, `delegation`, `vote_lock`, `refund`, `donation`, `gift`, `vesting_claim`, `perp_open`, `perp_close`, `funding`, `bet`, `raffle`, `option`, `nft_loan`, `token_burn`, `loss`, `account_open`, `account_close`, `approval`, `revoke`, `nft_listing`, `contract_call`, `contract_deploy`, `failed_transaction`, `spam`, `unclassified`. `GET /categories` tells what each means.
"""


class ChainCorrected(BaseModel):
    """
    The transaction was found on another chain than the one that was asked for.
    """

    detected: str
    """
    Slug of the chain that has it.
    """
    requested: str
    """
    Slug of the chain that was asked for.
    """


class ErrorBody(BaseModel):
    """
    Which error, for machines and for people.
    """

    code: str
    """
    Stable.
    """
    message: str
    """
    For people; it may change.
    """


class ErrorEnvelope(BaseModel):
    """
    What every error comes in.
    """

    error: ErrorBody


EvidenceSource = TypeAliasType("EvidenceSource", Literal["protocol", "call", "shape", "labels", "none"] | str)
"""
Who says it. Sources are independent, none reads another's opinion: `protocol` is a rule pack over verified contracts, events or
instructions, `call` what was asked for, `shape` what the net movements alone suggest, `labels` a third party's word where an operator
configured one.
"""


Family = TypeAliasType("Family", Literal["evm", "solana"] | str)
"""
Chains of one family are read in one way.
"""


GreyCondition = TypeAliasType("GreyCondition", Literal["other_party_unknown", "payee_by_shape", "repaid_asset_differs", "not_claimed_by_wallet", "another_token_arrives", "one_family", "free", "lock_receipt", "both_ways", "only_sent", "only_received", "something_sent"] | str)
"""
When a grey area is shown, or a row holds something else.
"""


JobState = TypeAliasType("JobState", Literal["listing", "ready", "open", "waiting", "finished", "cancelled", "failed"] | str)
"""
Where a job stands.
"""


class JobStatus(BaseModel):
    """
    One job: where it stands, and how its table was understood or what was found.
    """

    book: str | None
    """
    The book that it belongs to.
    """
    created_at: str
    """
    When it was brought.
    """
    ended_at: str | None
    """
    When it was finished, cancelled or failed.
    """
    failed: int
    """
    Rows that could not be read. Among the results in JSON Lines they carry `error`.
    """
    id: str
    """
    Under which it is asked for.
    """
    kept_until: str
    """
    When the job and its results are deleted.
    """
    name: str
    """
    As its owner called it.
    """
    needs_review: int
    """
    Rows that were read and are for review.
    """
    read: int
    """
    Rows that were read.
    """
    reason: str | None
    """
    Why it waits or failed, or is looked up again.
    """
    rows: int
    """
    Transactions that it asks for; while they are looked up, those that were found so far.
    """
    rows_per_second: float | None
    """
    Of the last minute, or of the whole job when it has ended.
    """
    seconds_left: int | None
    """
    At that rate; null when it has ended or nothing was read in the last minute.
    """
    started_at: str | None
    """
    When its first row was asked for.
    """
    state: JobState
    table: dict[str, Any]
    """
    How the table was understood: its columns, and rows that were repeated, empty or refused, with row and column. Of wallets how much was found of each,
    what the sources do not list (`unseen`), and which chains were not looked at (`unlisted`); empty until all is found.
    """


class JournalPrice(BaseModel):
    """
    One price of one asset.
    """

    asset: str
    """
    The symbol of a native coin, or a token's address; an NFT is its contract's address, a slash and its id. A token's symbol is nobody's: it never names
    one.
    """
    chain: str | None = None
    """
    Slug of the chain, where the price is for one chain alone. It goes before a price for all.
    """
    currency: str
    """
    Three letters, as in ISO 4217.
    """
    price: Annotated[str, Field(pattern="^[0-9]{1,30}(\\.[0-9]{1,30})?$")]
    """
    Of one whole unit: a plain decimal in a string.
    """
    time: str
    """
    ISO 8601. Without an offset it is UTC; a bare date is its midnight. The price holds for transactions of less than 24 hours after it.
    """


LedgerAction = TypeAliasType("LedgerAction", Literal["dispose_and_acquire", "recognize_income", "carry_basis", "move", "lock", "unlock", "pledge_collateral", "release_collateral", "open_liability", "close_liability", "expense_fee", "write_off", "no_entry", "ignore", "review"] | str)
"""
What to do with it in a ledger.
"""


LegAction = TypeAliasType("LegAction", Literal["transferred", "received", "minted", "burned", "paid_gas"] | str)
"""
What happened on a leg.
"""


NeededLegs = TypeAliasType("NeededLegs", Literal["both", "out", "in", "some", "any"] | str)
"""
The legs without which a category is not asserted.
"""


NftKind = TypeAliasType("NftKind", Literal["erc721", "erc1155", "erc6909", "cryptopunk", "spl_nft", "compressed_nft"] | str)
"""
What kind of NFT; present on NFT legs only.
"""


class Policy(BaseModel):
    """
    The caller's position on four two-sided treatments. Every key is optional; unknown keys and values are ignored and never an error. The position not taken goes to `grey_area.alternate`. A policy never overrides `needs_review`.
    """

    lp: Annotated[Any | None, Field(examples=["disposal", "non_taxable"])] = None
    """
    Entry and exit of liquidity pools: `disposal` (the house default) or `non_taxable`. Anything else is ignored.
    """
    lst: Annotated[Any | None, Field(examples=["disposal", "non_taxable"])] = None
    """
    Minting and redeeming of liquid-staking tokens: `disposal` (the house default) or `non_taxable`. Anything else is ignored.
    """
    staking: Annotated[Any | None, Field(examples=["income", "defer"])] = None
    """
    Timing of rebase rewards only: `income` (the house default) or `defer`. Anything else is ignored.
    """
    wrap: Annotated[Any | None, Field(examples=["non_taxable", "disposal"])] = None
    """
    Wrapping and unwrapping of the same underlying: `non_taxable` (the house default) or `disposal`. Anything else is ignored.
    """


PolicyKey = TypeAliasType("PolicyKey", Literal["lp", "wrap", "lst", "staking"] | str)
"""
The caller's switch that governs a category, where one does.
"""


PostingEntry = TypeAliasType("PostingEntry", Literal["dispose", "acquire", "income", "expense", "carry_out", "carry_in", "move_out", "move_in", "lock", "unlock", "borrow", "repay", "mirror", "ignore", "open"] | str)
"""
How a part of a leg is booked. A closed set.
"""


PostingSide = TypeAliasType("PostingSide", Literal["sent", "received", "gas"] | str)
"""
What a posting is a part of.
"""


QuotaKind = TypeAliasType("QuotaKind", Literal["anon", "dev", "partner"] | str)
"""
Which quota identity answered. `dev` is every pooled key, whatever its tier.
"""


QuotaResets = TypeAliasType("QuotaResets", Literal["daily", "monthly"] | str)
"""
How long a pool lasts: a UTC calendar day or month.
"""


class QuotaUnavailable(BaseModel):
    """
    The one body that is not the envelope.
    """

    error: Annotated[str, Field(pattern="^quota_status_unavailable$")]
    """
    Always `quota_status_unavailable`.
    """


StepRole = TypeAliasType("StepRole", Literal["principal", "fee", "interest", "reward", "refund", "flash_borrow", "flash_repay", "bridge_out", "bridge_in", "item"] | str)
"""
The part that a claim plays in a transaction of several steps.
"""


Treatment = TypeAliasType("Treatment", Literal["disposal", "income", "non_taxable", "expense", "needs_review"])
"""
What the event is for tax. A closed set: it gains no value within v1. `needs_review` is what cannot be mapped to the others.
"""


TxHash = TypeAliasType(
    "TxHash",
    Annotated[
        str,
        Field(
            examples=["0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109"],
            pattern="^(0x[0-9a-fA-F]{64}|[2-5][1-9A-HJ-NP-Za-km-z]{87}|6[1-6][1-9A-HJ-NP-Za-km-z]{86}|67[1-9A-HJ-NP-Za-km-q][1-9A-HJ-NP-Za-km-z]{85}|[3-9A-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{86}|2[B-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{85}|2A[GHJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{84}|1([2-9A-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{85}|2[1-9][1-9A-HJ-NP-Za-km-z]{85}|2A[1-9A-E][1-9A-HJ-NP-Za-km-z]{84}|[HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{84}|G[F-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{83}))$",
        ),
    ],
)
"""
EVM: `0x` and 64 hex digits of any case. Solana: a base58 signature that decodes to exactly 64 bytes. Nothing is trimmed. Signatures that begin with several zero bytes are taken too, though the pattern leaves them out.
"""


Wallet = TypeAliasType(
    "Wallet",
    Annotated[
        str,
        Field(
            pattern="^(0x[0-9a-fA-F]{40}|[2-9A-H][1-9A-HJ-NP-Za-km-z]{43}|J[1-9A-D][1-9A-HJ-NP-Za-km-z]{42}|JE[1-9A-HJ][1-9A-HJ-NP-Za-km-z]{41}|[5-9A-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{42}|4[v-z][1-9A-HJ-NP-Za-km-z]{41}|4u[R-Za-km-z][1-9A-HJ-NP-Za-km-z]{40}|1([2-9A-HJ-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{41}|[23][1-9A-HJ-NP-Za-km-z]{42}|4[1-9A-HJ-NP-Za-km-t][1-9A-HJ-NP-Za-km-z]{41}|[u-z][1-9A-HJ-NP-Za-km-z]{40}|t[K-NP-Za-km-z][1-9A-HJ-NP-Za-km-z]{39}))$"
        ),
    ],
)
"""
An EVM address, `0x` and 40 hex digits, or a Solana address in base58. Solana addresses that begin with several zero bytes are taken too, though the pattern leaves them out.
"""


class WalletsJob(BaseModel):
    """
    Wallets whose transactions are looked up. Unknown fields are ignored; null is absent.
    """

    book: str | None = None
    """
    The book that it belongs to, whose wallets and policy it is read with: an `id` of `GET /v1/books`. The first when absent.
    """
    chain: str | None = None
    """
    Where to look. Every served chain that lists accounts when absent.
    """
    from_: Annotated[str | None, Field(alias="from", examples=["2024-01-01"])] = None
    """
    The first day, in UTC.
    """
    name: str | None = None
    """
    What to call it.
    """
    own_wallets: Annotated[list[Wallet] | None, Field(max_length=1000)] = None
    """
    Further addresses of the same person, which are not looked up.
    """
    policy: Policy | None = None
    start: bool | None = None
    """
    `false` keeps it `ready` until `POST /v1/jobs/{id}/start`, so that what was found can be looked at before anything is counted.
    """
    to: Annotated[str | None, Field(examples=["2024-12-31"])] = None
    """
    The last day, itself counted in.
    """
    wallets: Annotated[list[Wallet], Field(max_length=100, min_length=1)]
    """
    Each transaction is read as its wallet saw it. Moves between the wallets, and those of the book, are `self_transfer`.
    """


class AccountRow(BaseModel):
    """
    What a row leaves out fits anything.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    account: Annotated[str, Field(max_length=256)]
    """
    As with the wallet's account.
    """
    asset: list[str] | None = None
    """
    The token's address, or the symbol of the native coin.
    """
    category: list[Category] | None = None
    code: Annotated[str | None, Field(max_length=64)] = None
    """
    For ledgers that number their accounts.
    """
    entry: list[PostingEntry] | None = None
    protocol: list[str] | None = None
    """
    Display names of protocols.
    """
    wallet: list[str] | None = None
    """
    Addresses whose view the result is.
    """


class Alternate(BaseModel):
    """
    A defensible position that was not taken.
    """

    label: str | None
    """
    The position in a few words.
    """
    taxable: bool | None
    """
    As on the result: null is undetermined.
    """
    treatment: Treatment | None


class AssetLeg(BaseModel):
    """
    One asset that moved. An asset is a contract or mint, plus the token id for an NFT.
    """

    action: LegAction
    amount: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)?$")]
    """
    Exact decimal: no exponent, no trailing zeros, no rounding, any size. Do not read it as a float. Without known decimals it is the raw
    integer; on NFT legs it is the token count.
    """
    decimals: Annotated[int | None, Field(ge=0)]
    """
    Decimals that `amount` was written with; null when unknown.
    """
    display_symbol: str | None = None
    """
    For display only, present with `symbol_collision`.
    """
    from_: Annotated[str | None, Field(alias="from")] = None
    """
    Sender, on received legs.
    """
    inferred: bool | None = None
    """
    True when the amount was inferred and not read from a log or trace. Such a result is always `needs_review`. Absent otherwise.
    """
    inferred_basis: str | None = None
    """
    How it was inferred, as `balance_delta`; present with `inferred`.
    """
    symbol: str
    """
    Exactly as the contract reports it, cut at 256 bytes; `UNKNOWN` when it reports none. A stranger wrote it: escape it.
    """
    symbol_collision: bool | None = None
    """
    True when the symbol is that of a canonical token on the same chain at another address. Absent otherwise.
    """
    to: str | None = None
    """
    Recipient, on sent legs.
    """
    token_address: str | None = None
    """
    Contract in lower-case hex, or Solana mint in base58. Absent on the native coin.
    """
    token_id: str | None = None
    """
    NFT legs only.
    """
    token_name: str | None = None
    """
    The token's own name, where it is known. A stranger wrote it: escape it.
    """
    token_type: NftKind | None = None


class Assets(BaseModel):
    """
    What moved, net per asset for the perspective: what went out and came back cancels, and a net of zero is no leg.
    """

    gas: AssetLeg | None
    received: list[AssetLeg]
    sent: list[AssetLeg]


class BatchItem(BaseModel):
    """
    One transaction of a batch.
    """

    chain: str | None = None
    """
    As on the single call; a chain that is not served makes this one item fail with `unsupported_chain`.
    """
    hash: TxHash
    tx_id: str | None = None
    """
    Comes back as `id`. Strongly recommended.
    """
    wallet: Wallet | None = None


class BatchRequest(BaseModel):
    """
    1 to 100 transactions. Unknown fields are ignored; null is absent.
    """

    explain: bool | None = None
    """
    Adds `evidence` to each result: what each source said, and where on chain.
    """
    hashes: Annotated[list[BatchItem], Field(max_length=100, min_length=1)]
    own_wallets: Annotated[list[Wallet] | None, Field(max_length=1000)] = None
    """
    Moves between these addresses are `self_transfer`.
    """
    policy: Policy | None = None
    wallet: Wallet | None = None


class BookList(BaseModel):
    """
    The caller's own books.
    """

    books: list[BookName]
    """
    The first is the one that jobs belong to which name none.
    """


class ChainRow(BaseModel):
    """
    One chain that is served.
    """

    chain_id: Annotated[int | None, Field(ge=0)]
    """
    Null where the family has none.
    """
    explorer: str | None
    """
    Where a person can look at a transaction.
    """
    family: Family
    name: str
    native_decimals: Annotated[int, Field(ge=0)]
    native_symbol: str
    slug: str
    """
    What `chain` takes and results carry. Common aliases and decimal chain ids are taken too.
    """


class Chart(BaseModel):
    """
    A chart of accounts: the first row that fits a posting names the account on its other side. `accounts.toml` has the one that is taken when there is none.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    account: Annotated[list[AccountRow], Field(max_length=1000)]
    tax_rate: str | None = None
    """
    For Xero, which wants one on every line: the name of a rate without tax, as the organisation has it. `Tax Exempt` when absent.
    """
    wallet: AccountName


ChartForm = TypeAliasType("ChartForm", str | Chart)
"""
As TOML, in the form of `accounts.toml`, or the same as JSON.
"""


class Evidence(BaseModel):
    """
    What one source said of the transaction.
    """

    agrees: bool
    """
    Whether it agrees with the verdict.
    """
    instruction_index: Annotated[int | None, Field(ge=0)]
    """
    Where on Solana it was seen.
    """
    log_index: Annotated[int | None, Field(ge=0)]
    """
    Where on an EVM chain it was seen.
    """
    rule: str
    """
    The rule that spoke: pack and signature, or the shape's name.
    """
    says: Category
    source: EvidenceSource


class GreyArea(BaseModel):
    """
    More than one treatment is defensible. `treatment` and `taxable` of the result are the position taken.
    """

    alternate: Alternate | None
    note: str | None
    """
    What the positions rest on.
    """


class GreySide(BaseModel):
    """
    The position not taken.
    """

    label: str
    """
    The position in a few words.
    """
    treatment: Treatment


class JobList(BaseModel):
    """
    The caller's jobs, the newest first.
    """

    jobs: list[JobStatus]
    """
    At most 50.
    """
    next: str | None
    """
    Give it as `before` for the next page; null on the last.
    """


class JournalLine(BaseModel):
    """
    One side of a posting. The two sides of each cancel, so that the quantities of a result add up to zero for each asset.
    """

    account: str
    """
    Name of the account, by the chart.
    """
    account_code: str | None = None
    """
    Code of the account, where the chart has one.
    """
    category: Category
    chain: str | None
    """
    Slug of the chain.
    """
    currency: str | None = None
    """
    Of `value` and `price`.
    """
    entry: PostingEntry
    hash: str | None
    """
    Hash of the transaction.
    """
    needs_review: bool
    """
    True when a person must look at the whole result before it is booked.
    """
    price: Annotated[str | None, Field(pattern="^[0-9]+(\\.[0-9]+)?$")] = None
    """
    Of one whole unit, as it was given.
    """
    price_time: str | None = None
    """
    The time of the price, which is at or before the transaction's: RFC 3339, UTC.
    """
    quantity: Annotated[str, Field(pattern="^-?[0-9]+(\\.[0-9]+)?$")]
    """
    Exact decimal; negative where it leaves the account.
    """
    step: Annotated[int | None, Field(ge=0)]
    """
    `leg_index` of the step that the posting belongs to; null where the result has no steps, and for gas.
    """
    symbol: str
    """
    A stranger's word, except on the native coin: escape it.
    """
    time: str | None = None
    """
    When the transaction happened: RFC 3339, UTC.
    """
    token_address: str | None = None
    """
    Absent on the native coin.
    """
    token_id: str | None = None
    """
    NFTs only.
    """
    unpriced: bool | None = None
    """
    True where a price is missing. Absent otherwise, and on debt tokens and spam, which have no value of their own.
    """
    value: Annotated[str | None, Field(pattern="^-?[0-9]+(\\.[0-9]+)?$")] = None
    """
    Quantity times price, exactly; with its sign. Absent where no price was given that fits.
    """
    wallet: str | None = None
    """
    The address whose view the result is.
    """


class Parent(BaseModel):
    """
    The whole of a transaction of several steps. Further fields may come.
    """

    category: Category
    description: str
    treatment: Treatment


class PartnerStatus(BaseModel):
    """
    A partner key is never refused for quota.
    """

    exceeded: bool
    """
    Always false.
    """
    kind: QuotaKind
    metered: Annotated[str, Field(pattern="^billing-rail$")]
    """
    Always `billing-rail`.
    """
    repeat: bool
    """
    With `hash` only: true when that hash was counted in this period.
    """


class PoolStatus(BaseModel):
    """
    A pool of billable classifications.
    """

    exceeded: bool
    """
    True when the pool is exhausted. Repeats are still served.
    """
    kind: QuotaKind
    limit: Annotated[int, Field(ge=0)]
    """
    Size of the pool.
    """
    remaining: Annotated[int | None, Field(ge=0)]
    """
    `limit` minus `used`, at least 0. Null when the hash that was asked for is a repeat.
    """
    repeat: bool
    """
    With `hash` only: true when that hash was counted in this period, so that asking again is free.
    """
    resets: QuotaResets
    used: Annotated[int | None, Field(ge=0)]
    """
    Distinct billable classifications of this period. Null when the hash that was asked for is a repeat.
    """


class Posting(BaseModel):
    """
    How one part of one leg is booked.
    """

    amount: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)?$")]
    """
    Exact decimal, as on the leg.
    """
    category: Category
    entry: PostingEntry
    index: Annotated[int, Field(ge=0)]
    """
    The leg: its place in `assets.sent` or `assets.received`; 0 for gas.
    """
    side: PostingSide
    step: Annotated[int | None, Field(ge=0)]
    """
    `leg_index` of the step that it belongs to; null where the result has no steps, and for gas.
    """
    taxable: bool | None
    """
    As on the result: null is undetermined.
    """
    treatment: Treatment


QuotaStatus = TypeAliasType("QuotaStatus", PoolStatus | PartnerStatus)
"""
What is left: of a pool, or, for partner keys, that a billing rail counts.
"""


class SingleRequest(BaseModel):
    """
    One transaction. Unknown fields are ignored; null is absent.
    """

    chain: str | None = None
    """
    Slug of the chain, a common alias, or a decimal chain id. Found out when absent. When the transaction is on another served chain
    instead, the answer says so in `chain_corrected`.
    """
    explain: bool | None = None
    """
    Adds `evidence`: what each source said, and where on chain.
    """
    hash: TxHash
    own_wallets: Annotated[list[Wallet] | None, Field(max_length=1000)] = None
    """
    Moves between these addresses are `self_transfer`.
    """
    policy: Policy | None = None
    wallet: Wallet | None = None


class Step(BaseModel):
    """
    One step of a transaction that has several. Further fields may come.
    """

    assets: Assets
    category: Category
    description: str
    ledger_action: LedgerAction
    leg_index: Annotated[int, Field(ge=0)]
    """
    From 0, in chain order.
    """
    protocol: str | None
    role: StepRole
    taxable: bool | None
    """
    As on the result: null is undetermined.
    """
    treatment: Treatment


class ChainList(BaseModel):
    """
    The chains that this instance has an upstream for, sorted by slug.
    """

    chains: list[ChainRow]


class Classification(BaseModel):
    """
    How one transaction was read for tax. Informational only, not tax advice.
    """

    api_version: Annotated[str, Field(pattern="^v1$")]
    """
    Always `v1`.
    """
    assets: Assets
    block: BlockTime | None = None
    """
    When it happened.
    """
    category: Category
    chain: str | None
    """
    Slug of the chain that served the result; null when none did.
    """
    chain_corrected: ChainCorrected | None = None
    """
    Present when the transaction was not on the chain that was asked for but on another.
    """
    confidence: Annotated[int, Field(ge=0, le=100)]
    """
    A signal for routing that tells how far the sources agree, not a percentage of accuracy. 95 and above: all sources agree, or a
    verified rule with evidence on chain. 80 to 94: most agree. 60 to 79: one source, nothing against it. Below 60: always
    `needs_review`.
    """
    description: str | None
    """
    The reasoning in plain words.
    """
    engine: str
    """
    Version of the engine and digest of its rules. The same chain data and the same `engine` give the same bytes.
    """
    error: str | None = None
    """
    Batch results only: why this one item was not classified. An item with `error` must not be booked. The codes are those of
    `ErrorEnvelope` and `unsupported_chain`.
    """
    evidence: list[Evidence] | None = None
    """
    With `explain: true` only: what each source said, and where on chain it saw it.
    """
    grey_area: GreyArea | None
    hash: str | None
    """
    The hash that was classified; an EVM hash in lower case.
    """
    id: str | None = None
    """
    Batch results only: the item's `tx_id`. Absent when the item had none.
    """
    ledger_action: LedgerAction | None
    legs: list[Step] | None = None
    """
    Transactions of several steps only: the steps in chain order.
    """
    memo: str | None = None
    """
    Transactions of several steps only: the postings as a journal in plain words.
    """
    needs_review: bool
    """
    True when a person must look. Then `taxable` is null, `review_note` says why, and `treatment` is at most a pointer.
    """
    parent: Parent | None = None
    """
    Transactions of several steps only: the whole in one line.
    """
    parties: Annotated[list[str] | None, Field(max_length=16)] = None
    """
    Reviews only, where nothing moved for `perspective` and the request named no `wallet`: accounts for which something moved, at most 16. Ask again
    with the one that is yours.
    """
    perspective: str | None = None
    """
    The address whose view of the transaction this is.
    """
    postings: list[Posting] | None = None
    """
    How every unit of every leg is booked. Absent on items with `error`. The amounts of a leg's postings add up to the leg, to the last digit.
    """
    protocol: str | None
    """
    Display name of the protocol, where it was identified.
    """
    review_note: str | None
    """
    Why a person must look. Set exactly when `needs_review` is true.
    """
    taxable: bool | None
    """
    True: a taxable event. False: a positive finding that it is not. Null: undetermined, always with `needs_review`; it must never be
    read as false.
    """
    treatment: Treatment


class GreyRow(BaseModel):
    """
    The other defensible side of a category.
    """

    alternate: GreySide
    note: str
    """
    What the positions rest on.
    """
    when: GreyCondition | None


class JournalAnswer(BaseModel):
    """
    Lines of a journal. Informational only, not tax advice.
    """

    api_version: Annotated[str, Field(pattern="^v1$")]
    """
    Always `v1`.
    """
    lines: list[JournalLine]
    """
    Two for each posting, in the order of the results.
    """
    skipped: Annotated[int, Field(ge=0)]
    """
    Results with `error`, which have no lines.
    """
    unpriced: Annotated[int, Field(ge=0)]
    """
    Lines for which a price is missing.
    """


class JournalRequest(BaseModel):
    """
    Results, and what to make lines of them by. Unknown fields are ignored; null is absent.
    """

    chart: ChartForm | None = None
    currency: str | None = None
    """
    The currency, where `prices` are in several.
    """
    prices: Annotated[list[JournalPrice] | None, Field(max_length=10000)] = None
    """
    Where there is none, lines have quantities and no values.
    """
    results: Annotated[list[Classification], Field(max_length=100, min_length=1)]
    """
    As `/v1/classify` or `/v1/classify-batch` answered them, or as you corrected them. Together at most 1,000 postings. One with `error` is not booked, and is
    counted in `skipped`.
    """


class BatchResponse(BaseModel):
    """
    One result per item, in input order.
    """

    api_version: Annotated[str, Field(pattern="^v1$")]
    """
    Always `v1`.
    """
    count: Annotated[int, Field(ge=0)]
    """
    The number of results.
    """
    results: list[Classification]


class CategoryRow(BaseModel):
    """
    One category, with what the house makes of it.
    """

    about: str
    """
    What it is, in plain words.
    """
    authorities: list[str]
    """
    The authorities that the basis and the grey area cite.
    """
    basis: str
    """
    What the treatment rests on.
    """
    billing: Billing
    category: Category
    grey_area: GreyRow | None
    ledger_action: LedgerAction
    needs_legs: NeededLegs
    policy: PolicyKey | None
    taxable: bool | None
    """
    As on a result: null is undetermined.
    """
    treatment: Treatment


class CategoryList(BaseModel):
    """
    Every category that this version knows.
    """

    categories: list[CategoryRow]
    notice: str
    """
    That this is not tax advice.
    """
