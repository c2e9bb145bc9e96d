//! What a backup holds: tables and columns as both engines have them, in an order in which rows may be inserted.
//!
//! `tests/store/backup.rs` compares this list with both databases: a column that a migration adds must be named here, or its table left out
//! on purpose.

use ColumnKind::{Bytes, Flag, Number, Text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Number,
    Flag,
    Bytes,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, ColumnKind)],
}

/// Emptied by a restore and never in a backup. An ended session or a used link must not become valid again; reservations and leases belong
/// to calls and processes that are gone. Rate windows and tables that start with `cache_` are left alone.
pub const NOT_KEPT: [&str; 4] = ["sessions", "links", "holds", "leases"];

/// Owners first: others refer to them.
pub(super) const TABLES: [Table; 23] = [
    Table {
        name: "owners",
        columns: &[("id", Text), ("email", Text), ("created_at", Number), ("tier", Text), ("pool", Number)],
    },
    Table {
        name: "keys",
        columns: &[
            ("id", Text),
            ("owner_id", Text),
            ("hash", Bytes),
            ("name", Text),
            ("created_at", Number),
            ("revoked_at", Number),
            ("metered", Flag),
            ("last_used_at", Number),
        ],
    },
    Table {
        name: "accounts",
        columns: &[
            ("owner_id", Text),
            ("password_hash", Text),
            ("is_operator", Flag),
            ("created_at", Number),
            ("proved_at", Number),
        ],
    },
    Table { name: "settings", columns: &[("name", Text), ("value", Text)] },
    Table {
        name: "entries",
        columns: &[
            ("payer", Text),
            ("period", Text),
            ("hash", Text),
            ("billed", Text),
            ("category", Text),
            ("chain", Text),
            ("key_id", Text),
            ("request_id", Text),
            ("at", Number),
        ],
    },
    Table { name: "pools", columns: &[("payer", Text), ("period", Text), ("used", Number)] },
    Table {
        name: "outbox",
        columns: &[("seq", Number), ("payer", Text), ("period", Text), ("hash", Text), ("delivered_at", Number)],
    },
    Table { name: "delays", columns: &[("payer", Text), ("failures", Number), ("until", Number), ("reason", Text)] },
    Table {
        name: "readings",
        columns: &[
            ("owner_id", Text),
            ("hash", Text),
            ("wallet", Text),
            ("chain", Text),
            ("category", Text),
            ("treatment", Text),
            ("taxable", Flag),
            ("confidence", Number),
            ("needs_review", Flag),
            ("protocol", Text),
            ("note", Text),
            ("time", Number),
            ("at", Number),
            ("rules", Text),
        ],
    },
    Table {
        name: "reviews",
        columns: &[
            ("owner_id", Text),
            ("hash", Text),
            ("wallet", Text),
            ("category", Text),
            ("comment", Text),
            ("at", Number),
        ],
    },
    Table { name: "refusals", columns: &[("owner_id", Text), ("day", Number), ("code", Text), ("count", Number)] },
    Table {
        name: "books",
        columns: &[
            ("id", Text),
            ("owner_id", Text),
            ("is_first", Flag),
            ("name", Text),
            ("jurisdiction", Text),
            ("time_zone", Text),
            ("policy", Text),
            ("chart", Text),
            ("period_from", Text),
            ("period_to", Text),
            ("needs_second", Flag),
            ("created_at", Number),
        ],
    },
    Table {
        name: "book_wallets",
        columns: &[("book_id", Text), ("address", Text), ("label", Text), ("place", Number)],
    },
    Table { name: "book_people", columns: &[("book_id", Text), ("email", Text), ("added_at", Number)] },
    Table {
        name: "book_rows",
        columns: &[
            ("book_id", Text),
            ("hash", Text),
            ("wallet", Text),
            ("chain", Text),
            ("time", Number),
            ("category", Text),
            ("treatment", Text),
            ("taxable", Flag),
            ("confidence", Number),
            ("needs_review", Flag),
            ("protocol", Text),
            ("note", Text),
            ("amounts", Text),
            ("contract", Text),
            ("function", Text),
            ("engine", Text),
            ("job_id", Text),
            ("part", Number),
            ("read_at", Number),
            ("state", Text),
        ],
    },
    Table {
        name: "decision_rules",
        columns: &[
            ("id", Text),
            ("book_id", Text),
            ("chain", Text),
            ("contract", Text),
            ("function", Text),
            ("read_category", Text),
            ("read_treatment", Text),
            ("category", Text),
            ("treatment", Text),
            ("comment", Text),
            ("made_by", Text),
            ("made_at", Number),
        ],
    },
    Table {
        name: "decisions",
        columns: &[
            ("book_id", Text),
            ("hash", Text),
            ("wallet", Text),
            ("category", Text),
            ("treatment", Text),
            ("comment", Text),
            ("decided_by", Text),
            ("decided_at", Number),
            ("signed_by", Text),
            ("signed_at", Number),
            ("rule_id", Text),
            ("seen", Text),
        ],
    },
    Table {
        name: "decision_log",
        columns: &[
            ("book_id", Text),
            ("hash", Text),
            ("wallet", Text),
            ("step", Number),
            ("what", Text),
            ("category", Text),
            ("treatment", Text),
            ("comment", Text),
            ("by_id", Text),
            ("at", Number),
            ("rule_id", Text),
        ],
    },
    Table {
        name: "jobs",
        columns: &[
            ("id", Text),
            ("owner_id", Text),
            ("key_id", Text),
            ("book_id", Text),
            ("name", Text),
            ("options", Text),
            ("understood", Text),
            ("state", Text),
            ("reason", Text),
            ("row_count", Number),
            ("read_count", Number),
            ("failed_count", Number),
            ("review_count", Number),
            ("created_at", Number),
            ("started_at", Number),
            ("ended_at", Number),
            ("due_at", Number),
            ("served_at", Number),
            ("starts", Flag),
            ("holder", Text),
            ("held_until", Number),
            ("tries", Number),
        ],
    },
    Table {
        name: "job_parts",
        columns: &[
            ("job_id", Text),
            ("number", Number),
            ("row_count", Number),
            ("asked", Bytes),
            ("answers", Bytes),
            ("times", Bytes),
            ("is_done", Flag),
            ("tries", Number),
            ("holder", Text),
            ("held_until", Number),
            ("due_at", Number),
            ("done_at", Number),
        ],
    },
    // With their secrets: after a restore the receivers must still know us.
    Table {
        name: "webhook_endpoints",
        columns: &[
            ("id", Text),
            ("owner_id", Text),
            ("url", Text),
            ("events", Text),
            ("secret", Bytes),
            ("old_secret", Bytes),
            ("old_secret_until", Number),
            ("created_at", Number),
            ("disabled_at", Number),
            ("disabled_reason", Text),
            ("holder", Text),
            ("held_until", Number),
            ("served_at", Number),
        ],
    },
    Table {
        name: "webhook_deliveries",
        columns: &[
            ("seq", Number),
            ("id", Text),
            ("endpoint_id", Text),
            ("kind", Text),
            ("subject", Text),
            ("payload", Text),
            ("state", Text),
            ("created_at", Number),
            ("begun_at", Number),
            ("attempts", Number),
            ("tried_at", Number),
            ("due_at", Number),
            ("ended_at", Number),
            ("status", Number),
            ("failure", Text),
        ],
    },
    Table {
        name: "quota_told",
        columns: &[
            ("owner_id", Text),
            ("period", Text),
            ("low_of", Number),
            ("exhausted_of", Number),
            ("told_at", Number),
        ],
    },
];

/// Every table that is kept, with its columns.
pub fn kept() -> Vec<(&'static str, Vec<&'static str>)> {
    TABLES.iter().map(|table| (table.name, table.names())).collect()
}

impl Table {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(name, _)| *name).collect()
    }

    pub(super) fn column(&self, name: &str) -> Option<(&'static str, ColumnKind)> {
        self.columns.iter().find(|(known, _)| *known == name).copied()
    }
}
