//! The compact form of Thrift, which Parquet's footer and the headers of its pages are written in.

use std::io::{self, Read};

use super::{ColumnsError, fault};

/// Fields within fields; Parquet itself has seven.
const DEPTH_MAX: usize = 16;
/// What is kept of a name. Longer ones are skipped, as statistics are.
const KEPT_BYTES_MAX: u64 = 1_000;

/// What stands at a place. A list has no place of its own: its items stand where it does.
#[derive(Debug)]
pub(super) enum Seen<'a> {
    /// A structure begins.
    Begin,
    End,
    Bool(bool),
    Integer(i64),
    Bytes(&'a [u8]),
    LongBytes,
}

/// Whoever sees the fields: each place is the numbers of the fields that lead to it.
pub(super) type See<'a> = &'a mut dyn FnMut(&[i16], Seen<'_>) -> Result<(), ColumnsError>;

/// Reads one structure of at most so many bytes. Nothing is allocated by what it claims, and the work is linear in the bytes that are there.
pub(super) fn walk(input: &mut dyn Read, bytes_max: u64, see: See<'_>) -> Result<(), ColumnsError> {
    let mut walker = Walker { input, left: bytes_max, path: Vec::new(), see };
    walker.structure(0)
}

struct Walker<'a> {
    input: &'a mut dyn Read,
    left: u64,
    path: Vec<i16>,
    see: See<'a>,
}

impl Walker<'_> {
    fn structure(&mut self, depth: usize) -> Result<(), ColumnsError> {
        if depth > DEPTH_MAX {
            return Err(fault("its metadata is nested too deeply"));
        }
        (self.see)(&self.path, Seen::Begin)?;
        let mut last = 0_i16;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return (self.see)(&self.path, Seen::End);
            }
            let field = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok(),
                step => last.checked_add(i16::from(step)),
            };
            last = field.ok_or_else(|| fault("a field of its metadata has no number"))?;
            self.path.push(last);
            // A boolean field is its own kind, and has no bytes.
            match kind {
                1 | 2 => (self.see)(&self.path, Seen::Bool(kind == 1))?,
                _ => self.value(kind, depth)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<(), ColumnsError> {
        match kind {
            1 | 2 => {
                let truth = self.byte()? == 1;
                (self.see)(&self.path, Seen::Bool(truth))
            }
            3 => {
                let integer = i64::from(self.byte()?);
                (self.see)(&self.path, Seen::Integer(integer))
            }
            4..=6 => {
                let integer = self.zigzag()?;
                (self.see)(&self.path, Seen::Integer(integer))
            }
            7 => self.skip(8),
            8 => self.bytes(),
            9 | 10 => self.list(depth.saturating_add(1)),
            12 => self.structure(depth.saturating_add(1)),
            13 => self.skip(16),
            _ => Err(fault(format!("its metadata has a field of the kind {kind}"))),
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), ColumnsError> {
        if depth > DEPTH_MAX {
            return Err(fault("its metadata is nested too deeply"));
        }
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        // Every item has a byte at least, so that the bytes that are there bound the loop.
        for _ in 0..count {
            self.value(head & 0x0f, depth)?;
        }
        Ok(())
    }

    fn bytes(&mut self) -> Result<(), ColumnsError> {
        let length = self.varint()?;
        if length > KEPT_BYTES_MAX {
            self.skip(length)?;
            return (self.see)(&self.path, Seen::LongBytes);
        }
        let mut bytes = Vec::new();
        self.spend(length)?;
        if self.input.take(length).read_to_end(&mut bytes)? < usize::try_from(length).unwrap_or(usize::MAX) {
            return Err(ended());
        }
        (self.see)(&self.path, Seen::Bytes(&bytes))
    }

    fn skip(&mut self, length: u64) -> Result<(), ColumnsError> {
        self.spend(length)?;
        let skipped = io::copy(&mut (&mut *self.input).take(length), &mut io::sink())?;
        if skipped == length { Ok(()) } else { Err(ended()) }
    }

    fn zigzag(&mut self) -> Result<i64, ColumnsError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg())
    }

    fn varint(&mut self) -> Result<u64, ColumnsError> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(fault("a number of its metadata is too long"))
    }

    fn byte(&mut self) -> Result<u8, ColumnsError> {
        self.spend(1)?;
        let mut byte = [0];
        match self.input.read_exact(&mut byte) {
            Ok(()) => Ok(u8::from_le_bytes(byte)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ended()),
            Err(error) => Err(error.into()),
        }
    }

    fn spend(&mut self, bytes: u64) -> Result<(), ColumnsError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| fault("its metadata does not end"))?;
        Ok(())
    }
}

fn ended() -> ColumnsError {
    fault("it ends in the middle of its metadata")
}
