//! The wire format: what is sent, and how a reply is matched to it. Nodes are untrusted, so ids are checked, missing members
//! are errors, and surplus ones are ignored.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bounded;
use crate::error::{CallError, UpstreamError};

#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: usize,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
}

/// Members of a reply beyond the calls that were made; a reply with more is refused before it fills the memory.
const SURPLUS_MEMBERS_MAX: usize = 16;
/// Bytes of an id, and of an error object, that are looked at.
const ID_BYTES_MAX: usize = 24;
const ERROR_BYTES_MAX: usize = 4_096;

/// The node left a member of a batch out. Asked again, it may answer.
pub(super) const MISSING: UpstreamError = UpstreamError::BadResponse("an answer is missing");

/// The node gave two answers to one call, and they differ.
const CONTRADICTION: UpstreamError = UpstreamError::BadResponse("two answers to one call");

#[derive(Default)]
struct CallReply<'a> {
    id: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum ReplyMember {
    Id,
    Result,
    Error,
    #[serde(other)]
    Other,
}

/// By hand, because a derived implementation also takes an array for an object, with its members by position.
impl<'de> Deserialize<'de> for CallReply<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReplyVisitor;
        impl<'de> Visitor<'de> for ReplyVisitor {
            type Value = CallReply<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a reply")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut reply = CallReply::default();
                while let Some(field) = members.next_key()? {
                    let (name, slot) = match field {
                        ReplyMember::Id => ("id", &mut reply.id),
                        ReplyMember::Result => ("result", &mut reply.result),
                        ReplyMember::Error => ("error", &mut reply.error),
                        ReplyMember::Other => {
                            members.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if slot.replace(members.next_value()?).is_some() {
                        return Err(serde::de::Error::duplicate_field(name));
                    }
                }
                Ok(reply)
            }
        }
        deserializer.deserialize_map(ReplyVisitor)
    }
}

impl CallReply<'_> {
    fn says_as(&self, other: &Self) -> bool {
        self.result.map(RawValue::get) == other.result.map(RawValue::get)
            && self.error.map(RawValue::get) == other.error.map(RawValue::get)
    }
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// By JSON-RPC 2.0.
const METHOD_NOT_FOUND: i64 = -32_601;
/// By EIP-1474.
const METHOD_NOT_SUPPORTED: i64 = -32_004;
const LIMIT_EXCEEDED: i64 = -32_005;

pub(crate) type Answers = Vec<Result<Box<RawValue>, CallError>>;

/// What one HTTP body says to a batch of calls.
pub(crate) enum Parsed {
    Answers(Answers),
    /// The node answered a batch with one error object: it does not take batches, or none of this size.
    RefusedBatch,
    /// The answer was larger than any may be.
    TooLarge,
}

pub(super) fn parse(body: &[u8], count: usize) -> Result<Parsed, UpstreamError> {
    let text = std::str::from_utf8(body).map_err(|_| UpstreamError::BadResponse("not UTF-8"))?;
    if text.trim_start().starts_with('[') {
        return members(text, count).map(|replies| Parsed::Answers(by_id(replies, count)));
    }
    let reply: CallReply<'_> = serde_json::from_str(text).map_err(|_| UpstreamError::BadResponse("not JSON-RPC"))?;
    match answer(&reply) {
        // A node too busy to read a request says so without its id.
        Err(CallError::Upstream(error)) => Err(error),
        Err(CallError::Refused | CallError::Unsupported) if count > 1 => Ok(Parsed::RefusedBatch),
        Ok(_) if count > 1 => Err(UpstreamError::BadResponse("one answer to a batch")),
        // An error that names no call is about the only one.
        Err(error) if reply.id.is_none_or(is_null) => Ok(Parsed::Answers(vec![Err(error)])),
        Ok(_) | Err(_) => Ok(Parsed::Answers(by_id(vec![reply], count))),
    }
}

/// The members of a batch, counted while they are read.
fn members(text: &str, count: usize) -> Result<Vec<CallReply<'_>>, UpstreamError> {
    let most = count.saturating_add(SURPLUS_MEMBERS_MAX);
    bounded::list(text, most).ok_or(UpstreamError::BadResponse("not JSON-RPC"))
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Some nodes send a number back as a string.
fn place(id: &RawValue) -> Option<usize> {
    let text = id.get();
    let digits = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    (digits.len() <= ID_BYTES_MAX).then(|| digits.parse().ok()).flatten()
}

fn by_id(replies: Vec<CallReply<'_>>, count: usize) -> Answers {
    let missing = || Err(CallError::Upstream(MISSING));
    let mut answers: Answers = std::iter::repeat_with(missing).take(count).collect();
    let mut said: Vec<Option<&CallReply<'_>>> = vec![None; count];
    for reply in &replies {
        let Some(at) = reply.id.and_then(place) else { continue };
        if let (Some(slot), Some(said)) = (answers.get_mut(at), said.get_mut(at)) {
            match said {
                Some(first) if !first.says_as(reply) => *slot = Err(CallError::Upstream(CONTRADICTION)),
                Some(_) => {}
                None => (*slot, *said) = (answer(reply), Some(reply)),
            }
        }
    }
    answers
}

