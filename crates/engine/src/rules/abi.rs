//! Signatures of events and calls as Solidity writes them, with names inside tuples, and how the ABI lays their parameters out.

mod encode;

use std::fmt;

use alloy_primitives::{B256, FixedBytes, keccak256};

pub use encode::encode;

/// Tuples and arrays inside one another.
const DEPTH_MAX: usize = 16;
/// Words that one signature may take with every list at one member; the longest that a pack names takes 43.
const SIGNATURE_WORDS_MAX: usize = 1_024;

type FaultText = String;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub params: Vec<Param>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Empty where the signature gives none.
    pub name: String,
    pub kind: AbiType,
    /// Of an event: it is a topic, and of what is longer than a word only the hash.
    pub indexed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbiType {
    /// One word: `address`, `uint256`, `bytes32` and the like.
    Word(String),
    /// `bytes` or `string`.
    Bytes(String),
    Tuple(Vec<Param>),
    /// `T[]`
    List(Box<AbiType>),
    /// `T[3]`
    Array(Box<AbiType>, usize),
}

impl AbiType {
    /// Whether its head is an offset to where it really is.
    pub fn is_dynamic(&self) -> bool {
        match self {
            Self::Word(_) => false,
            Self::Bytes(_) | Self::List(_) => true,
            Self::Tuple(members) => members.iter().any(|member| member.kind.is_dynamic()),
            Self::Array(member, _) => member.is_dynamic(),
        }
    }

    /// Words that it takes in the head of what holds it.
    pub fn head_words(&self) -> usize {
        match self {
            _ if self.is_dynamic() => 1,
            Self::Word(_) | Self::Bytes(_) | Self::List(_) => 1,
            Self::Tuple(members) => head_words(members),
            Self::Array(member, count) => member.head_words().saturating_mul(*count),
        }
    }
}

impl AbiType {
    /// Words of all of it, with one member in every list.
    fn least_words(&self) -> usize {
        match self {
            Self::Word(_) => 1,
            Self::Bytes(_) => 2,
            Self::Tuple(members) => {
                members.iter().fold(1, |sum: usize, member| sum.saturating_add(member.kind.least_words()))
            }
            Self::List(member) => member.least_words().saturating_add(2),
            Self::Array(member, count) => member.least_words().saturating_mul(*count).saturating_add(1),
        }
    }
}

/// Words in the head of these parameters together.
pub fn head_words<'a>(params: impl IntoIterator<Item = &'a Param>) -> usize {
    params.into_iter().fold(0, |sum, param| sum.saturating_add(param.kind.head_words()))
}

/// As the ABI writes it to make a topic or selector: without names.
impl fmt::Display for AbiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(name) | Self::Bytes(name) => f.write_str(name),
            Self::Tuple(members) => kinds(members, f),
            Self::List(member) => write!(f, "{member}[]"),
            Self::Array(member, count) => write!(f, "{member}[{count}]"),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        kinds(&self.params, f)
    }
}

fn kinds(params: &[Param], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    for (at, param) in params.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(f, "{comma}{}", param.kind)?;
    }
    f.write_str(")")
}

impl Signature {
    /// `Supply(address indexed reserve, (uint8 kind, address token)[] items)`
    pub fn event(text: &str) -> Result<Self, FaultText> {
        Self::parse(text, true)
    }

    pub fn call(text: &str) -> Result<Self, FaultText> {
        Self::parse(text, false)
    }

    pub fn topic0(&self) -> B256 {
        keccak256(self.to_string())
    }

    pub fn selector(&self) -> FixedBytes<4> {
        let [first, second, third, fourth, ..] = self.topic0().0;
        FixedBytes([first, second, third, fourth])
    }

    fn parse(text: &str, is_event: bool) -> Result<Self, FaultText> {
        let mut parser = Parser { rest: text, is_event };
        let whole = parser.signature();
        whole.map_err(|what| format!("signature `{text}` does not parse: {what}"))
    }
}

