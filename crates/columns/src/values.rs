//! The values of a page, in each of the encodings that text and numbers are written in.

use std::ops::Range;
use std::vec;

use super::footer::Kind;
use super::{ColumnsError, fault};

/// Values of one block of deltas. Writers have 128 or 1,024.
const BLOCK_VALUES_MAX: u64 = 1 << 16;
/// Writers stop at a page of 1 MiB, which has room for a quarter of that.
const DICTIONARY_ENTRIES_MAX: usize = 1_000_000;

/// The encodings of `parquet.thrift`.
pub(super) const PLAIN: i64 = 0;
pub(super) const PLAIN_DICTIONARY: i64 = 2;
pub(super) const RLE: i64 = 3;
const DELTA_BINARY_PACKED: i64 = 5;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;
const RLE_DICTIONARY: i64 = 8;

/// The values of a page that are still to come. The bytes of the page are given at every call.
#[derive(Debug)]
pub(super) enum Values {
    /// Each with its length before it.
    Plain { at: usize },
    /// All of one length.
    Fixed { at: usize, length: usize },
    /// Numbers of entries of the dictionary.
    Numbers(Runs),
    /// All lengths first.
    Lengths { lengths: vec::IntoIter<i64>, at: usize },
    /// How much each has of the one before, then what it adds.
    Prefixes { prefixes: vec::IntoIter<i64>, lengths: vec::IntoIter<i64>, at: usize, value: Vec<u8> },
    /// Whole numbers as differences.
    Differences(vec::IntoIter<i64>),
    /// Truths, a bit each.
    Bits { bit: usize },
    /// Truths in runs.
    Truths(Runs),
}

impl Values {
    /// `count` is how many there are at most.
    pub(super) fn new(encoding: i64, kind: Kind, bytes: &[u8], at: usize, count: usize) -> Result<Self, ColumnsError> {
        let mut at = at;
        match (encoding, kind.width()) {
            (PLAIN, _) if kind == Kind::Truth => Ok(Self::Bits { bit: at.saturating_mul(8) }),
            (RLE, _) if kind == Kind::Truth => {
                // Their length comes first.
                taken(bytes, &mut at, 4)?;
                Ok(Self::Truths(Runs::new(1, at..bytes.len())?))
            }
            (DELTA_BINARY_PACKED, Some(_)) if !kind.is_bytes() => {
                Ok(Self::Differences(deltas(bytes, &mut at, count)?.into_iter()))
            }
            (PLAIN, None) => Ok(Self::Plain { at }),
            (PLAIN, Some(length)) => Ok(Self::Fixed { at, length }),
            (PLAIN_DICTIONARY | RLE_DICTIONARY, _) => {
                let width = *bytes.get(at).ok_or_else(short)?;
                Ok(Self::Numbers(Runs::new(width.into(), at.saturating_add(1)..bytes.len())?))
            }
            (DELTA_LENGTH_BYTE_ARRAY, None) => {
                let lengths = deltas(bytes, &mut at, count)?.into_iter();
                Ok(Self::Lengths { lengths, at })
            }
            (DELTA_BYTE_ARRAY, _) if kind.is_bytes() => {
                let prefixes = deltas(bytes, &mut at, count)?.into_iter();
                let lengths = deltas(bytes, &mut at, count)?.into_iter();
                Ok(Self::Prefixes { prefixes, lengths, at, value: Vec::new() })
            }
            _ => Err(fault(format!("it has the encoding {encoding}, which is not read here"))),
        }
    }