fn answer(reply: &CallReply<'_>) -> Result<Box<RawValue>, CallError> {
    // A result of `null` is a result: "there is no such transaction".
    if let Some(error) = reply.error.filter(|error| !is_null(error)) {
        let short = Some(error.get()).filter(|text| text.len() <= ERROR_BYTES_MAX);
        let said = short.and_then(|text| serde_json::from_str(text).ok());
        return Err(refusal(&said.unwrap_or(ErrorObject { code: 0, message: String::new() })));
    }
    let nothing = CallError::Upstream(UpstreamError::BadResponse("neither result nor error"));
    reply.result.map(RawValue::to_owned).ok_or(nothing)
}

fn refusal(error: &ErrorObject) -> CallError {
    let message = error.message.to_ascii_lowercase();
    let says = |word: &str| message.contains(word);
    // Solana's nodes say it with the same code of a slot that they do not have yet.
    let is_code =
        error.code == METHOD_NOT_FOUND || (error.code == METHOD_NOT_SUPPORTED && !says("block not available for slot"));
    // Without the word `method` it may be about this one call: "transaction type not supported".
    if is_code || says("method not found") || (says("method") && says("not supported")) {
        CallError::Unsupported
    } else if error.code == LIMIT_EXCEEDED || error.code == 429 || says("rate limit") || says("too many requests") {
        CallError::Upstream(UpstreamError::RateLimited)
    } else {
        CallError::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str, count: usize) -> Vec<Result<String, CallError>> {
        match parse(body.as_bytes(), count) {
            Ok(Parsed::Answers(answers)) => {
                answers.into_iter().map(|answer| answer.map(|result| result.get().to_owned())).collect()
            }
            Ok(Parsed::RefusedBatch | Parsed::TooLarge) => vec![Err(CallError::Refused)],
            Err(error) => vec![Err(CallError::Upstream(error))],
        }
    }

    #[test]
    fn answers_are_matched_by_id_in_any_order() {
        let body = r#"[{"id":1,"result":"b"},{"id":7,"result":"stray"},{"id":0,"result":null},{"id":1,"result":"b"}]"#;
        assert_eq!(texts(body, 2), [Ok("null".to_owned()), Ok("\"b\"".to_owned())]);
    }

    #[test]
    fn two_answers_to_one_call_are_none() {
        let body = r#"[{"id":0,"result":1},{"id":0,"result":2},{"id":0,"result":1},{"id":1,"result":3}]"#;
        assert_eq!(texts(body, 2), [Err(CallError::Upstream(CONTRADICTION)), Ok("3".to_owned())]);
    }

    #[test]
    fn a_missing_answer_is_an_error_and_never_an_absence() {
        let missing = CallError::Upstream(UpstreamError::BadResponse("an answer is missing"));
        assert_eq!(texts(r#"[{"id":0,"result":1}]"#, 2), [Ok("1".to_owned()), Err(missing)]);
    }

    #[test]
    fn an_id_may_come_back_as_a_string() {
        let body =
            r#"[{"id":"1","result":"b"},{"id":"0","result":"a"},{"id":[0],"result":"x"},{"id":1.5,"result":"y"}]"#;
        assert_eq!(texts(body, 2), [Ok("\"a\"".to_owned()), Ok("\"b\"".to_owned())]);
    }

    #[test]
    fn a_flood_of_members_is_refused() {
        let flood = format!("[{}{{}}]", "{},".repeat(1_000));
        assert_eq!(texts(&flood, 2), [Err(CallError::Upstream(UpstreamError::BadResponse("not JSON-RPC")))]);
    }

    #[test]
    fn error_objects_are_told_apart() {
        let one = |error: &str| texts(&format!(r#"[{{"id":0,"error":{error}}}]"#), 1);
        assert_eq!(one(r#"{"code":-32601,"message":"x"}"#), [Err(CallError::Unsupported)]);
        assert_eq!(one(r#"{"code":-32004,"message":"x"}"#), [Err(CallError::Unsupported)]);
        assert_eq!(one(r#"{"code":-32000,"message":"Method x is not supported"}"#), [Err(CallError::Unsupported)]);
        for of_one_call in ["missing trie node", "transaction type not supported"] {
            assert_eq!(one(&format!(r#"{{"code":-32000,"message":"{of_one_call}"}}"#)), [Err(CallError::Refused)]);
        }
        let not_yet = r#"{"code":-32004,"message":"Block not available for slot 7"}"#;
        assert_eq!(one(not_yet), [Err(CallError::Refused)]);
        assert_eq!(one(r#"{"code":-32005,"message":"x"}"#), [Err(CallError::Upstream(UpstreamError::RateLimited))]);
        assert_eq!(
            texts(r#"{"id":null,"error":{"code":-32600,"message":"batch too large"}}"#, 3),
            [Err(CallError::Refused)]
        );
        let nameless = r#"{"id":null,"error":{"code":-32601,"message":"x"}}"#;
        assert_eq!(texts(nameless, 1), [Err(CallError::Unsupported)], "it can only be about the one call");
    }

    #[test]
    fn what_is_not_json_rpc_is_a_bad_response() {
        for body in [
            "<html>Bad gateway</html>",
            "",
            "{",
            "[{\"id\":0,\"resu",
            "7",
            "{}",
            "[[0,7]]",
            "[{\"id\":0,\"result\":1,\"result\":2}]",
        ] {
            let bad = texts(body, 1);
            assert!(
                matches!(bad.as_slice(), [Err(CallError::Upstream(UpstreamError::BadResponse(_)))]),
                "{body}: {bad:?}"
            );
        }
    }
}