/// What is left of the text.
struct Parser<'a> {
    rest: &'a str,
    is_event: bool,
}

impl<'a> Parser<'a> {
    fn signature(&mut self) -> Result<Signature, FaultText> {
        let name = self.word();
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        let params = self.params(0)?;
        if !self.rest.trim().is_empty() {
            return Err(format!("`{}` is left over", self.rest.trim()));
        }
        if params.iter().fold(0, |sum: usize, param| sum.saturating_add(param.kind.least_words())) > SIGNATURE_WORDS_MAX
        {
            return Err(format!("it takes more than {SIGNATURE_WORDS_MAX} words"));
        }
        Ok(Signature { name: name.to_owned(), params })
    }

    fn params(&mut self, depth: usize) -> Result<Vec<Param>, FaultText> {
        self.expect('(')?;
        let mut params: Vec<Param> = Vec::new();
        if self.take(')') {
            return Ok(params);
        }
        loop {
            let param = self.param(depth)?;
            if !param.name.is_empty() && params.iter().any(|other| other.name == param.name) {
                return Err(format!("two parameters are called `{}`", param.name));
            }
            params.push(param);
            if params.len() > SIGNATURE_WORDS_MAX {
                return Err(format!("it has more than {SIGNATURE_WORDS_MAX} parameters"));
            }
            if self.take(')') {
                return Ok(params);
            }
            self.expect(',')?;
        }
    }

    fn param(&mut self, depth: usize) -> Result<Param, FaultText> {
        let kind = self.kind(depth)?;
        let mut name = self.word();
        let indexed = name == "indexed";
        if indexed && !(self.is_event && depth == 0) {
            return Err("only parameters of an event are indexed".to_owned());
        }
        if indexed {
            name = self.word();
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(format!("`{name}` is no name"));
        }
        Ok(Param { name: name.to_owned(), kind, indexed })
    }

    fn kind(&mut self, depth: usize) -> Result<AbiType, FaultText> {
        if depth > DEPTH_MAX {
            return Err(format!("it goes deeper than {DEPTH_MAX}"));
        }
        let mut kind = if self.rest.trim_start().starts_with('(') {
            let members = self.params(depth.saturating_add(1))?;
            if members.is_empty() {
                return Err("a tuple has no members".to_owned());
            }
            AbiType::Tuple(members)
        } else {
            elementary(self.word())?
        };
        let mut arrays = depth;
        while self.take('[') {
            arrays = arrays.saturating_add(1);
            if arrays > DEPTH_MAX {
                return Err(format!("it goes deeper than {DEPTH_MAX}"));
            }
            let count = self.word();
            self.expect(']')?;
            kind = if count.is_empty() {
                AbiType::List(Box::new(kind))
            } else {
                let members = count.parse::<usize>().ok().filter(|count| (1..=SIGNATURE_WORDS_MAX).contains(count));
                AbiType::Array(Box::new(kind), members.ok_or_else(|| format!("`[{count}]` is no length of an array"))?)
            };
        }
        Ok(kind)
    }

    /// Letters, digits, `_` and `$`; may be none.
    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        word
    }

    fn take(&mut self, wanted: char) -> bool {
        let stripped = self.rest.trim_start().strip_prefix(wanted);
        self.rest = stripped.unwrap_or(self.rest);
        stripped.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), FaultText> {
        let next = self.rest.trim_start().chars().next();
        let found = next.map_or_else(|| "it ends".to_owned(), |found| format!("`{found}`"));
        if self.take(wanted) { Ok(()) } else { Err(format!("{found} where `{wanted}` is needed")) }
    }
}

