//! Paths to parameters: `amount`, `amounts[0]`, `offer[*].token`, `params.recipient`, `offer.length`, `message[100..132]`. A path becomes a few steps at load;
//! reading follows them through untrusted bytes without allocating, and whatever is outside the bytes is `None`.

use std::sync::Arc;

use alloy_primitives::U256;

use super::abi::{AbiType, Param, head_words};
use crate::evm::json::Log;

type FaultText = String;

/// Members of an array that a rule looks at; one that is longer is not read.
pub const MEMBERS_MAX: usize = 64;

/// A rule looks at no word of packed bytes further on.
const PACKED_BYTES_MAX: usize = 1_024;

/// Where a parameter is: in a topic, in a 32-byte word of the data's head, or behind some steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Topic(usize),
    Word(usize),
    Path(Arc<[PathStep]>),
}

/// A step through ABI-encoded bytes. Offsets count from the beginning of the tuple or array that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    /// So many words further.
    Skip(usize),
    /// To where the offset here points.
    Follow,
    /// Here is the length of a list: to its member of this number, each of so many words.
    Member { index: usize, words: usize },
    /// To each member in turn: of a fixed array `count`, of a list as many as its length says.
    Each { count: Option<usize>, words: usize },
    /// Here is the length of `bytes`: to the word that begins at this one of them.
    Packed { byte: usize },
}

impl Field {
    /// Whether it names each member of an array.
    pub fn repeats(&self) -> bool {
        match self {
            Self::Topic(_) | Self::Word(_) => false,
            Self::Path(steps) => steps.iter().any(|step| matches!(step, PathStep::Each { .. })),
        }
    }

    /// How many members it names in these bytes.
    pub fn count(&self, data: &[u8]) -> Option<usize> {
        let Self::Path(steps) = self else { return Some(1) };
        let Some(each) = steps.iter().position(|step| matches!(step, PathStep::Each { .. })) else { return Some(1) };
        match steps.get(each)? {
            PathStep::Each { count: Some(count), .. } => Some(*count),
            _ => size_at(data, walk(data, steps.get(..each)?, 0)?),
        }
    }

    /// The byte at which it begins; `member` counts from zero and matters only where the field repeats.
    pub fn locate(&self, data: &[u8], member: usize) -> Option<usize> {
        match self {
            Self::Topic(_) => None,
            Self::Word(at) => at.checked_mul(32),
            Self::Path(steps) => walk(data, steps, member),
        }
    }

    /// The word of a log that it names.
    pub fn in_log<'a>(&self, log: &'a Log, member: usize) -> Option<&'a [u8; 32]> {
        match self {
            Self::Topic(at) => log.topics.get(*at).map(|topic| &topic.0),
            Self::Word(_) | Self::Path(_) => self.word(&log.data, member),
        }
    }

    /// What it names of data, where that is `bytes` or `string`.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let at = self.locate(data, 0)?;
        data.get(at.checked_add(32)?..)?.get(..size_at(data, at)?)
    }

    /// The word of data that it names; a topic is not in the data.
    pub fn word<'a>(&self, data: &'a [u8], member: usize) -> Option<&'a [u8; 32]> {
        word_at(data, self.locate(data, member)?)
    }
}

fn walk(data: &[u8], steps: &[PathStep], member: usize) -> Option<usize> {
    let (mut base, mut at) = (0_usize, 0_usize);
    let ahead = |at: usize, index: usize, words: usize| at.checked_add(index.checked_mul(words)?.checked_mul(32)?);
    for step in steps {
        match *step {
            PathStep::Skip(words) => at = ahead(at, 1, words)?,
            PathStep::Follow => {
                base = base.checked_add(size_at(data, at)?)?;
                at = base;
            }
            PathStep::Each { count: Some(count), words } => at = ahead(at, (member < count).then_some(member)?, words)?,
            PathStep::Member { words, .. } | PathStep::Each { count: None, words } => {
                let index = if let PathStep::Member { index, .. } = *step { index } else { member };
                let index = (index < size_at(data, at)?).then_some(index)?;
                base = at.checked_add(32)?;
                at = ahead(base, index, words)?;
            }
            PathStep::Packed { byte } => {
                let is_inside = byte.checked_add(32)? <= size_at(data, at)?;
                at = at.checked_add(32)?.checked_add(is_inside.then_some(byte)?)?;
            }
        }
    }
    Some(at)
}