    pub(super) fn next<'a>(
        &'a mut self,
        bytes: &'a [u8],
        dictionary: Option<&'a Dictionary>,
        bytes_max: usize,
    ) -> Result<&'a [u8], ColumnsError> {
        match self {
            Self::Plain { at } => {
                let range = plain(bytes, at)?;
                bytes.get(range).ok_or_else(short)
            }
            Self::Fixed { at, length } => taken(bytes, at, *length),
            Self::Numbers(runs) => {
                let number = runs.next(bytes)?;
                let dictionary = dictionary.ok_or_else(|| fault("its dictionary is missing"))?;
                dictionary.entry(number).ok_or_else(|| fault("its dictionary has no such entry"))
            }
            Self::Lengths { lengths, at } => taken(bytes, at, length(lengths)?),
            Self::Prefixes { prefixes, lengths, at, value } => {
                let kept = length(prefixes)?;
                if kept > value.len() {
                    return Err(fault("a value continues more than the one before it has"));
                }
                value.truncate(kept);
                value.extend_from_slice(taken(bytes, at, length(lengths)?)?);
                if value.len() > bytes_max {
                    return Err(fault(format!("a value is longer than {bytes_max} bytes")));
                }
                Ok(value)
            }
            Self::Differences(_) | Self::Bits { .. } | Self::Truths(_) => Err(fault("it holds numbers")),
        }
    }

    pub(super) fn next_number(&mut self, bytes: &[u8], dictionary: Option<&Dictionary>) -> Result<i64, ColumnsError> {
        match self {
            Self::Differences(numbers) => numbers.next().ok_or_else(short),
            Self::Bits { bit } => bits(bytes, bit, 1).map(u64::cast_signed),
            Self::Truths(runs) => runs.next(bytes).map(u64::cast_signed),
            Self::Plain { .. }
            | Self::Fixed { .. }
            | Self::Numbers(_)
            | Self::Lengths { .. }
            | Self::Prefixes { .. } => {
                let value = self.next(bytes, dictionary, size_of::<i64>())?;
                let short = || value.try_into().map(i32::from_le_bytes).map(i64::from);
                let long = || value.try_into().map(i64::from_le_bytes);
                short().or_else(|_| long()).map_err(|_| fault("it holds no number"))
            }
        }
    }
}

/// Values that pages refer to by number.
#[derive(Debug)]
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    entries: Vec<Range<usize>>,
}

impl Dictionary {
    pub(super) fn new(bytes: Vec<u8>, fixed: Option<usize>, count: u64) -> Result<Self, ColumnsError> {
        let count = usize::try_from(count).ok().filter(|count| *count <= DICTIONARY_ENTRIES_MAX);
        let most = DICTIONARY_ENTRIES_MAX;
        let count = count.ok_or_else(|| fault(format!("its dictionary has more than {most} entries")))?;
        let mut at = 0_usize;
        let mut entries = Vec::new();
        for _ in 0..count {
            let range = match fixed {
                Some(length) => at..at.saturating_add(length),
                None => plain(&bytes, &mut at)?,
            };
            at = range.end;
            if at > bytes.len() {
                return Err(short());
            }
            entries.push(range);
        }
        Ok(Self { bytes, entries })
    }

    fn entry(&self, number: u64) -> Option<&[u8]> {
        self.bytes.get(self.entries.get(usize::try_from(number).ok()?)?.clone())
    }
}

/// Small numbers of one width: one that repeats, or eight and more that are packed.
#[derive(Debug)]
pub(super) struct Runs {
    width: usize,
    at: usize,
    end: usize,
    repeated: u64,
    number: u64,
    packed: u64,
    bit: usize,
}

impl Runs {
    pub(super) fn new(width: usize, bytes: Range<usize>) -> Result<Self, ColumnsError> {
        if width > 32 {
            return Err(fault(format!("numbers of {width} bits are too wide")));
        }
        Ok(Self { width, at: bytes.start, end: bytes.end, repeated: 0, number: 0, packed: 0, bit: 0 })
    }

    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<u64, ColumnsError> {
        let bytes = bytes.get(..self.end).ok_or_else(short)?;
        while self.repeated == 0 && self.packed == 0 {
            let head = varint(bytes, &mut self.at)?;
            let run = head >> 1;
            if head & 1 == 0 {
                self.repeated = run;
                let number = taken(bytes, &mut self.at, self.width.div_ceil(8))?;
                self.number = number.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte));
            } else {
                self.packed = run.saturating_mul(8);
                self.bit = self.at.saturating_mul(8);
                let length = usize::try_from(run).unwrap_or(usize::MAX).saturating_mul(self.width);
                self.at = self.at.saturating_add(length);
            }
        }
        if self.repeated > 0 {
            self.repeated = self.repeated.saturating_sub(1);
            return Ok(self.number);
        }
        self.packed = self.packed.saturating_sub(1);
        bits(bytes, &mut self.bit, self.width)
    }
}

