//! Rows of facts, as anybody may write them.

use std::sync::LazyLock;

use engine::{Facts, Knowledge, Missing, Question, Registry, read};
use facts::{RowJson, RowText};

use crate::contract;

#[expect(clippy::expect_used, reason = "without rules there is nothing to hold")]
static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));
#[expect(clippy::expect_used, reason = "without chains there is nothing to hold")]
static CHAINS: LazyLock<Registry> = LazyLock::new(|| {
    let mut chains = Registry::embedded().expect("chains.toml loads");
    chains.add(include_str!("../../demo/chain.toml")).expect("the demo chains load");
    chains
});

/// A row as JSON. What can be read of it is read, and what the engine was told is all in the row that is written of it: that row reads to the same verdict, and
/// writes to the same row.
#[expect(clippy::panic, reason = "a target panics when its property is broken")]
pub fn row(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(row) = RowJson::parse(text) else { return };
    let Ok((facts, wallet)) = row.row().facts(&CHAINS) else { return };
    let written = RowText::of(&facts, wallet).unwrap_or_else(|error| panic!("facts are not written: {error}"));
    let again = written.row().facts(&CHAINS);
    let (again, asked) = again.unwrap_or_else(|error| panic!("what was written is not read: {error}: {written:?}"));
    assert_eq!(asked, wallet);
    assert_eq!(verdict(&again, asked), verdict(&facts, wallet));
    assert_eq!(RowText::of(&again, asked).ok().as_ref(), Some(&written));
}

fn verdict(facts: &Facts, wallet: Option<engine::Account>) -> Option<Vec<u8>> {
    let question = Question { wallet, explain: true, ..Question::default() };
    let answer = read(facts, &question, &KNOWLEDGE, Missing::Accept).ok()?.done()?;
    contract::holds(&answer);
    let mut bytes = Vec::new();
    answer.write_json(&mut bytes).ok()?;
    Some(bytes)
}