pub fn word_at(data: &[u8], byte: usize) -> Option<&[u8; 32]> {
    data.get(byte..)?.first_chunk()
}

/// An offset or length.
pub fn size_at(data: &[u8], byte: usize) -> Option<usize> {
    usize::try_from(U256::from_be_bytes(*word_at(data, byte)?)).ok()
}

/// What a path names: where it is, and of which kind.
#[derive(Debug, Clone)]
pub struct FoundParam<'a> {
    pub field: Field,
    pub kind: &'a AbiType,
}

/// `first_topic` is the topic of the first indexed parameter: 1, or 0 in an anonymous event.
pub fn find<'a>(text: &str, params: &'a [Param], first_topic: usize) -> Result<FoundParam<'a>, FaultText> {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    let none = || format!("the signature has no parameter `{name}`");
    let at = params.iter().position(|param| param.name == name && !name.is_empty()).ok_or_else(none)?;
    let param = params.get(at).ok_or_else(none)?;
    let before = || params.iter().take(at).filter(|other| other.indexed == param.indexed);
    if param.indexed {
        let is_word = matches!(param.kind, AbiType::Word(_));
        if !rest.is_empty() {
            let what =
                if is_word { format!("is {}", param.kind) } else { "is indexed: only its hash is logged".into() };
            return Err(format!("`{text}`: `{name}` {what}"));
        }
        return Ok(FoundParam { field: Field::Topic(first_topic.saturating_add(before().count())), kind: &param.kind });
    }
    let mut path = PathBuilder { text, steps: Vec::new(), kind: &param.kind };
    path.skip(head_words(before()));
    path.enter();
    let mut rest = rest;
    while !rest.is_empty() {
        rest = path.further(rest)?;
    }
    Ok(FoundParam { field: path.field(), kind: path.kind })
}

/// A path while it is followed through the types.
struct PathBuilder<'a, 't> {
    text: &'t str,
    steps: Vec<PathStep>,
    kind: &'a AbiType,
}

/// What `length` of a list or of bytes is.
static LENGTH: std::sync::LazyLock<AbiType> = std::sync::LazyLock::new(|| AbiType::Word("uint256".to_owned()));

/// A word of packed bytes.
static PACKED: std::sync::LazyLock<AbiType> = std::sync::LazyLock::new(|| AbiType::Word("bytes32".to_owned()));

