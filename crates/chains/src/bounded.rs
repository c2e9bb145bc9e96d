//! Lists of unknown length from a node, counted while they are read: a few bytes of JSON may become hundreds in memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer as _, Error, SeqAccess, Visitor};

/// The members of a JSON array; `None` for anything else, and for more members than `most`.
pub(crate) fn list<'de, T: Deserialize<'de>>(text: &'de str, most: usize) -> Option<Vec<T>> {
    struct ListVisitor<T> {
        most: usize,
        members: PhantomData<T>,
    }
    impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(member) = members.next_element()? {
                if list.len() >= self.most {
                    return Err(A::Error::custom("too many members"));
                }
                list.push(member);
            }
            Ok(list)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let list = reader.deserialize_seq(ListVisitor { most, members: PhantomData }).ok()?;
    reader.end().ok().map(|()| list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_too_long_or_none_is_refused() {
        assert_eq!(list::<u8>("[1,2,3]", 3), Some(vec![1, 2, 3]));
        for refused in ["[1,2,3,4]", "[1,2", "{}", "null", "[1,\"2\"]", "[1] 2"] {
            assert_eq!(list::<u8>(refused, 3), None, "{refused}");
        }
    }
}