fn elementary(word: &str) -> Result<AbiType, FaultText> {
    let bits = |digits: &str| digits.parse::<u16>().is_ok_and(|bits| (8..=256).contains(&bits) && bits % 8 == 0);
    let bytes = |digits: &str| digits.parse::<u8>().is_ok_and(|bytes| (1..=32).contains(&bytes));
    let is_word = matches!(word, "address" | "bool")
        || word.strip_prefix("uint").or(word.strip_prefix("int")).is_some_and(bits)
        || word.strip_prefix("bytes").is_some_and(bytes);
    match word {
        "bytes" | "string" => Ok(AbiType::Bytes(word.to_owned())),
        "uint" | "int" => Ok(AbiType::Word(format!("{word}256"))),
        "" => Err("a type is missing".to_owned()),
        _ if is_word => Ok(AbiType::Word(word.to_owned())),
        _ => Err(format!("`{word}` is no type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of Seaport's documentation, whose topic explorers show.
    const ORDER: &str = "OrderFulfilled(bytes32 orderHash, address indexed offerer, address indexed zone, address recipient, \
                         (uint8 itemType, address token, uint256 identifier, uint256 amount)[] offer, \
                         (uint8 itemType, address token, uint256 identifier, uint256 amount, address recipient)[] consideration)";

    #[test]
    fn names_inside_tuples_are_read_and_leave_the_topic_as_it_is() {
        let order = Signature::event(ORDER).unwrap();
        assert_eq!(order.topic0().to_string(), "0x9d9af8e38d66c62e2c12f0225249fd9d721c54b83f48d9352c97c6cacdcb6f31");
        let AbiType::List(member) = &order.params[4].kind else { panic!("{:?}", order.params[4]) };
        assert!(matches!(&**member, AbiType::Tuple(members) if members[1].name == "token"));
    }

    #[test]
    fn heads_have_their_real_size() {
        for (text, words, is_dynamic) in [
            ("f(uint256)", 1, false),
            ("f((uint256,address) a, bool b)", 3, false),
            ("f((uint256,bytes) a, bool b)", 2, true),
            ("f((uint256,(address,bool)[2])[3] a)", 15, false),
            ("f((uint256,string)[3] a)", 1, true),
            ("f(uint256[5][5] a, address[11] b)", 36, false),
            ("f(uint256[][5] a, uint256[5][] b)", 2, true),
        ] {
            let signature = Signature::call(text).unwrap();
            assert_eq!(head_words(&signature.params), words, "{text}");
            assert_eq!(signature.params.iter().any(|param| param.kind.is_dynamic()), is_dynamic, "{text}");
        }
    }

    #[test]
    fn selectors_are_those_that_everybody_knows() {
        let transfer = Signature::call("transfer(address to, uint amount)").unwrap();
        assert_eq!(transfer.selector().0, [0xa9, 0x05, 0x9c, 0xbb]);
    }

    #[test]
    fn what_is_no_signature_is_refused_with_the_reason() {
        let deep = format!("f({}uint256{})", "(".repeat(40), ")".repeat(40));
        for (text, reason) in [
            ("", "it has no name"),
            ("f", "it ends where `(` is needed"),
            ("f(uint256", "it ends where `,` is needed"),
            ("f(uint256) returns (bool)", "is left over"),
            ("f(uint255 a)", "`uint255` is no type"),
            ("f(SpentItem[] a)", "`SpentItem` is no type"),
            ("f(uint256[0] a)", "`[0]` is no length of an array"),
            ("f(uint256[9999] a)", "`[9999]` is no length of an array"),
            ("f(string[100][100] a)", "more than 1024 words"),
            ("f(uint256[x] a)", "`[x]` is no length of an array"),
            ("f(() a)", "a tuple has no members"),
            ("f(uint256 a, uint256 a)", "two parameters are called `a`"),
            ("f(uint256 indexed a)", "only parameters of an event are indexed"),
            ("f(uint256 1a)", "`1a` is no name"),
            (&deep, "it goes deeper than 16"),
        ] {
            let said = Signature::call(text).unwrap_err();
            assert!(said.contains(reason), "{text}: {said}");
        }
        assert!(Signature::event("E((uint256 indexed a) b)").is_err());
    }
}
