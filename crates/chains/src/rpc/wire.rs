//! The wire format: what is sent, and how a reply is matched to it. Nodes are strangers, so ids are checked, missing members
//! are errors, and surplus ones are ignored.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{CallError, UpstreamError};

#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: usize,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A result of `null` is a result: "there is no such transaction".
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

const METHOD_NOT_FOUND: i64 = -32_601;
const LIMIT_EXCEEDED: i64 = -32_005;

pub(super) type Answers = Vec<Result<Box<RawValue>, CallError>>;

/// What one HTTP body says to a batch of calls.
pub(super) enum Parsed {
    Answers(Answers),
    /// The node answered a batch with one error object: it does not take batches, or none of this size.
    RefusedBatch,
}

pub(super) fn parse(body: &[u8], count: usize) -> Result<Parsed, UpstreamError> {
    let text = std::str::from_utf8(body).map_err(|_| UpstreamError::BadResponse("not UTF-8"))?;
    if text.trim_start().starts_with('[') {
        let replies: Vec<Reply<'_>> =
            serde_json::from_str(text).map_err(|_| UpstreamError::BadResponse("not JSON-RPC"))?;
        return Ok(Parsed::Answers(by_id(replies, count)));
    }
    let reply: Reply<'_> = serde_json::from_str(text).map_err(|_| UpstreamError::BadResponse("not JSON-RPC"))?;
    match answer(&reply) {
        // A node too busy to read a request says so without its id.
        Err(CallError::Upstream(error)) => Err(error),
        Err(CallError::Refused | CallError::Unsupported) if count > 1 => Ok(Parsed::RefusedBatch),
        Ok(_) if count > 1 => Err(UpstreamError::BadResponse("one answer to a batch")),
        Ok(_) | Err(_) => Ok(Parsed::Answers(by_id(vec![reply], count))),
    }
}

fn by_id(replies: Vec<Reply<'_>>, count: usize) -> Answers {
    let missing = || Err(CallError::Upstream(UpstreamError::BadResponse("an answer is missing")));
    let mut answers: Answers = std::iter::repeat_with(missing).take(count).collect();
    let mut taken = vec![false; count];
    for reply in replies {
        let at = reply.id.as_ref().and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let Some(at) = at else { continue };
        if let (Some(slot), Some(taken)) = (answers.get_mut(at), taken.get_mut(at))
            && !*taken
        {
            *taken = true;
            *slot = answer(&reply);
        }
    }
    answers
}

fn answer(reply: &Reply<'_>) -> Result<Box<RawValue>, CallError> {
    if let Some(error) = reply.error.filter(|error| error.get() != "null") {
        let error = serde_json::from_str(error.get()).unwrap_or(ErrorObject { code: 0, message: String::new() });
        return Err(refusal(&error));
    }
    let nothing = CallError::Upstream(UpstreamError::BadResponse("neither result nor error"));
    reply.result.map(RawValue::to_owned).ok_or(nothing)
}

fn refusal(error: &ErrorObject) -> CallError {
    let says = |word: &str| error.message.to_ascii_lowercase().contains(word);
    if error.code == METHOD_NOT_FOUND || says("method not found") || says("not supported") {
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
            Ok(Parsed::RefusedBatch) => vec![Err(CallError::Refused)],
            Err(error) => vec![Err(CallError::Upstream(error))],
        }
    }

    #[test]
    fn answers_are_matched_by_id_in_any_order() {
        let body =
            r#"[{"id":1,"result":"b"},{"id":7,"result":"stray"},{"id":0,"result":null},{"id":1,"result":"again"}]"#;
        assert_eq!(texts(body, 2), [Ok("null".to_owned()), Ok("\"b\"".to_owned())]);
    }

    #[test]
    fn a_missing_answer_is_an_error_and_never_an_absence() {
        let missing = CallError::Upstream(UpstreamError::BadResponse("an answer is missing"));
        assert_eq!(texts(r#"[{"id":0,"result":1}]"#, 2), [Ok("1".to_owned()), Err(missing)]);
    }

    #[test]
    fn error_objects_are_told_apart() {
        let one = |error: &str| texts(&format!(r#"[{{"id":0,"error":{error}}}]"#), 1);
        assert_eq!(one(r#"{"code":-32601,"message":"x"}"#), [Err(CallError::Unsupported)]);
        assert_eq!(one(r#"{"code":-32000,"message":"missing trie node"}"#), [Err(CallError::Refused)]);
        assert_eq!(one(r#"{"code":-32005,"message":"x"}"#), [Err(CallError::Upstream(UpstreamError::RateLimited))]);
        assert_eq!(
            texts(r#"{"id":null,"error":{"code":-32600,"message":"batch too large"}}"#, 3),
            [Err(CallError::Refused)]
        );
    }

    #[test]
    fn what_is_not_json_rpc_is_a_bad_response() {
        for body in ["<html>Bad gateway</html>", "", "{", "[{\"id\":0,\"resu", "7", "{}"] {
            let bad = texts(body, 1);
            assert!(
                matches!(bad.as_slice(), [Err(CallError::Upstream(UpstreamError::BadResponse(_)))]),
                "{body}: {bad:?}"
            );
        }
    }
}
