//! The caller's house position on four two-sided treatments. One table has the keys with their values, defaults and wording: the request's
//! schema, the pages, the command line and the docs print it.

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::treatment::Treatment;

/// The caller's switch that governs a category, where one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKey {
    Lp,
    Wrap,
    Lst,
    Staking,
}

/// One key of the request's `policy`.
#[derive(Debug)]
pub struct PolicyRow {
    pub key: PolicyKey,
    /// As requests write it.
    pub name: &'static str,
    /// What it governs, for whoever reads the schema.
    pub about: &'static str,
    /// The same as a person is asked it.
    pub question: &'static str,
    /// The house default first.
    pub choices: [Choice; 2],
}

/// One value that a key takes.
#[derive(Debug)]
pub struct Choice {
    /// As requests write it.
    pub name: &'static str,
    pub treatment: Treatment,
    pub label: &'static str,
}

const DISPOSAL: Choice = Choice { name: "disposal", treatment: Treatment::Disposal, label: "A disposal" };
const CARRIED: Choice =
    Choice { name: "non_taxable", treatment: Treatment::NonTaxable, label: "Not taxable, basis carried" };
const INCOME: Choice = Choice { name: "income", treatment: Treatment::Income, label: "Income when received" };
const DEFERRED: Choice = Choice { name: "defer", treatment: Treatment::NonTaxable, label: "Deferred until disposal" };

pub const KEYS: [PolicyRow; 4] = [
    PolicyRow {
        key: PolicyKey::Lp,
        name: "lp",
        about: "Entry and exit of liquidity pools:",
        question: "Entering and leaving liquidity pools",
        choices: [DISPOSAL, CARRIED],
    },
    PolicyRow {
        key: PolicyKey::Wrap,
        name: "wrap",
        about: "Wrapping and unwrapping of the same underlying:",
        question: "Wrapping and unwrapping a coin",
        choices: [CARRIED, DISPOSAL],
    },
    PolicyRow {
        key: PolicyKey::Lst,
        name: "lst",
        about: "Minting and redeeming of liquid-staking tokens:",
        question: "Liquid-staking tokens, minted and redeemed",
        choices: [DISPOSAL, CARRIED],
    },
    PolicyRow {
        key: PolicyKey::Staking,
        name: "staking",
        about: "Timing of rebase rewards only:",
        question: "Staking rewards by rebase",
        choices: [INCOME, DEFERRED],
    },
];

impl PolicyKey {
    pub fn row(self) -> &'static PolicyRow {
        let [lp, wrap, lst, staking] = &KEYS;
        match self {
            Self::Lp => lp,
            Self::Wrap => wrap,
            Self::Lst => lst,
            Self::Staking => staking,
        }
    }
}

impl PolicyRow {
    pub fn choice_of(&self, treatment: Treatment) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.treatment == treatment)
    }
}

/// One choice per key, in the order of the table; `None` is the platform default. The wording of the request is lenient by contract: unknown
/// keys and invalid values are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Policy([Option<Treatment>; KEYS.len()]);

impl Policy {
    /// Reads one `key=value`; what is not in the table is ignored.
    pub fn set(&mut self, key: &str, value: &str) {
        for (row, chosen) in KEYS.iter().zip(&mut self.0).filter(|(row, _)| row.name == key) {
            let choice = row.choices.iter().find(|choice| choice.name == value);
            *chosen = choice.map(|choice| choice.treatment).or(*chosen);
        }
    }

    pub fn chosen(&self, key: PolicyKey) -> Option<Treatment> {
        let mut rows = KEYS.iter().zip(self.0);
        rows.find(|(row, _)| row.key == key).and_then(|(_, chosen)| chosen)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut policy = Self::default();
        for (key, value) in &entries {
            if let Some(value) = value.as_str() {
                policy.set(key, value);
            }
        }
        Ok(policy)
    }
}

/// Values of any kind are taken, and ignored when they are not in the table: the schema must not promise a refusal.
impl PartialSchema for Policy {
    fn schema() -> RefOr<Schema> {
        let policy = ObjectBuilder::new().description(Some(
            "The caller's position on four two-sided treatments. Every key is optional; unknown keys and values are ignored and never \
             an error. The position not taken goes to `grey_area.alternate`. A policy never overrides `needs_review`.",
        ));
        let keys = KEYS.iter().fold(policy, |policy, row| {
            let [default, other] = row.choices.each_ref().map(|choice| choice.name);
            let about =
                format!("{} `{default}` (the house default) or `{other}`. Anything else is ignored.", row.about);
            let key = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
            policy.property(row.name, key.description(Some(about)).examples([default, other]))
        });
        keys.into()
    }
}

impl ToSchema for Policy {
    fn name() -> std::borrow::Cow<'static, str> {
        "Policy".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_by_its_row_and_takes_its_two_values() {
        for row in &KEYS {
            assert_eq!(row.key.row().name, row.name);
            for choice in &row.choices {
                let mut policy = Policy::default();
                policy.set(row.name, choice.name);
                assert_eq!(policy.chosen(row.key), Some(choice.treatment), "{}={}", row.name, choice.name);
            }
        }
    }

    #[test]
    fn unknown_keys_and_values_are_ignored() {
        let policy: Policy =
            serde_json::from_str(r#"{"lp":"income","wrap":7,"staking":"defer","colour":"red"}"#).unwrap();
        let mut expected = Policy::default();
        expected.set("staking", "defer");
        assert_eq!(policy, expected);
        assert_eq!(policy.chosen(PolicyKey::Lp), None);
    }
}
