//! What categories come to under the law of one jurisdiction: treatment, ledger action, basis, authorities, grey area, and the policy key that
//! governs them. The tables are data (`treatments/<jurisdiction>.toml`), passed in like the rules, so a second table is a file.

mod file;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::category::{Bill, Category, Legs};
use crate::opinion::Perhaps;
use crate::policy::PolicyKey;
use crate::rules::Fault;
use crate::rules::embedded::TREATMENTS;
use crate::treatment::{LedgerAction, Treatment};

/// Goes along with every answer that a person reads.
pub const DISCLAIMER: &str = "Classifications are informational only and are not tax advice.";
/// The table of the house, by its file's name without ending.
const HOUSE: &str = "us";

/// When a grey area is shown, or a row holds something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GreyCondition)]
pub enum Condition {
    /// The other party is not one of the caller's own wallets.
    OtherPartyUnknown,
    /// The payee is known only by the shape of the payment.
    PayeeByShape,
    /// The repaid asset is not the borrowed one.
    RepaidAssetDiffers,
    /// The wallet did not claim it itself.
    NotClaimedByWallet,
    /// Another token arrives than the one that left.
    AnotherTokenArrives,
    /// The assets are of one family, such as USDC and USDC.e.
    OneFamily,
    /// Nothing was paid.
    Free,
    /// A lock that may count as an exchange.
    LockReceipt,
    /// Something left the wallet and something came in.
    BothWays,
    OnlySent,
    OnlyReceived,
    /// Something left the wallet, whatever came in.
    SomethingSent,
}

/// One law: what every category comes to.
#[derive(Debug)]
pub struct Treatments {
    /// The word by which requests choose it, such as `us`.
    pub jurisdiction: String,
    pub name: String,
    /// The day on which the table was checked against its authorities.
    pub as_of: String,
    pub authorities: Vec<Authority>,
    rows: BTreeMap<Category, TreatmentRow>,
    /// What a rule says that a claim may be instead.
    perhaps: BTreeMap<Perhaps, Grey>,
    /// What a category without a row comes to: loading refuses a table that lacks one.
    unknown: TreatmentRow,
    pub(crate) digest: [u8; 32],
}

#[derive(Debug, Clone)]
pub struct TreatmentRow {
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
    pub policy: Option<PolicyKey>,
    pub basis: String,
    /// What holds under a condition; the first that does wins.
    pub instead: Vec<Instead>,
    pub grey: Option<Arc<Grey>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    pub when: Condition,
    pub treatment: Treatment,
    pub ledger_action: LedgerAction,
}

/// More than one position can be defended.
#[derive(Debug, Clone)]
pub struct Grey {
    /// Always, where there is no condition.
    pub when: Option<Condition>,
    pub note: String,
    pub alternate: GreySide,
    /// The alternate under a condition; the first that holds wins.
    pub instead: Vec<(Condition, GreySide)>,
}

/// The position not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = GreySide)]
pub struct GreySide {
    pub treatment: Treatment,
    /// The position in a few words.
    pub label: String,
    /// What the ledger does when a policy takes this side.
    #[serde(skip)]
    pub ledger_action: Option<LedgerAction>,
}

/// What bases and notes may cite.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    pub name: String,
    /// The words by which a basis or a note cites it.
    pub cited_as: String,
    pub says: String,
    pub supports: String,
    /// The position that it supports in a grey area.
    pub side: Option<Treatment>,
    /// It is often quoted and decides nothing.
    #[serde(default)]
    pub neither: bool,
}

