/** Generated from docs/openapi.json by `npm run generate`. Do not edit. */

export interface paths {
    "/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every category
         * @description With its treatment, ledger action, price, basis and the other defensible side.
         */
        get: operations["categories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The chains that this instance serves
         * @description What is served, not what is known: only chains with an upstream.
         */
        get: operations["chains"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process lives */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/quota-status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is left in the caller's pool
         * @description Free, and consumes nothing. With a key: its owner's pool of the month. Without: the address's pool of the day. Limited like the classify
         *     calls, per key or per address.
         */
        get: operations["quota_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The ledger answers and takes writes */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/books": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The caller's books
         * @description Their settings are in the dashboard. What others share with the caller is not listed, since jobs belong to books of one's own.
         */
        get: operations["list_books"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/classify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Classify one transaction
         * @description A well-formed hash without a verdict is a 404, a node that fails a 502: neither is ever answered as a classification.
         */
        post: operations["classify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/classify-batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Classify up to 100 transactions
         * @description Counts as one request of the rate limit. An item that could not be classified stays in its place with `error`, and the call is a 200. One
         *     malformed hash refuses the whole call, and the message names its index.
         */
        post: operations["classify_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The caller's jobs */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Have a whole table classified
         * @description The body is a CSV, JSON Lines or Parquet file of up to 256 MiB and 1,000,000 rows, with a column of hashes or links; what the content type says
         *     does not matter. Rows are counted like items of a batch. A table that cannot be understood is a 400 that says where.
         */
        post: operations["create_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/wallets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have all that wallets did classified
         * @description On Solana the node lists it, on EVM chains an explorer; a 400 says where neither does. Looking up takes as long as the source is slow: the job is
         *     `listing` meanwhile, and `table` says what was found and what the sources cannot show. Then it is a job like any other.
         */
        post: operations["create_wallets_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where a job stands */
        get: operations["job_status"];
        put?: never;
        post?: never;
        /**
         * Cancel a job
         * @description Nothing more is looked up, read or counted; what was read stays. Cancelling again, or a job that has ended, changes nothing.
         */
        delete: operations["cancel_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What came of a job, as a file
         * @description Oldest transaction first; of a job that is not finished, what was read so far. Rows that failed are in `jsonl` only, with their `error`.
         */
        get: operations["job_results"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a job that waits for it
         * @description One whose wallets are still looked up starts when all is found. Starting again, or a job that has ended, changes nothing.
         */
        post: operations["start_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/journal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Journal lines for results that you have
         * @description By a chart of accounts and your prices. Counts as one request of the rate limit and is free of quota: nothing is classified. Each posting is two lines that
         *     cancel, so quantities balance for each asset. Values come from your prices alone; where none fits, the line has no value and says so.
         */
        post: operations["journal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The wallet's own account. */
        AccountName: {
            /** @description Parts between colons; `{wallet}`, `{chain}`, `{protocol}` and `{category}` stand for those of the posting. */
            account: string;
            /** @description For ledgers that number their accounts. */
            code?: string | null;
        };
        /** @description What a row leaves out fits anything. */
        AccountRow: {
            /** @description As with the wallet's account. */
            account: string;
            /** @description The token's address, or the symbol of the native coin. */
            asset?: string[];
            category?: components["schemas"]["Category"][];
            /** @description For ledgers that number their accounts. */
            code?: string | null;
            entry?: components["schemas"]["PostingEntry"][];
            /** @description Display names of protocols. */
            protocol?: string[];
            /** @description Addresses whose view the result is. */
            wallet?: string[];
        };
        /** @description A defensible position that was not taken. */
        Alternate: {
            /** @description The position in a few words. */
            label: string | null;
            /** @description As on the result: null is undetermined. */
            taxable: boolean | null;
            treatment: components["schemas"]["Treatment"] | null;
        };
        /** @description One asset that moved. An asset is a contract or mint, plus the token id for an NFT. */
        AssetLeg: {
            action: components["schemas"]["LegAction"];
            /**
             * @description Exact decimal: no exponent, no trailing zeros, no rounding, any size. Do not read it as a float. Without known decimals it is the raw
             *     integer; on NFT legs it is the token count.
             */
            amount: string;
            /**
             * Format: int32
             * @description Decimals that `amount` was written with; null when unknown.
             */
            decimals: number | null;
            /** @description For display only, present with `symbol_collision`. */
            display_symbol?: string;
            /** @description Sender, on received legs. */
            from?: string;
            /** @description True when the amount was inferred and not read from a log or trace. Such a result is always `needs_review`. Absent otherwise. */
            inferred?: boolean;
            /** @description How it was inferred, as `balance_delta`; present with `inferred`. */
            inferred_basis?: string;
            /** @description Exactly as the contract reports it, cut at 256 bytes; `UNKNOWN` when it reports none. A stranger wrote it: escape it. */
            symbol: string;
            /** @description True when the symbol is that of a canonical token on the same chain at another address. Absent otherwise. */
            symbol_collision?: boolean;
            /** @description Recipient, on sent legs. */
            to?: string;
            /** @description Contract in lower-case hex, or Solana mint in base58. Absent on the native coin. */
            token_address?: string;
            /** @description NFT legs only. */
            token_id?: string;
            /** @description The token's own name, where it is known. A stranger wrote it: escape it. */
            token_name?: string;
            token_type?: components["schemas"]["NftKind"];
        };
        /** @description What moved, net per asset for the perspective: what went out and came back cancels, and a net of zero is no leg. */
        Assets: {
            gas: components["schemas"]["AssetLeg"] | null;
            received: components["schemas"]["AssetLeg"][];
            sent: components["schemas"]["AssetLeg"][];
        };
        /** @description One transaction of a batch. */
        BatchItem: {
            /** @description As on the single call; a chain that is not served makes this one item fail with `unsupported_chain`. */
            chain?: string | null;
            hash: components["schemas"]["TxHash"];
            /** @description Comes back as `id`. Strongly recommended. */
            tx_id?: string | null;
            wallet?: components["schemas"]["Wallet"] | null;
        };
        /** @description 1 to 100 transactions. Unknown fields are ignored; null is absent. */
        BatchRequest: {
            /** @description Adds `evidence` to each result: what each source said, and where on chain. */
            explain?: boolean | null;
            hashes: components["schemas"]["BatchItem"][];
            /** @description Moves between these addresses are `self_transfer`. */
            own_wallets?: components["schemas"]["Wallet"][] | null;
            policy?: components["schemas"]["Policy"] | null;
            wallet?: components["schemas"]["Wallet"] | null;
        };
        /** @description One result per item, in input order. */
        BatchResponse: {
            /** @description Always `v1`. */
            api_version: string;
            /** @description The number of results. */
            count: number;
            results: components["schemas"]["Classification"][];
        };
        /** @description Whether a classification of this category is counted against the pool. Rows that need review always are. */
        Billing: ("billable" | "free") | string;
        /** @description The block that the transaction stands in. */
        BlockTime: {
            /** @description Whether the chain calls the block final. */
            finalized: boolean;
            /**
             * Format: int64
             * @description Block number; the slot on Solana.
             */
            number: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC.
             */
            timestamp: string;
        };
        /** @description The caller's own books. */
        BookList: {
            /** @description The first is the one that jobs belong to which name none. */
            books: components["schemas"]["BookName"][];
        };
        /** @description A book of the caller. */
        BookName: {
            /** @description For `book` of `POST /v1/jobs`. */
            id: string;
            /** @description As its owner called it. */
            name: string;
        };
        /**
         * @description Canonical transaction type. The vocabulary is open and only grows: branch on `treatment`, and take a category that you do not know as it comes. Known to this version: `swap`, `transfer`, `self_transfer`, `cex_deposit`, `cex_withdrawal`, `nft_transfer`, `income_receipt`, `fee_payment`, `payment`, `borrow`, `repay`, `collateral_supply`, `collateral_withdraw`, `vault_deposit`, `vault_withdraw`, `liquidity_add`, `liquidity_remove`, `wrap`, `unwrap`, `liquid_staking_mint`, `liquid_staking_redeem`, `staking_deposit`, `staking_withdraw`, `reward`, `interest`, `mining_reward`, `mev_reward`, `staking_rebase`, `airdrop`, `bridge_out`, `bridge_in`, `bridge_swap`, `nft_purchase`, `nft_sale`, `nft_mint`, `order_place`, `order_cancel`, `margin_deposit`, `margin_withdraw`, `redemption_request`, `token_migration`, `liquidation`, `flash_loan`, `token_sale`, `governance`, `delegation`, `vote_lock`, `refund`, `donation`, `gift`, `vesting_claim`, `perp_open`, `perp_close`, `funding`, `bet`, `raffle`, `option`, `nft_loan`, `token_burn`, `loss`, `account_open`, `account_close`, `approval`, `revoke`, `nft_listing`, `contract_call`, `contract_deploy`, `failed_transaction`, `spam`, `unclassified`. `GET /categories` tells what each means.
         * @example swap
         */
        Category: string;
        /** @description Every category that this version knows. */
        CategoryList: {
            categories: components["schemas"]["CategoryRow"][];
            /** @description That this is not tax advice. */
            notice: string;
        };
        /** @description One category, with what the house makes of it. */
        CategoryRow: {
            /** @description What it is, in plain words. */
            about: string;
            /** @description The authorities that the basis and the grey area cite. */
            authorities: string[];
            /** @description What the treatment rests on. */
            basis: string;
            billing: components["schemas"]["Billing"];
            category: components["schemas"]["Category"];
            grey_area: components["schemas"]["GreyRow"] | null;
            ledger_action: components["schemas"]["LedgerAction"];
            needs_legs: components["schemas"]["NeededLegs"];
            policy: components["schemas"]["PolicyKey"] | null;
            /** @description As on a result: null is undetermined. */
            taxable: boolean | null;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description The transaction was found on another chain than the one that was asked for. */
        ChainCorrected: {
            /** @description Slug of the chain that has it. */
            detected: string;
            /** @description Slug of the chain that was asked for. */
            requested: string;
        };
        /** @description The chains that this instance has an upstream for, sorted by slug. */
        ChainList: {
            chains: components["schemas"]["ChainRow"][];
        };
        /** @description One chain that is served. */
        ChainRow: {
            /**
             * Format: int64
             * @description Null where the family has none.
             */
            chain_id: number | null;
            /** @description Where a person can look at a transaction. */
            explorer: string | null;
            family: components["schemas"]["Family"];
            name: string;
            /** Format: int32 */
            native_decimals: number;
            native_symbol: string;
            /** @description What `chain` takes and results carry. Common aliases and decimal chain ids are taken too. */
            slug: string;
        };
        /** @description A chart of accounts: the first row that fits a posting names the account on its other side. `accounts.toml` has the one that is taken when there is none. */
        Chart: {
            account: components["schemas"]["AccountRow"][];
            /** @description For Xero, which wants one on every line: the name of a rate without tax, as the organisation has it. `Tax Exempt` when absent. */
            tax_rate?: string | null;
            wallet: components["schemas"]["AccountName"];
        };
        /** @description As TOML, in the form of `accounts.toml`, or the same as JSON. */
        ChartForm: string | components["schemas"]["Chart"];
        /** @description How one transaction was read for tax. Informational only, not tax advice. */
        Classification: {
            /** @description Always `v1`. */
            api_version: string;
            assets: components["schemas"]["Assets"];
            /** @description When it happened. */
            block?: components["schemas"]["BlockTime"];
            category: components["schemas"]["Category"];
            /** @description Slug of the chain that served the result; null when none did. */
            chain: string | null;
            /** @description Present when the transaction was not on the chain that was asked for but on another. */
            chain_corrected?: components["schemas"]["ChainCorrected"];
            /**
             * Format: int32
             * @description A signal for routing that tells how far the sources agree, not a percentage of accuracy. 95 and above: all sources agree, or a
             *     verified rule with evidence on chain. 80 to 94: most agree. 60 to 79: one source, nothing against it. Below 60: always
             *     `needs_review`.
             */
            confidence: number;
            /** @description The reasoning in plain words. */
            description: string | null;
            /** @description Version of the engine and digest of its rules. The same chain data and the same `engine` give the same bytes. */
            engine: string;
            /**
             * @description Batch results only: why this one item was not classified. An item with `error` must not be booked. The codes are those of
             *     `ErrorEnvelope` and `unsupported_chain`.
             */
            error?: string;
            /** @description With `explain: true` only: what each source said, and where on chain it saw it. */
            evidence?: components["schemas"]["Evidence"][];
            grey_area: components["schemas"]["GreyArea"] | null;
            /** @description The hash that was classified; an EVM hash in lower case. */
            hash: string | null;
            /** @description Batch results only: the item's `tx_id`. Absent when the item had none. */
            id?: string;
            ledger_action: components["schemas"]["LedgerAction"] | null;
            /** @description Transactions of several steps only: the steps in chain order. */
            legs?: components["schemas"]["Step"][];
            /** @description Transactions of several steps only: the postings as a journal in plain words. */
            memo?: string;
            /** @description True when a person must look. Then `taxable` is null, `review_note` says why, and `treatment` is at most a pointer. */
            needs_review: boolean;
            /** @description Transactions of several steps only: the whole in one line. */
            parent?: components["schemas"]["Parent"];
            /**
             * @description Reviews only, where nothing moved for `perspective` and the request named no `wallet`: accounts for which something moved, at most 16. Ask again
             *     with the one that is yours.
             */
            parties?: string[];
            /** @description The address whose view of the transaction this is. */
            perspective?: string;
            /** @description How every unit of every leg is booked. Absent on items with `error`. The amounts of a leg's postings add up to the leg, to the last digit. */
            postings?: components["schemas"]["Posting"][];
            /** @description Display name of the protocol, where it was identified. */
            protocol: string | null;
            /** @description Why a person must look. Set exactly when `needs_review` is true. */
            review_note: string | null;
            /**
             * @description True: a taxable event. False: a positive finding that it is not. Null: undetermined, always with `needs_review`; it must never be
             *     read as false.
             */
            taxable: boolean | null;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description Which error, for machines and for people. */
        ErrorBody: {
            /** @description Stable. */
            code: string;
            /** @description For people; it may change. */
            message: string;
        };
        /** @description What every error comes in. */
        ErrorEnvelope: {
            error: components["schemas"]["ErrorBody"];
        };
        /** @description What one source said of the transaction. */
        Evidence: {
            /** @description Whether it agrees with the verdict. */
            agrees: boolean;
            /**
             * Format: int64
             * @description Where on Solana it was seen.
             */
            instruction_index: number | null;
            /**
             * Format: int64
             * @description Where on an EVM chain it was seen.
             */
            log_index: number | null;
            /** @description The rule that spoke: pack and signature, or the shape's name. */
            rule: string;
            says: components["schemas"]["Category"];
            source: components["schemas"]["EvidenceSource"];
        };
        /**
         * @description Who says it. Sources are independent, none reads another's opinion: `protocol` is a rule pack over verified contracts, events or
         *     instructions, `call` what was asked for, `shape` what the net movements alone suggest, `labels` a third party's word where an operator
         *     configured one.
         */
        EvidenceSource: ("protocol" | "call" | "shape" | "labels" | "none") | string;
        /** @description Chains of one family are read in one way. */
        Family: ("evm" | "solana") | string;
        /** @description More than one treatment is defensible. `treatment` and `taxable` of the result are the position taken. */
        GreyArea: {
            alternate: components["schemas"]["Alternate"] | null;
            /** @description What the positions rest on. */
            note: string | null;
        };
        /** @description When a grey area is shown, or a row holds something else. */
        GreyCondition: ("other_party_unknown" | "payee_by_shape" | "repaid_asset_differs" | "not_claimed_by_wallet" | "another_token_arrives" | "one_family" | "free" | "lock_receipt" | "both_ways" | "only_sent" | "only_received" | "something_sent") | string;
        /** @description The other defensible side of a category. */
        GreyRow: {
            alternate: components["schemas"]["GreySide"];
            /** @description What the positions rest on. */
            note: string;
            when: components["schemas"]["GreyCondition"] | null;
        };
        /** @description The position not taken. */
        GreySide: {
            /** @description The position in a few words. */
            label: string;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description The caller's jobs, the newest first. */
        JobList: {
            /** @description At most 50. */
            jobs: components["schemas"]["JobStatus"][];
            /** @description Give it as `before` for the next page; null on the last. */
            next: string | null;
        };
        /** @description Where a job stands. */
        JobState: ("listing" | "ready" | "open" | "waiting" | "finished" | "cancelled" | "failed") | string;
        /** @description One job: where it stands, and how its table was understood or what was found. */
        JobStatus: {
            /** @description The book that it belongs to. */
            book: string | null;
            /** @description When it was brought. */
            created_at: string;
            /** @description When it was finished, cancelled or failed. */
            ended_at: string | null;
            /**
             * Format: int64
             * @description Rows that could not be read. Among the results in JSON Lines they carry `error`.
             */
            failed: number;
            /** @description Under which it is asked for. */
            id: string;
            /** @description When the job and its results are deleted. */
            kept_until: string;
            /** @description As its owner called it. */
            name: string;
            /**
             * Format: int64
             * @description Rows that were read and are for review.
             */
            needs_review: number;
            /**
             * Format: int64
             * @description Rows that were read.
             */
            read: number;
            /** @description Why it waits or failed, or is looked up again. */
            reason: string | null;
            /**
             * Format: int64
             * @description Transactions that it asks for; while they are looked up, those that were found so far.
             */
            rows: number;
            /**
             * Format: double
             * @description Of the last minute, or of the whole job when it has ended.
             */
            rows_per_second: number | null;
            /**
             * Format: int64
             * @description At that rate; null when it has ended or nothing was read in the last minute.
             */
            seconds_left: number | null;
            /** @description When its first row was asked for. */
            started_at: string | null;
            state: components["schemas"]["JobState"];
            /**
             * @description How the table was understood: its columns, and rows that were repeated, empty or refused, with row and column. Of wallets how much was found of each,
             *     what the sources do not list (`unseen`), and which chains were not looked at (`unlisted`); empty until all is found.
             */
            table: Record<string, never>;
        };
        /** @description Lines of a journal. Informational only, not tax advice. */
        JournalAnswer: {
            /** @description Always `v1`. */
            api_version: string;
            /** @description Two for each posting, in the order of the results. */
            lines: components["schemas"]["JournalLine"][];
            /** @description Results with `error`, which have no lines. */
            skipped: number;
            /** @description Lines for which a price is missing. */
            unpriced: number;
        };
        /** @description One side of a posting. The two sides of each cancel, so that the quantities of a result add up to zero for each asset. */
        JournalLine: {
            /** @description Name of the account, by the chart. */
            account: string;
            /** @description Code of the account, where the chart has one. */
            account_code?: string;
            category: components["schemas"]["Category"];
            /** @description Slug of the chain. */
            chain: string | null;
            /** @description Of `value` and `price`. */
            currency?: string;
            entry: components["schemas"]["PostingEntry"];
            /** @description Hash of the transaction. */
            hash: string | null;
            /** @description True when a person must look at the whole result before it is booked. */
            needs_review: boolean;
            /** @description Of one whole unit, as it was given. */
            price?: string;
            /** @description The time of the price, which is at or before the transaction's: RFC 3339, UTC. */
            price_time?: string;
            /** @description Exact decimal; negative where it leaves the account. */
            quantity: string;
            /** @description `leg_index` of the step that the posting belongs to; null where the result has no steps, and for gas. */
            step: number | null;
            /** @description A stranger's word, except on the native coin: escape it. */
            symbol: string;
            /** @description When the transaction happened: RFC 3339, UTC. */
            time?: string;
            /** @description Absent on the native coin. */
            token_address?: string;
            /** @description NFTs only. */
            token_id?: string;
            /** @description True where a price is missing. Absent otherwise, and on debt tokens and spam, which have no value of their own. */
            unpriced?: boolean;
            /** @description Quantity times price, exactly; with its sign. Absent where no price was given that fits. */
            value?: string;
            /** @description The address whose view the result is. */
            wallet?: string;
        };
        /** @description One price of one asset. */
        JournalPrice: {
            /**
             * @description The symbol of a native coin, or a token's address; an NFT is its contract's address, a slash and its id. A token's symbol is nobody's: it never names
             *     one.
             */
            asset: string;
            /** @description Slug of the chain, where the price is for one chain alone. It goes before a price for all. */
            chain?: string | null;
            /** @description Three letters, as in ISO 4217. */
            currency: string;
            /** @description Of one whole unit: a plain decimal in a string. */
            price: string;
            /** @description ISO 8601. Without an offset it is UTC; a bare date is its midnight. The price holds for transactions of less than 24 hours after it. */
            time: string;
        };
        /** @description Results, and what to make lines of them by. Unknown fields are ignored; null is absent. */
        JournalRequest: {
            chart?: components["schemas"]["ChartForm"] | null;
            /** @description The currency, where `prices` are in several. */
            currency?: string | null;
            /** @description Where there is none, lines have quantities and no values. */
            prices?: components["schemas"]["JournalPrice"][] | null;
            /**
             * @description As `/v1/classify` or `/v1/classify-batch` answered them, or as you corrected them. Together at most 1,000 postings. One with `error` is not booked, and is
             *     counted in `skipped`.
             */
            results: components["schemas"]["Classification"][];
        };
        /** @description What to do with it in a ledger. */
        LedgerAction: ("dispose_and_acquire" | "recognize_income" | "carry_basis" | "move" | "lock" | "unlock" | "pledge_collateral" | "release_collateral" | "open_liability" | "close_liability" | "expense_fee" | "write_off" | "no_entry" | "ignore" | "review") | string;
        /** @description What happened on a leg. */
        LegAction: ("transferred" | "received" | "minted" | "burned" | "paid_gas") | string;
        /** @description The legs without which a category is not asserted. */
        NeededLegs: ("both" | "out" | "in" | "some" | "any") | string;
        /** @description What kind of NFT; present on NFT legs only. */
        NftKind: ("erc721" | "erc1155" | "erc6909" | "cryptopunk" | "spl_nft" | "compressed_nft") | string;
        /** @description The whole of a transaction of several steps. Further fields may come. */
        Parent: {
            category: components["schemas"]["Category"];
            description: string;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description A partner key is never refused for quota. */
        PartnerStatus: {
            /** @description Always false. */
            exceeded: boolean;
            kind: components["schemas"]["QuotaKind"];
            /** @description Always `billing-rail`. */
            metered: string;
            /** @description With `hash` only: true when that hash was counted in this period. */
            repeat: boolean;
        };
        /** @description The caller's position on four two-sided treatments. Every key is optional; unknown keys and values are ignored and never an error. The position not taken goes to `grey_area.alternate`. A policy never overrides `needs_review`. */
        Policy: {
            /**
             * @description Entry and exit of liquidity pools: `disposal` (the house default) or `non_taxable`. Anything else is ignored.
             * @example disposal
             * @example non_taxable
             */
            lp?: unknown;
            /**
             * @description Minting and redeeming of liquid-staking tokens: `disposal` (the house default) or `non_taxable`. Anything else is ignored.
             * @example disposal
             * @example non_taxable
             */
            lst?: unknown;
            /**
             * @description Timing of rebase rewards only: `income` (the house default) or `defer`. Anything else is ignored.
             * @example income
             * @example defer
             */
            staking?: unknown;
            /**
             * @description Wrapping and unwrapping of the same underlying: `non_taxable` (the house default) or `disposal`. Anything else is ignored.
             * @example non_taxable
             * @example disposal
             */
            wrap?: unknown;
        };
        /** @description The caller's switch that governs a category, where one does. */
        PolicyKey: ("lp" | "wrap" | "lst" | "staking") | string;
        /** @description A pool of billable classifications. */
        PoolStatus: {
            /** @description True when the pool is exhausted. Repeats are still served. */
            exceeded: boolean;
            kind: components["schemas"]["QuotaKind"];
            /**
             * Format: int64
             * @description Size of the pool.
             */
            limit: number;
            /**
             * Format: int64
             * @description `limit` minus `used`, at least 0. Null when the hash that was asked for is a repeat.
             */
            remaining: number | null;
            /** @description With `hash` only: true when that hash was counted in this period, so that asking again is free. */
            repeat: boolean;
            resets: components["schemas"]["QuotaResets"];
            /**
             * Format: int64
             * @description Distinct billable classifications of this period. Null when the hash that was asked for is a repeat.
             */
            used: number | null;
        };
        /** @description How one part of one leg is booked. */
        Posting: {
            /** @description Exact decimal, as on the leg. */
            amount: string;
            category: components["schemas"]["Category"];
            entry: components["schemas"]["PostingEntry"];
            /** @description The leg: its place in `assets.sent` or `assets.received`; 0 for gas. */
            index: number;
            side: components["schemas"]["PostingSide"];
            /** @description `leg_index` of the step that it belongs to; null where the result has no steps, and for gas. */
            step: number | null;
            /** @description As on the result: null is undetermined. */
            taxable: boolean | null;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description How a part of a leg is booked. A closed set. */
        PostingEntry: ("dispose" | "acquire" | "income" | "expense" | "carry_out" | "carry_in" | "move_out" | "move_in" | "lock" | "unlock" | "borrow" | "repay" | "mirror" | "ignore" | "open") | string;
        /** @description What a posting is a part of. */
        PostingSide: ("sent" | "received" | "gas") | string;
        /** @description Which quota identity answered. `dev` is every pooled key, whatever its tier. */
        QuotaKind: ("anon" | "dev" | "partner") | string;
        /** @description How long a pool lasts: a UTC calendar day or month. */
        QuotaResets: ("daily" | "monthly") | string;
        /** @description What is left: of a pool, or, for partner keys, that a billing rail counts. */
        QuotaStatus: components["schemas"]["PoolStatus"] | components["schemas"]["PartnerStatus"];
        /** @description The one body that is not the envelope. */
        QuotaUnavailable: {
            /** @description Always `quota_status_unavailable`. */
            error: string;
        };
        /** @description One transaction. Unknown fields are ignored; null is absent. */
        SingleRequest: {
            /**
             * @description Slug of the chain, a common alias, or a decimal chain id. Found out when absent. When the transaction is on another served chain
             *     instead, the answer says so in `chain_corrected`.
             */
            chain?: string | null;
            /** @description Adds `evidence`: what each source said, and where on chain. */
            explain?: boolean | null;
            hash: components["schemas"]["TxHash"];
            /** @description Moves between these addresses are `self_transfer`. */
            own_wallets?: components["schemas"]["Wallet"][] | null;
            policy?: components["schemas"]["Policy"] | null;
            wallet?: components["schemas"]["Wallet"] | null;
        };
        /** @description One step of a transaction that has several. Further fields may come. */
        Step: {
            assets: components["schemas"]["Assets"];
            category: components["schemas"]["Category"];
            description: string;
            ledger_action: components["schemas"]["LedgerAction"];
            /** @description From 0, in chain order. */
            leg_index: number;
            protocol: string | null;
            role: components["schemas"]["StepRole"];
            /** @description As on the result: null is undetermined. */
            taxable: boolean | null;
            treatment: components["schemas"]["Treatment"];
        };
        /** @description The part that a claim plays in a transaction of several steps. */
        StepRole: ("principal" | "fee" | "interest" | "reward" | "refund" | "flash_borrow" | "flash_repay" | "bridge_out" | "bridge_in" | "item") | string;
        /**
         * @description What the event is for tax. A closed set: it gains no value within v1. `needs_review` is what cannot be mapped to the others.
         * @enum {string}
         */
        Treatment: "disposal" | "income" | "non_taxable" | "expense" | "needs_review";
        /**
         * @description EVM: `0x` and 64 hex digits of any case. Solana: a base58 signature that decodes to exactly 64 bytes. Nothing is trimmed. Signatures that begin with several zero bytes are taken too, though the pattern leaves them out.
         * @example 0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109
         */
        TxHash: string;
        /** @description An EVM address, `0x` and 40 hex digits, or a Solana address in base58. Solana addresses that begin with several zero bytes are taken too, though the pattern leaves them out. */
        Wallet: string;
        /** @description Wallets whose transactions are looked up. Unknown fields are ignored; null is absent. */
        WalletsJob: {
            /** @description The book that it belongs to, whose wallets and policy it is read with: an `id` of `GET /v1/books`. The first when absent. */
            book?: string | null;
            /** @description Where to look. Every served chain that lists accounts when absent. */
            chain?: string | null;
            /**
             * @description The first day, in UTC.
             * @example 2024-01-01
             */
            from?: string | null;
            /** @description What to call it. */
            name?: string | null;
            /** @description Further addresses of the same person, which are not looked up. */
            own_wallets?: components["schemas"]["Wallet"][] | null;
            policy?: components["schemas"]["Policy"] | null;
            /** @description `false` keeps it `ready` until `POST /v1/jobs/{id}/start`, so that what was found can be looked at before anything is counted. */
            start?: boolean | null;
            /**
             * @description The last day, itself counted in.
             * @example 2024-12-31
             */
            to?: string | null;
            /** @description Each transaction is read as its wallet saw it. Moves between the wallets, and those of the book, are `self_transfer`. */
            wallets: components["schemas"]["Wallet"][];
        };
    };
    responses: {
        /**
         * @description - `invalid_request`: The body is no JSON object, over 1 MiB or of another content type; `hashes` is missing, empty or holds over 100 items; a field has the wrong type; on the single call, the chain is unknown or not served (the message lists those that are); on `/v1/journal`, a result is no classification (the message names its index), or the chart or a price is refused. **Do:** Fix the request. Do not retry unchanged.
         *     - `invalid_hash`: A hash is neither `0x` and 64 hex digits nor a base58 Solana signature. In a batch the message names the index, as in `hashes[7]`. **Do:** Fix the hash. Do not retry unchanged.
         */
        Failed400: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description - `unauthorized`: The API key is missing, malformed, unknown or revoked. **Do:** Fix the header or the key. Do not retry unchanged. */
        Failed401: {
            headers: {
                "WWW-Authenticate": components["headers"]["Authenticate"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description - `quota_exceeded`: The pool of the key's owner is exhausted for this period. Repeats of hashes that were classified in the period never trigger it. **Do:** Look at `/quota-status`, wait for the reset or upgrade. Key on the 402 status. */
        Failed402: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /**
         * @description - `tx_not_found`: The hash is well formed, but neither the named chain nor any other served chain has it. **Do:** Verify the hash, or leave out `chain`.
         *     - `chain_not_detected`: No chain was named, and every served chain of the hash's family answered that it does not have it. **Do:** Verify the hash and the network; `/chains` lists what is served.
         *     - `tx_not_yet_mined`: The transaction is in the mempool and not in a block yet. **Do:** Retry once it is in a block.
         *     - `wallet_not_in_transaction`: The `wallet` is neither sender, recipient nor party to any movement or log of the transaction. **Do:** Verify the wallet, or leave it out to have the perspective found.
         */
        Failed404: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description - `rate_limited`: Too many requests in the last 60 seconds: of the key, or, on `/quota-status` and for failed keys, of the address. **Do:** Wait for the seconds of `Retry-After`, add jitter, and prefer batches. */
        Failed429: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /** @description - `internal_error`: A fault inside the service, or its ledger is out of reach. **Do:** Retry shortly, with growing pauses and jitter. Nothing was counted. */
        Failed500: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
        /**
         * @description - `upstream_timeout`: A node did not answer in time. **Do:** Retry shortly, with growing pauses and jitter. Nothing was counted.
         *     - `upstream_unavailable`: A node could not be reached, or failed. **Do:** Retry shortly, with growing pauses and jitter. Nothing was counted.
         *     - `upstream_rate_limited`: A node refused for too many requests. **Do:** Retry shortly, with growing pauses and jitter. Nothing was counted.
         *     - `upstream_bad_response`: A node's answer was not JSON, not JSON-RPC, too large, or lacked fields. **Do:** Retry shortly, with growing pauses and jitter. Nothing was counted.
         *     - `upstream_inconsistent`: Transaction, receipt and block of a node contradict each other, or the node serves another chain. **Do:** Retry shortly; when it stays, the operator must look at the node.
         *     - `tx_not_retrievable`: The transaction exists, but its receipt cannot be had. **Do:** Retry shortly; when it stays, the node lacks the history.
         */
        Failed502: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorEnvelope"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Always `Bearer`. */
        Authenticate: string;
        /** @description The client's own `x-request-id` when it is 1 to 64 of `[A-Za-z0-9._-]`, else a fresh one. Name it when you report something. */
        RequestId: string;
        /** @description Whole seconds to wait. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type AccountName = components['schemas']['AccountName'];
export type AccountRow = components['schemas']['AccountRow'];
export type Alternate = components['schemas']['Alternate'];
export type AssetLeg = components['schemas']['AssetLeg'];
export type Assets = components['schemas']['Assets'];
export type BatchItem = components['schemas']['BatchItem'];
export type BatchRequest = components['schemas']['BatchRequest'];
export type BatchResponse = components['schemas']['BatchResponse'];
export type Billing = components['schemas']['Billing'];
export type BlockTime = components['schemas']['BlockTime'];
export type BookList = components['schemas']['BookList'];
export type BookName = components['schemas']['BookName'];
export type Category = components['schemas']['Category'];
export type CategoryList = components['schemas']['CategoryList'];
export type CategoryRow = components['schemas']['CategoryRow'];
export type ChainCorrected = components['schemas']['ChainCorrected'];
export type ChainList = components['schemas']['ChainList'];
export type ChainRow = components['schemas']['ChainRow'];
export type Chart = components['schemas']['Chart'];
export type ChartForm = components['schemas']['ChartForm'];
export type Classification = components['schemas']['Classification'];
export type ErrorBody = components['schemas']['ErrorBody'];
export type ErrorEnvelope = components['schemas']['ErrorEnvelope'];
export type Evidence = components['schemas']['Evidence'];
export type EvidenceSource = components['schemas']['EvidenceSource'];
export type Family = components['schemas']['Family'];
export type GreyArea = components['schemas']['GreyArea'];
export type GreyCondition = components['schemas']['GreyCondition'];
export type GreyRow = components['schemas']['GreyRow'];
export type GreySide = components['schemas']['GreySide'];
export type JobList = components['schemas']['JobList'];
export type JobState = components['schemas']['JobState'];
export type JobStatus = components['schemas']['JobStatus'];
export type JournalAnswer = components['schemas']['JournalAnswer'];
export type JournalLine = components['schemas']['JournalLine'];
export type JournalPrice = components['schemas']['JournalPrice'];
export type JournalRequest = components['schemas']['JournalRequest'];
export type LedgerAction = components['schemas']['LedgerAction'];
export type LegAction = components['schemas']['LegAction'];
export type NeededLegs = components['schemas']['NeededLegs'];
export type NftKind = components['schemas']['NftKind'];
export type Parent = components['schemas']['Parent'];
export type PartnerStatus = components['schemas']['PartnerStatus'];
export type Policy = components['schemas']['Policy'];
export type PolicyKey = components['schemas']['PolicyKey'];
export type PoolStatus = components['schemas']['PoolStatus'];
export type Posting = components['schemas']['Posting'];
export type PostingEntry = components['schemas']['PostingEntry'];
export type PostingSide = components['schemas']['PostingSide'];
export type QuotaKind = components['schemas']['QuotaKind'];
export type QuotaResets = components['schemas']['QuotaResets'];
export type QuotaStatus = components['schemas']['QuotaStatus'];
export type QuotaUnavailable = components['schemas']['QuotaUnavailable'];
export type SingleRequest = components['schemas']['SingleRequest'];
export type Step = components['schemas']['Step'];
export type StepRole = components['schemas']['StepRole'];
export type Treatment = components['schemas']['Treatment'];
export type TxHash = components['schemas']['TxHash'];
export type Wallet = components['schemas']['Wallet'];
export type WalletsJob = components['schemas']['WalletsJob'];
export type ResponseFailed400 = components['responses']['Failed400'];
export type ResponseFailed401 = components['responses']['Failed401'];
export type ResponseFailed402 = components['responses']['Failed402'];
export type ResponseFailed404 = components['responses']['Failed404'];
export type ResponseFailed429 = components['responses']['Failed429'];
export type ResponseFailed500 = components['responses']['Failed500'];
export type ResponseFailed502 = components['responses']['Failed502'];
export type HeaderAuthenticate = components['headers']['Authenticate'];
export type HeaderRequestId = components['headers']['RequestId'];
export type HeaderRetryAfter = components['headers']['RetryAfter'];
export type $defs = Record<string, never>;
export interface operations {
    categories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The house table. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CategoryList"];
                };
            };
        };
    };
    chains: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by slug. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "chains": [
                     *         {
                     *           "chain_id": 31337,
                     *           "explorer": null,
                     *           "family": "evm",
                     *           "name": "Demo (recorded)",
                     *           "native_decimals": 18,
                     *           "native_symbol": "ETH",
                     *           "slug": "demo"
                     *         },
                     *         {
                     *           "chain_id": null,
                     *           "explorer": null,
                     *           "family": "solana",
                     *           "name": "Demo Solana (recorded)",
                     *           "native_decimals": 9,
                     *           "native_symbol": "SOL",
                     *           "slug": "demo-solana"
                     *         },
                     *         {
                     *           "chain_id": 1,
                     *           "explorer": "https://etherscan.io",
                     *           "family": "evm",
                     *           "name": "Ethereum",
                     *           "native_decimals": 18,
                     *           "native_symbol": "ETH",
                     *           "slug": "ethereum"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ChainList"];
                };
            };
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `ok` */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    quota_status: {
        parameters: {
            query?: {
                /** @description Also tells in `repeat` whether this hash was counted in the period. */
                hash?: components["schemas"]["TxHash"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pool, or that a billing rail counts. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "exceeded": false,
                     *       "kind": "dev",
                     *       "limit": 250,
                     *       "remaining": 249,
                     *       "repeat": false,
                     *       "resets": "monthly",
                     *       "used": 1
                     *     }
                     */
                    "application/json": components["schemas"]["QuotaStatus"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            429: components["responses"]["Failed429"];
            /** @description The ledger is out of reach. Never a made-up number. Retry shortly. */
            503: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuotaUnavailable"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `ready` */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Calls cannot be counted, and why: the ledger does not answer, or takes no writes. */
            503: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    list_books: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Id and name of each. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BookList"];
                };
            };
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    classify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "chain": "demo",
                 *       "explain": true,
                 *       "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109"
                 *     }
                 */
                "application/json": components["schemas"]["SingleRequest"];
            };
        };
        responses: {
            /** @description How the transaction was read. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "api_version": "v1",
                     *       "assets": {
                     *         "gas": {
                     *           "action": "paid_gas",
                     *           "amount": "0.000541584",
                     *           "decimals": 18,
                     *           "symbol": "ETH",
                     *           "token_name": "Ether"
                     *         },
                     *         "received": [
                     *           {
                     *             "action": "received",
                     *             "amount": "2386.455211",
                     *             "decimals": 6,
                     *             "from": "0x4d1c32e03be6cfef038d2e4ab2ae7ef74e509b64",
                     *             "symbol": "dUSD",
                     *             "token_address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                     *             "token_name": "Demo Dollar"
                     *           }
                     *         ],
                     *         "sent": [
                     *           {
                     *             "action": "transferred",
                     *             "amount": "0.8",
                     *             "decimals": 18,
                     *             "symbol": "ETH",
                     *             "to": "0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
                     *             "token_name": "Ether"
                     *           }
                     *         ]
                     *       },
                     *       "block": {
                     *         "finalized": true,
                     *         "number": 81,
                     *         "timestamp": "2026-01-01T00:16:12Z"
                     *       },
                     *       "category": "swap",
                     *       "chain": "demo",
                     *       "confidence": 99,
                     *       "description": "Swapped 0.8 ETH for 2,386.455211 dUSD on Uniswap v2. A taxable disposal (IRC 1001; Notice 2014-21; Reg. 1.1001-7).",
                     *       "engine": "0.1.0+0000000000000000",
                     *       "evidence": [
                     *         {
                     *           "agrees": true,
                     *           "instruction_index": null,
                     *           "log_index": 4,
                     *           "rule": "named-swaps/Swap",
                     *           "says": "swap",
                     *           "source": "protocol"
                     *         },
                     *         {
                     *           "agrees": true,
                     *           "instruction_index": null,
                     *           "log_index": 4,
                     *           "rule": "uniswap-v2/Swap",
                     *           "says": "swap",
                     *           "source": "protocol"
                     *         },
                     *         {
                     *           "agrees": true,
                     *           "instruction_index": null,
                     *           "log_index": null,
                     *           "rule": "uniswap-v2/swapExactETHForTokens()",
                     *           "says": "swap",
                     *           "source": "call"
                     *         },
                     *         {
                     *           "agrees": true,
                     *           "instruction_index": null,
                     *           "log_index": null,
                     *           "rule": "shape/two-sided",
                     *           "says": "swap",
                     *           "source": "shape"
                     *         }
                     *       ],
                     *       "grey_area": null,
                     *       "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *       "ledger_action": "dispose_and_acquire",
                     *       "needs_review": false,
                     *       "perspective": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                     *       "postings": [
                     *         {
                     *           "amount": "0.8",
                     *           "category": "swap",
                     *           "entry": "dispose",
                     *           "index": 0,
                     *           "side": "sent",
                     *           "step": null,
                     *           "taxable": true,
                     *           "treatment": "disposal"
                     *         },
                     *         {
                     *           "amount": "2386.455211",
                     *           "category": "swap",
                     *           "entry": "acquire",
                     *           "index": 0,
                     *           "side": "received",
                     *           "step": null,
                     *           "taxable": true,
                     *           "treatment": "disposal"
                     *         },
                     *         {
                     *           "amount": "0.000541584",
                     *           "category": "fee_payment",
                     *           "entry": "expense",
                     *           "index": 0,
                     *           "side": "gas",
                     *           "step": null,
                     *           "taxable": true,
                     *           "treatment": "expense"
                     *         }
                     *       ],
                     *       "protocol": "Uniswap v2",
                     *       "review_note": null,
                     *       "taxable": true,
                     *       "treatment": "disposal"
                     *     }
                     */
                    "application/json": components["schemas"]["Classification"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            402: components["responses"]["Failed402"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
            502: components["responses"]["Failed502"];
        };
    };
    classify_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hashes": [
                 *         {
                 *           "hash": "0xb9945f15a9ad04591ac0fc41c2cef241357be0d772709204a2eef8cf4b8381a0",
                 *           "tx_id": "row-17"
                 *         },
                 *         {
                 *           "chain": "demo",
                 *           "hash": "0xabababababababababababababababababababababababababababababababab",
                 *           "tx_id": "row-18"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["BatchRequest"];
            };
        };
        responses: {
            /** @description One result per item, in input order. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "api_version": "v1",
                     *       "count": 2,
                     *       "results": [
                     *         {
                     *           "api_version": "v1",
                     *           "assets": {
                     *             "gas": {
                     *               "action": "paid_gas",
                     *               "amount": "0.000608524",
                     *               "decimals": 18,
                     *               "symbol": "ETH",
                     *               "token_name": "Ether"
                     *             },
                     *             "received": [
                     *               {
                     *                 "action": "minted",
                     *                 "amount": "0.000054936237686077",
                     *                 "decimals": 18,
                     *                 "from": "0x0000000000000000000000000000000000000000",
                     *                 "symbol": "UNI-V2",
                     *                 "token_address": "0x4d1c32e03be6cfef038d2e4ab2ae7ef74e509b64",
                     *                 "token_name": "Uniswap V2"
                     *               }
                     *             ],
                     *             "sent": [
                     *               {
                     *                 "action": "transferred",
                     *                 "amount": "1.006009816854571225",
                     *                 "decimals": 18,
                     *                 "symbol": "ETH",
                     *                 "to": "0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
                     *                 "token_name": "Ether"
                     *               },
                     *               {
                     *                 "action": "transferred",
                     *                 "amount": "3000",
                     *                 "decimals": 6,
                     *                 "symbol": "dUSD",
                     *                 "to": "0x4d1c32e03be6cfef038d2e4ab2ae7ef74e509b64",
                     *                 "token_address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                     *                 "token_name": "Demo Dollar"
                     *               }
                     *             ]
                     *           },
                     *           "block": {
                     *             "finalized": true,
                     *             "number": 85,
                     *             "timestamp": "2026-01-01T00:17:00Z"
                     *           },
                     *           "category": "liquidity_add",
                     *           "chain": "demo",
                     *           "confidence": 96,
                     *           "description": "Added 1.006009816854571225 ETH and 3,000 dUSD to a pool for 0.000054936237686077 UNI-V2 on Uniswap v2. A taxable disposal (Cottage Savings; Reg. 1.1001-7; ATO and HMRC guidance).",
                     *           "engine": "0.1.0+0000000000000000",
                     *           "grey_area": {
                     *             "alternate": {
                     *               "label": "Basis carried into and out of the pool position",
                     *               "taxable": false,
                     *               "treatment": "non_taxable"
                     *             },
                     *             "note": "Pool shares differ materially from the assets put in (Cottage Savings; ATO and HMRC guidance). Notice 2024-57 takes no side; HMRC announced on 2025-11-26 that it intends no gain/no loss, which is not law yet. Fees that a position earned and that no log states apart come out as part of it."
                     *           },
                     *           "hash": "0xb9945f15a9ad04591ac0fc41c2cef241357be0d772709204a2eef8cf4b8381a0",
                     *           "id": "row-17",
                     *           "ledger_action": "dispose_and_acquire",
                     *           "needs_review": false,
                     *           "perspective": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                     *           "postings": [
                     *             {
                     *               "amount": "1.006009816854571225",
                     *               "category": "liquidity_add",
                     *               "entry": "dispose",
                     *               "index": 0,
                     *               "side": "sent",
                     *               "step": null,
                     *               "taxable": true,
                     *               "treatment": "disposal"
                     *             },
                     *             {
                     *               "amount": "3000",
                     *               "category": "liquidity_add",
                     *               "entry": "dispose",
                     *               "index": 1,
                     *               "side": "sent",
                     *               "step": null,
                     *               "taxable": true,
                     *               "treatment": "disposal"
                     *             },
                     *             {
                     *               "amount": "0.000054936237686077",
                     *               "category": "liquidity_add",
                     *               "entry": "acquire",
                     *               "index": 0,
                     *               "side": "received",
                     *               "step": null,
                     *               "taxable": true,
                     *               "treatment": "disposal"
                     *             },
                     *             {
                     *               "amount": "0.000608524",
                     *               "category": "fee_payment",
                     *               "entry": "expense",
                     *               "index": 0,
                     *               "side": "gas",
                     *               "step": null,
                     *               "taxable": true,
                     *               "treatment": "expense"
                     *             }
                     *           ],
                     *           "protocol": "Uniswap v2",
                     *           "review_note": null,
                     *           "taxable": true,
                     *           "treatment": "disposal"
                     *         },
                     *         {
                     *           "api_version": "v1",
                     *           "assets": {
                     *             "gas": null,
                     *             "received": [],
                     *             "sent": []
                     *           },
                     *           "category": "unclassified",
                     *           "chain": null,
                     *           "confidence": 0,
                     *           "description": null,
                     *           "engine": "0.1.0+0000000000000000",
                     *           "error": "tx_not_found",
                     *           "grey_area": null,
                     *           "hash": "0xabababababababababababababababababababababababababababababababab",
                     *           "id": "row-18",
                     *           "ledger_action": "review",
                     *           "needs_review": true,
                     *           "protocol": null,
                     *           "review_note": "the transaction was not found on `demo`, nor on any other served chain",
                     *           "taxable": null,
                     *           "treatment": "needs_review"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["BatchResponse"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            402: components["responses"]["Failed402"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description The job after which the page begins: `next` of the page before. */
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest first, 50 a page. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    create_job: {
        parameters: {
            query?: {
                /** @description The book that it belongs to, whose wallets and policy it is read with: an `id` of `GET /v1/books`. The first when absent. */
                book?: string;
                /** @description What to call it; the name of the file, for instance. */
                name?: string;
                /** @description The column that holds the hashes; found out when absent. */
                column?: string;
                /** @description For rows that name no chain; found out when absent. */
                chain?: string;
                /** @description For rows that name no wallet: read them as this address saw them. */
                wallet?: components["schemas"]["Wallet"];
                /** @description Addresses with commas between them, beside those of the book; moves between them are `self_transfer`. */
                own_wallets?: string;
                /** @description House positions, such as `lp:non_taxable,staking:defer`; the book's, where they say nothing. */
                policy?: string;
                /** @description `false` keeps it `ready` until `POST /v1/jobs/{id}/start`, so that `table` can be looked at first. */
                start?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The table. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The table was taken in, and is being read. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStatus"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    create_wallets_job: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WalletsJob"];
            };
        };
        responses: {
            /** @description The wallets are being looked up. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStatus"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    job_status: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As `POST /v1/jobs` told it. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description State, counts, rate and time left. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStatus"];
                };
            };
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As `POST /v1/jobs` told it. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job as it stands now. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStatus"];
                };
            };
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    job_results: {
        parameters: {
            query?: {
                /** @description One of the formats of `taxon bulk` that need no prices, such as `jsonl`, `koinly` or `beancount`; `csv` when absent. */
                format?: string;
            };
            header?: never;
            path: {
                /** @description As `POST /v1/jobs` told it. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, as a stream. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    start_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As `POST /v1/jobs` told it. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job as it stands now. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStatus"];
                };
            };
            401: components["responses"]["Failed401"];
            404: components["responses"]["Failed404"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
    journal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "prices": [
                 *         {
                 *           "asset": "ETH",
                 *           "currency": "USD",
                 *           "price": "2983.07",
                 *           "time": "2026-01-01"
                 *         }
                 *       ],
                 *       "results": [
                 *         {
                 *           "api_version": "v1",
                 *           "assets": {
                 *             "gas": {
                 *               "action": "paid_gas",
                 *               "amount": "0.000541584",
                 *               "decimals": 18,
                 *               "symbol": "ETH",
                 *               "token_name": "Ether"
                 *             },
                 *             "received": [
                 *               {
                 *                 "action": "received",
                 *                 "amount": "2386.455211",
                 *                 "decimals": 6,
                 *                 "from": "0x4d1c32e03be6cfef038d2e4ab2ae7ef74e509b64",
                 *                 "symbol": "dUSD",
                 *                 "token_address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                 *                 "token_name": "Demo Dollar"
                 *               }
                 *             ],
                 *             "sent": [
                 *               {
                 *                 "action": "transferred",
                 *                 "amount": "0.8",
                 *                 "decimals": 18,
                 *                 "symbol": "ETH",
                 *                 "to": "0x7a250d5630b4cf539739df2c5dacb4c659f2488d",
                 *                 "token_name": "Ether"
                 *               }
                 *             ]
                 *           },
                 *           "block": {
                 *             "finalized": true,
                 *             "number": 81,
                 *             "timestamp": "2026-01-01T00:16:12Z"
                 *           },
                 *           "category": "swap",
                 *           "chain": "demo",
                 *           "confidence": 99,
                 *           "description": "Swapped 0.8 ETH for 2,386.455211 dUSD on Uniswap v2. A taxable disposal (IRC 1001; Notice 2014-21; Reg. 1.1001-7).",
                 *           "engine": "0.1.0+0000000000000000",
                 *           "grey_area": null,
                 *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                 *           "ledger_action": "dispose_and_acquire",
                 *           "needs_review": false,
                 *           "perspective": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                 *           "postings": [
                 *             {
                 *               "amount": "0.8",
                 *               "category": "swap",
                 *               "entry": "dispose",
                 *               "index": 0,
                 *               "side": "sent",
                 *               "step": null,
                 *               "taxable": true,
                 *               "treatment": "disposal"
                 *             },
                 *             {
                 *               "amount": "2386.455211",
                 *               "category": "swap",
                 *               "entry": "acquire",
                 *               "index": 0,
                 *               "side": "received",
                 *               "step": null,
                 *               "taxable": true,
                 *               "treatment": "disposal"
                 *             },
                 *             {
                 *               "amount": "0.000541584",
                 *               "category": "fee_payment",
                 *               "entry": "expense",
                 *               "index": 0,
                 *               "side": "gas",
                 *               "step": null,
                 *               "taxable": true,
                 *               "treatment": "expense"
                 *             }
                 *           ],
                 *           "protocol": "Uniswap v2",
                 *           "review_note": null,
                 *           "taxable": true,
                 *           "treatment": "disposal"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["JournalRequest"];
            };
        };
        responses: {
            /** @description The lines, in the order of the results. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "api_version": "v1",
                     *       "lines": [
                     *         {
                     *           "account": "Assets:Wallets:Demo:0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                     *           "account_code": "1000",
                     *           "category": "swap",
                     *           "chain": "demo",
                     *           "currency": "USD",
                     *           "entry": "dispose",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "price": "2983.07",
                     *           "price_time": "2026-01-01T00:00:00Z",
                     *           "quantity": "-0.8",
                     *           "step": null,
                     *           "symbol": "ETH",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "value": "-2386.456",
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         },
                     *         {
                     *           "account": "Equity:Exchanged",
                     *           "account_code": "3100",
                     *           "category": "swap",
                     *           "chain": "demo",
                     *           "currency": "USD",
                     *           "entry": "dispose",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "price": "2983.07",
                     *           "price_time": "2026-01-01T00:00:00Z",
                     *           "quantity": "0.8",
                     *           "step": null,
                     *           "symbol": "ETH",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "value": "2386.456",
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         },
                     *         {
                     *           "account": "Equity:Exchanged",
                     *           "account_code": "3100",
                     *           "category": "swap",
                     *           "chain": "demo",
                     *           "entry": "acquire",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "quantity": "-2386.455211",
                     *           "step": null,
                     *           "symbol": "dUSD",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "token_address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                     *           "unpriced": true,
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         },
                     *         {
                     *           "account": "Assets:Wallets:Demo:0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                     *           "account_code": "1000",
                     *           "category": "swap",
                     *           "chain": "demo",
                     *           "entry": "acquire",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "quantity": "2386.455211",
                     *           "step": null,
                     *           "symbol": "dUSD",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "token_address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                     *           "unpriced": true,
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         },
                     *         {
                     *           "account": "Assets:Wallets:Demo:0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
                     *           "account_code": "1000",
                     *           "category": "fee_payment",
                     *           "chain": "demo",
                     *           "currency": "USD",
                     *           "entry": "expense",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "price": "2983.07",
                     *           "price_time": "2026-01-01T00:00:00Z",
                     *           "quantity": "-0.000541584",
                     *           "step": null,
                     *           "symbol": "ETH",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "value": "-1.61558298288",
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         },
                     *         {
                     *           "account": "Expenses:Fees",
                     *           "account_code": "5100",
                     *           "category": "fee_payment",
                     *           "chain": "demo",
                     *           "currency": "USD",
                     *           "entry": "expense",
                     *           "hash": "0x4269acca4df0873843feda1b6ecc1aaececfe3e9b7284969c47bc3e73874a109",
                     *           "needs_review": false,
                     *           "price": "2983.07",
                     *           "price_time": "2026-01-01T00:00:00Z",
                     *           "quantity": "0.000541584",
                     *           "step": null,
                     *           "symbol": "ETH",
                     *           "time": "2026-01-01T00:16:12Z",
                     *           "value": "1.61558298288",
                     *           "wallet": "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
                     *         }
                     *       ],
                     *       "skipped": 0,
                     *       "unpriced": 2
                     *     }
                     */
                    "application/json": components["schemas"]["JournalAnswer"];
                };
            };
            400: components["responses"]["Failed400"];
            401: components["responses"]["Failed401"];
            429: components["responses"]["Failed429"];
            500: components["responses"]["Failed500"];
        };
    };
}