/// Numbers that are written as differences, in blocks of small blocks, each of which has a width of its own.
fn deltas(bytes: &[u8], at: &mut usize, count_max: usize) -> Result<Vec<i64>, ColumnsError> {
    let (block, parts) = (varint(bytes, at)?, varint(bytes, at)?);
    let count = usize::try_from(varint(bytes, at)?).ok().filter(|count| *count <= count_max);
    let count = count.ok_or_else(|| fault("a page has more lengths than values"))?;
    let mut last = zigzag(varint(bytes, at)?);
    let part_values = block.checked_div(parts).filter(|values| *values > 0 && block <= BLOCK_VALUES_MAX);
    let part_values = part_values.ok_or_else(|| fault("a block of lengths has no size"))?;
    let mut numbers = Vec::new();
    if count > 0 {
        numbers.push(last);
    }
    while numbers.len() < count {
        let least = zigzag(varint(bytes, at)?);
        let widths = taken(bytes, at, usize::try_from(parts).unwrap_or(usize::MAX))?;
        for width in widths.iter().copied().map(usize::from) {
            // Parts that no value is left for have no bytes, whatever their width says.
            if numbers.len() >= count {
                break;
            }
            let values = usize::try_from(part_values).unwrap_or(usize::MAX);
            let mut bit = at.saturating_mul(8);
            *at = at.saturating_add(values.saturating_mul(width) / 8);
            for _ in 0..values.min(count.saturating_sub(numbers.len())) {
                let delta = bits(bytes, &mut bit, width)?.cast_signed();
                last = last.wrapping_add(least).wrapping_add(delta);
                numbers.push(last);
            }
        }
    }
    Ok(numbers)
}

/// The place of a value with its length before it.
fn plain(bytes: &[u8], at: &mut usize) -> Result<Range<usize>, ColumnsError> {
    let length = taken(bytes, at, 4)?;
    let length = length.iter().rev().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    let start = *at;
    taken(bytes, at, length)?;
    Ok(start..*at)
}

fn taken<'a>(bytes: &'a [u8], at: &mut usize, length: usize) -> Result<&'a [u8], ColumnsError> {
    let end = at.checked_add(length).ok_or_else(short)?;
    let part = bytes.get(*at..end).ok_or_else(short)?;
    *at = end;
    Ok(part)
}

fn length(lengths: &mut vec::IntoIter<i64>) -> Result<usize, ColumnsError> {
    let length = lengths.next().ok_or_else(short)?;
    usize::try_from(length).map_err(|_| fault("a length is negative"))
}

/// The next so many bits, the lowest first.
fn bits(bytes: &[u8], bit: &mut usize, width: usize) -> Result<u64, ColumnsError> {
    if width > 64 {
        return Err(fault(format!("numbers of {width} bits are too wide")));
    }
    let end = bit.checked_add(width).ok_or_else(short)?;
    let part = bytes.get(*bit / 8..end.div_ceil(8)).ok_or_else(short)?;
    let whole = part.iter().rev().fold(0_u128, |whole, byte| (whole << 8) | u128::from(*byte));
    let mask = (1_u128 << width).wrapping_sub(1);
    let number = (whole >> (*bit % 8)) & mask;
    *bit = end;
    u64::try_from(number).map_err(|_| short())
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, ColumnsError> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = taken(bytes, at, 1)?.first().copied().unwrap_or_default();
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(fault("a number is too long"))
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg()
}

pub(super) fn short() -> ColumnsError {
    fault("a page ends before its last value")
}
