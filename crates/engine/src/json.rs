//! Answers as JSON, byte for byte as `serde_json` writes them, for less: names of fields are written without a search for bytes to escape, and
//! text is searched many bytes at a time (`bench/run engine`). Only what answers are made of is written; anything else is an error.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeSeq, SerializeStruct, Serializer};
use serde_json::Error;

/// Appends the value as JSON.
pub fn write(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    value.serialize(&mut Writer { bytes })
}

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) -> Result<(), Error> {
        if !is_plain(text.as_bytes()) {
            return serde_json::to_writer(&mut *self.bytes, text);
        }
        self.quoted(text);
        Ok(())
    }

    fn quoted(&mut self, plain: &str) {
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(plain.as_bytes());
        self.bytes.push(b'"');
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

/// Whether no byte of the text has to be escaped. Blocks of a fixed length are compared a whole block at a time, and the last one overlaps those before
/// it: to look at what is left byte by byte costs more than all of them.
fn is_plain(text: &[u8]) -> bool {
    match text.len() {
        0..4 => text.iter().fold(true, |plain, byte| plain & needs_no_escape(&[*byte])),
        4..8 => are_ends_plain::<4>(text),
        8..16 => are_ends_plain::<8>(text),
        16..32 => are_ends_plain::<16>(text),
        32..64 => are_ends_plain::<32>(text),
        _ => are_ends_plain::<64>(text) && text.as_chunks::<64>().0.iter().all(needs_no_escape),
    }
}

/// A text of up to twice this length is all in its ends.
fn are_ends_plain<const N: usize>(text: &[u8]) -> bool {
    text.first_chunk::<N>().is_some_and(needs_no_escape) && text.last_chunk::<N>().is_some_and(needs_no_escape)
}

/// A fold and not `any`: without an early end the compiler looks at all bytes at once.
fn needs_no_escape<const N: usize>(block: &[u8; N]) -> bool {
    let odd = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    block.iter().fold(0, |found, byte| found | odd(*byte)) == 0
}

fn unused<T>() -> Result<T, Error> {
    Err(Error::custom("no answer holds this"))
}

/// A struct or a list while it is written.
struct Open<'a, 'b> {
    writer: &'a mut Writer<'b>,
    /// What is written before the next member: the bracket that opens, then commas.
    before_next: u8,
}

impl Open<'_, '_> {
    fn next(&mut self) -> u8 {
        std::mem::replace(&mut self.before_next, b',')
    }

    fn close(mut self, opening: u8, closing: u8) {
        if self.next() == opening {
            self.writer.bytes.push(opening);
        }
        self.writer.bytes.push(closing);
    }
}

impl SerializeStruct for Open<'_, '_> {
    type Ok = ();
    type Error = Error;

    /// Where it is inlined the name's length is known, and to copy it takes an instruction or two.
    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        let before = [self.next(), b'"'];
        self.writer.bytes.extend_from_slice(&before);
        self.writer.bytes.extend_from_slice(name.as_bytes());
        self.writer.bytes.extend_from_slice(b"\":");
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close(b'{', b'}');
        Ok(())
    }
}

impl SerializeSeq for Open<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let before = self.next();
        self.writer.bytes.push(before);
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close(b'[', b']');
        Ok(())
    }
}

impl<'a, 'b> Serializer for &'a mut Writer<'b> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Open<'a, 'b>;
    type SerializeStruct = Open<'a, 'b>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.bytes.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.number(value.into());
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.number(value.into());
        Ok(())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.number(value.into());
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.number(value);
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.bytes.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    /// Names of variants are words of ours.
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.quoted(variant);
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a, 'b>, Error> {
        Ok(Open { writer: self, before_next: b'[' })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a, 'b>, Error> {
        Ok(Open { writer: self, before_next: b'{' })
    }

    fn serialize_i8(self, _: i8) -> Result<(), Error> {
        unused()
    }

    fn serialize_i16(self, _: i16) -> Result<(), Error> {
        unused()
    }

    fn serialize_i32(self, _: i32) -> Result<(), Error> {
        unused()
    }

    fn serialize_i64(self, _: i64) -> Result<(), Error> {
        unused()
    }

    fn serialize_f32(self, _: f32) -> Result<(), Error> {
        unused()
    }

    fn serialize_f64(self, _: f64) -> Result<(), Error> {
        unused()
    }

    fn serialize_char(self, _: char) -> Result<(), Error> {
        unused()
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Error> {
        unused()
    }

    fn serialize_unit(self) -> Result<(), Error> {
        unused()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        unused()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        unused()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        unused()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        unused()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        unused()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        unused()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        unused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classification::{Action, AssetLeg};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_written_as_serde_json_writes_it(symbol: String, name in proptest::option::of(".*"), decimals: Option<u8>, odd: bool) {
            let leg = AssetLeg {
                symbol,
                amount: "1.5".to_owned(),
                action: Action::PaidGas,
                decimals,
                token_address: None,
                token_name: name,
                to: Some(crate::Account::Evm(alloy_primitives::Address::ZERO)),
                from: None,
                token_type: None,
                token_id: Some("\u{1}\"\\\n".to_owned()),
                symbol_collision: odd,
                display_symbol: None,
                inferred: odd,
                inferred_basis: None,
            };
            let legs = vec![leg.clone(), leg];
            let mut bytes = Vec::new();
            write(&mut bytes, &legs).unwrap();
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), serde_json::to_string(&legs).unwrap());
        }
    }

    #[test]
    fn what_no_answer_holds_is_an_error() {
        assert!(write(&mut Vec::new(), &1.5_f64).is_err());
    }
}
