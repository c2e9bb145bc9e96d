//! Rows that say the same of several events or calls: `signature` is a text, or a list of them.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::{CallRow, EventRow};

/// One or more signatures, each with its place in the file.
#[derive(Debug, Clone)]
pub struct Signatures(Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for Signatures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Spanned::<OneOrMore<Spanned<String>, String>>::deserialize(deserializer)?;
        let span = written.span();
        Ok(Self(match written.into_inner() {
            OneOrMore::One(text) => vec![Spanned::new(span, text)],
            OneOrMore::More(texts) => texts,
        }))
    }
}

/// A text, or a list that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMore<M, O = M> {
    One(O),
    More(Vec<M>),
}

impl<T> OneOrMore<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(all) => all,
        }
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for OneOrMore<M, String> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrList(std::marker::PhantomData))
    }
}

struct TextOrList<M>(std::marker::PhantomData<M>);

impl<'de, M: Deserialize<'de>> Visitor<'de> for TextOrList<M> {
    type Value = OneOrMore<M, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(OneOrMore::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        if all.is_empty() { Err(A::Error::custom("the list is empty")) } else { Ok(OneOrMore::More(all)) }
    }
}

/// A row of a pack that has one signature, and how it is written.
pub(super) trait SignedRow: Sized {
    type Written;

    fn each(written: Self::Written) -> Vec<Self>;
}

impl SignedRow for EventRow {
    type Written = EventRow<Signatures>;

    fn each(written: Self::Written) -> Vec<Self> {
        let one = |signature: &Spanned<String>| {
            let row = written.clone();
            EventRow {
                signature: signature.clone(),
                on: row.on,
                topic0: row.topic0,
                means: row.means,
                who: row.who,
                whose: row.whose,
                becomes: row.becomes,
                out: row.out,
                incoming: row.incoming,
                role: row.role,
                beside: row.beside,
                without: row.without,
                named_by: row.named_by,
                not_named_by: row.not_named_by,
                equals: row.equals,
                same: row.same,
                differ: row.differ,
                holds: row.holds,
                positive: row.positive,
                negative: row.negative,
                derive: row.derive,
                reader: row.reader,
                own: row.own,
                escrowed: row.escrowed,
                unsettled: row.unsettled,
                perhaps: row.perhaps,
            }
        };
        written.signature.0.iter().map(one).collect()
    }
}

impl SignedRow for CallRow {
    type Written = CallRow<Signatures>;

    fn each(written: Self::Written) -> Vec<Self> {
        let one = |signature: &Spanned<String>| {
            let row = written.clone();
            CallRow {
                signature: signature.clone(),
                on: row.on,
                means: row.means,
                who: row.who,
                whose: row.whose,
                becomes: row.becomes,
                out: row.out,
                incoming: row.incoming,
                opens: row.opens,
                target: row.target,
                zero: row.zero,
                positive: row.positive,
                differ: row.differ,
                keeps: row.keeps,
                unwraps: row.unwraps,
                refunds: row.refunds,
                runs: row.runs,
                unsettled: row.unsettled,
            }
        };
        written.signature.0.iter().map(one).collect()
    }
}