impl<'a> PathBuilder<'a, '_> {
    fn skip(&mut self, words: usize) {
        match self.steps.last_mut() {
            _ if words == 0 => {}
            Some(PathStep::Skip(before)) => *before = before.saturating_add(words),
            _ => self.steps.push(PathStep::Skip(words)),
        }
    }

    /// What is dynamic begins where its head points.
    fn enter(&mut self) {
        if self.kind.is_dynamic() {
            self.steps.push(PathStep::Follow);
        }
    }

    /// One `.name`, `[3]` or `[*]`; returns what is left.
    fn further<'r>(&mut self, rest: &'r str) -> Result<&'r str, FaultText> {
        let fault = |what: String| Err(format!("`{}`: {what}", self.text));
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((index, rest)) = inside.split_once(']') else {
                return fault("a `[` without its `]`".to_owned());
            };
            match index.split_once("..") {
                Some((from, to)) => self.packed(from, to)?,
                None => self.index(index)?,
            }
            return Ok(rest);
        }
        let Some(inside) = rest.strip_prefix('.') else {
            return fault(format!("`{rest}` is left over"));
        };
        let (name, rest) = inside.split_at(inside.find(['.', '[']).unwrap_or(inside.len()));
        self.member(name)?;
        Ok(rest)
    }

    fn member(&mut self, name: &str) -> Result<(), FaultText> {
        let kind = self.kind;
        let fault = |what: String| Err(format!("`{}`: {what}", self.text));
        match kind {
            AbiType::List(_) | AbiType::Bytes(_) if name == "length" => {
                self.kind = &LENGTH;
                Ok(())
            }
            AbiType::Tuple(members) => {
                let Some(at) = members.iter().position(|member| member.name == name && !name.is_empty()) else {
                    let is_unnamed = members.iter().all(|member| member.name.is_empty());
                    let why = if is_unnamed { "names none of its members" } else { "has no such member" };
                    return fault(format!("no `{name}`: the tuple {kind} {why}"));
                };
                let (before, rest) = members.split_at(at);
                self.skip(head_words(before));
                self.kind = rest.first().map_or(kind, |member| &member.kind);
                self.enter();
                Ok(())
            }
            AbiType::Array(_, count) if name == "length" => fault(format!("{kind} always has {count} members")),
            _ => fault(format!("{kind} has no member `{name}`")),
        }
    }

    fn index(&mut self, text: &str) -> Result<(), FaultText> {
        let kind: &'a AbiType = self.kind;
        let fault = |what: String| Err(format!("`{}`: {what}", self.text));
        let (member, fixed) = match kind {
            AbiType::List(member) => (member, None),
            AbiType::Array(member, count) => (member, Some(*count)),
            _ => return fault(format!("{kind} is no array")),
        };
        let words = member.head_words();
        if text == "*" {
            if self.steps.iter().any(|step| matches!(step, PathStep::Each { .. })) {
                return fault("one `[*]` in a path is all that a rule can follow".to_owned());
            }
            if fixed.is_some_and(|count| count > MEMBERS_MAX) {
                return fault(format!("{kind} has more than {MEMBERS_MAX} members"));
            }
            self.steps.push(PathStep::Each { count: fixed, words });
        } else {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let Some(index) = text.parse::<usize>().ok().filter(|index| digits && *index < MEMBERS_MAX) else {
                return fault(format!("`[{text}]` is no place in an array"));
            };
            match fixed {
                Some(count) if index >= count => return fault(format!("{kind} has no member {index}")),
                Some(_) => self.skip(index.saturating_mul(words)),
                None => self.steps.push(PathStep::Member { index, words }),
            }
        }
        self.kind = member;
        self.enter();
        Ok(())
    }

    /// A word of what a protocol packs into `bytes` by its own convention, from one byte to before another.
    fn packed(&mut self, from: &str, to: &str) -> Result<(), FaultText> {
        let fault = |what: String| Err(format!("`{}`: {what}", self.text));
        if !matches!(self.kind, AbiType::Bytes(_)) {
            return fault(format!("{} is no bytes", self.kind));
        }
        let place = |text: &str| text.parse::<usize>().ok().filter(|byte| *byte <= PACKED_BYTES_MAX);
        match place(from).zip(place(to)) {
            Some((byte, end)) if end.checked_sub(byte) == Some(32) => self.steps.push(PathStep::Packed { byte }),
            _ => return fault(format!("`[{from}..{to}]` are no 32 bytes of the first {PACKED_BYTES_MAX}")),
        }
        self.kind = &PACKED;
        Ok(())
    }

    /// A word of the head needs no steps.
    fn field(&self) -> Field {
        match self.steps.as_slice() {
            [] => Field::Word(0),
            [PathStep::Skip(words)] => Field::Word(*words),
            steps => Field::Path(steps.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::abi::{Signature, encode};
    use super::*;

    const CALL: &str = "f(uint256 a, (address b, uint256[] c, (bool d, string e) g)[] h, (uint256 i, uint256[2] j)[3] k, uint256[] l, (uint8,bool) m, string[2] n)";

    fn field(path: &str) -> Result<Field, String> {
        find(path, &Signature::call(CALL).unwrap().params, 1).map(|found| found.field)
    }

    /// Every leaf has a value of its own, made of its path.
    fn value(path: &str) -> U256 {
        U256::from_be_bytes(alloy_primitives::keccak256(path).0)
    }

    #[test]
    fn a_path_reads_what_was_written_at_it() {
        let call = Signature::call(CALL).unwrap();
        let data = encode(&call.params, &value, &|path| if path == "l" { 5 } else { 2 });
        for path in ["a", "h[0].b", "h[1].b", "h[0].c[1]", "h[1].c[0]", "h[1].g.d", "k[2].i", "k[1].j[1]", "l[4]"] {
            let word = field(path).unwrap().word(&data, 0).copied();
            assert_eq!(word.map(U256::from_be_bytes), Some(value(path)), "{path}");
        }
        assert_eq!(field("k[1].j[1]"), Ok(Field::Word(7)), "what is in the head needs no steps");
        let length = field("h[1].c.length").unwrap().word(&data, 0).copied();
        assert_eq!(length.map(U256::from_be_bytes), Some(U256::from(2)));
    }

    #[test]
    fn a_star_reads_each_member() {
        let call = Signature::call(CALL).unwrap();
        let data = encode(&call.params, &value, &|path| if path == "l" { 5 } else { 2 });
        for (path, count) in
            [("l[*]", 5), ("h[*].b", 2), ("h[*].c[1]", 2), ("h[1].c[*]", 2), ("k[*].j[0]", 3), ("k[0].j[*]", 2)]
        {
            let field = field(path).unwrap();
            assert!(field.repeats());
            assert_eq!(field.count(&data), Some(count), "{path}");
            for member in 0..count {
                let word = field.word(&data, member).copied().map(U256::from_be_bytes);
                assert_eq!(word, Some(value(&path.replace('*', &member.to_string()))), "{path} {member}");
            }
            assert_eq!(field.word(&data, count), None, "{path}");
        }
    }

    #[test]
    fn a_word_of_packed_bytes_is_read_where_all_of_it_is_there() {
        let event = Signature::event("E(uint256 a, bytes message)").unwrap();
        let at = |path: &str| find(path, &event.params, 1).unwrap().field;
        let word = |number: u8| [[0; 31].as_slice(), &[number]].concat();
        let message: Vec<u8> = (0..40).collect();
        let data = [word(7), word(64), word(40), message, vec![0; 24]].concat();
        assert_eq!(at("message[4..36]").word(&data, 0).map(|word| word[0]), Some(4));
        assert_eq!(at("message[8..40]").word(&data, 0).map(|word| word[31]), Some(39));
        assert_eq!(at("message[9..41]").word(&data, 0), None, "the message ends before");
        assert_eq!(at("message[4..36]").word(&data[..120], 0), None, "it says that it is longer than it is");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        for (path, reason) in [
            ("z", "no parameter `z`"),
            ("", "no parameter ``"),
            ("a.b", "uint256 has no member `b`"),
            ("a[0]", "uint256 is no array"),
            ("h[0].z", "has no such member"),
            ("h.b", "has no member `b`"),
            ("m.b", "names none of its members"),
            ("k[3].i", "has no member 3"),
            ("k.length", "always has 3 members"),
            ("l[-1]", "`[-1]` is no place in an array"),
            ("l[+1]", "`[+1]` is no place in an array"),
            ("l[64]", "`[64]` is no place in an array"),
            ("l[", "a `[` without its `]`"),
            ("l[0]x", "`x` is left over"),
            ("h[*].c[*]", "one `[*]` in a path"),
            ("a[0..32]", "uint256 is no bytes"),
            ("n[0][4..35]", "`[4..35]` are no 32 bytes"),
            ("n[0][4096..4128]", "no 32 bytes of the first 1024"),
        ] {
            let said = field(path).unwrap_err();
            assert!(said.contains(reason), "{path}: {said}");
        }
        let event = Signature::event("E(uint256[] indexed a, address indexed b, uint256 c)").unwrap();
        assert!(find("a[0]", &event.params, 1).unwrap_err().contains("only its hash is logged"));
        assert!(find("b.c", &event.params, 1).unwrap_err().contains("`b` is address"));
        assert_eq!(find("b", &event.params, 1).unwrap().field, Field::Topic(2));
        assert_eq!(find("c", &event.params, 1).unwrap().field, Field::Word(0));
    }

    #[test]
    fn lies_about_offsets_and_lengths_are_not_followed() {
        let each = field("h[*].c[1]").unwrap();
        let call = Signature::call(CALL).unwrap();
        let honest = encode(&call.params, &value, &|_| 2);
        for at in (0..honest.len()).step_by(32) {
            for lie in [U256::MAX, U256::from(u64::MAX), U256::from(honest.len()), U256::from(31), U256::ZERO] {
                let mut data = honest.clone();
                data[at..at + 32].copy_from_slice(&lie.to_be_bytes::<32>());
                for path in ["h[0].b", "h[1].c[1]", "h[1].g.d", "l[1]", "k[2].j[1]"] {
                    let _ = field(path).unwrap().word(&data, 0);
                }
                for member in [0, 1, 2, usize::MAX] {
                    let _ = each.word(&data, member);
                }
            }
        }
        for cut in 0..honest.len() {
            let _ = each.word(&honest[..cut], 1);
        }
        assert_eq!(each.word(&honest, usize::MAX), None);
    }
}