impl Treatments {
    /// Every embedded table, in order of their files' names.
    pub fn embedded() -> Result<Vec<Self>, Vec<Fault>> {
        let (mut tables, mut faults) = (Vec::new(), Vec::new());
        for (stem, text) in TREATMENTS {
            match file::load(stem, text) {
                Ok(table) => tables.push(table),
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(tables) } else { Err(faults) }
    }

    /// The grey area of what a claim may be instead.
    pub fn perhaps(&self, perhaps: Perhaps) -> Option<&Grey> {
        self.perhaps.get(&perhaps)
    }

    /// The embedded table of the house: the law of the United States.
    pub fn us() -> Result<Self, Vec<Fault>> {
        let house = Self::embedded()?.into_iter().find(|table| table.jurisdiction == HOUSE);
        house.ok_or_else(|| {
            vec![Fault { file: format!("treatments/{HOUSE}.toml"), line: 1, what: "is missing".to_owned() }]
        })
    }

    /// A table from the text of its file; `stem` is the file's name without its ending.
    pub fn parse(stem: &str, text: &str) -> Result<Self, Vec<Fault>> {
        file::load(stem, text)
    }

    pub fn row(&self, category: Category) -> &TreatmentRow {
        self.rows.get(&category).unwrap_or(&self.unknown)
    }

    /// Whether the law leaves every transaction of this category to a person.
    pub fn is_open(&self, category: Category) -> bool {
        self.row(category).treatment == Treatment::NeedsReview
    }

    /// Whether the table ever gives this category this treatment without a policy.
    pub fn allows(&self, category: Category, treatment: Treatment) -> bool {
        let row = self.row(category);
        row.treatment == treatment || row.instead.iter().any(|instead| instead.treatment == treatment)
    }

    /// The authorities that a category's basis or grey area cites.
    pub fn cited(&self, category: Category) -> impl Iterator<Item = &Authority> {
        let row = self.row(category);
        let cites = move |text: &str, authority: &Authority| text.contains(&authority.cited_as);
        self.authorities.iter().filter(move |authority| {
            cites(&row.basis, authority) || row.grey.as_ref().is_some_and(|grey| cites(&grey.note, authority))
        })
    }

    /// The categories that a policy key governs.
    pub fn governed(&self, key: PolicyKey) -> impl Iterator<Item = Category> {
        self.rows.iter().filter(move |(_, row)| row.policy == Some(key)).map(|(category, _)| *category)
    }

    /// Every category as integrators and agents see it.
    pub fn category_rows(&self) -> impl Iterator<Item = CategoryRow> {
        crate::category::TABLE.iter().map(|row| self.category_row(row.category))
    }

    pub fn category_row(&self, category: Category) -> CategoryRow {
        let (meaning, row) = (category.meaning(), self.row(category));
        CategoryRow {
            category,
            about: meaning.about.to_owned(),
            treatment: row.treatment,
            taxable: row.treatment.taxable(),
            ledger_action: row.ledger_action,
            billing: meaning.bill,
            needs_legs: meaning.legs,
            policy: row.policy,
            basis: row.basis.clone(),
            authorities: self.cited(category).map(|authority| authority.name.clone()).collect(),
            grey_area: row.grey.as_ref().map(|grey| GreyRow {
                when: grey.when,
                note: grey.note.clone(),
                alternate: grey.alternate.clone(),
            }),
        }
    }
}

/// One category, with what the house makes of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CategoryRow {
    pub category: Category,
    /// What it is, in plain words.
    pub about: String,
    pub treatment: Treatment,
    /// As on a result: null is undetermined.
    #[schema(required)]
    pub taxable: Option<bool>,
    pub ledger_action: LedgerAction,
    pub billing: Bill,
    pub needs_legs: Legs,
    /// The caller's switch that governs it, where one does.
    #[schema(required)]
    pub policy: Option<PolicyKey>,
    /// What the treatment rests on.
    pub basis: String,
    /// The authorities that the basis and the grey area cite.
    pub authorities: Vec<String>,
    /// The other defensible side, where there is one.
    #[schema(required)]
    pub grey_area: Option<GreyRow>,
}

/// The other defensible side of a category.
#[derive(Debug, Serialize, ToSchema)]
pub struct GreyRow {
    /// Set only under this condition; null is always.
    #[schema(required)]
    pub when: Option<Condition>,
    /// What the positions rest on.
    pub note: String,
    pub alternate: GreySide,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::KEYS;

    #[test]
    fn the_embedded_table_is_sound_and_names_its_words_as_the_interface_does() {
        let us = Treatments::us().expect("treatments/us.toml loads");
        for row in us.category_rows() {
            assert_eq!(serde_json::json!(row.ledger_action), row.ledger_action.name());
            assert_eq!(serde_json::json!(row.treatment), row.treatment.name());
            assert_eq!(serde_json::json!(row.billing), row.billing.name());
        }
        assert!(us.authorities.len() >= 13);
    }

    #[test]
    fn every_policy_question_cites_an_authority() {
        let us = Treatments::us().expect("treatments/us.toml loads");
        for key in KEYS.iter().map(|row| row.key) {
            assert!(us.governed(key).next().is_some(), "{key:?} governs nothing");
            for category in us.governed(key) {
                let note = us.row(category).grey.as_ref().map(|grey| grey.note.as_str()).unwrap_or_default();
                assert!(us.authorities.iter().any(|authority| note.contains(&authority.cited_as)), "{category:?}");
            }
        }
    }
}
