//! The target over what an endpoint sends back.

use serde_json::Value;

use super::explorer;
use super::wire::{Parsed, parse};
use crate::error::{CallError, UpstreamError};

/// The first byte tells how many calls were sent, the rest is the body. Every call has one answer, and an answer is the first that carries
/// the call's id; nothing else is ever believed, least of all an absence. Only an error may come without an id, where one call was sent.
/// An explorer's answer is read of the same body.
pub fn rpc_body(bytes: &[u8]) {
    const CALLS_MAX: u8 = 8;
    let Some((count, body)) = bytes.split_first() else { return };
    if let Ok(rows) = explorer::rows(body) {
        assert!(rows.len() <= body.len(), "each row is written in the body");
    }
    let count = usize::from(count % CALLS_MAX).saturating_add(1);
    let answers = match parse(body, count) {
        Ok(Parsed::Answers(answers)) => answers,
        Ok(Parsed::TooLarge) => return assert!(body.is_empty(), "only the size of a body makes it too large"),
        Ok(Parsed::RefusedBatch) => return assert!(count > 1, "one call is no batch"),
        Err(error) => {
            return assert!(matches!(error, UpstreamError::BadResponse(_) | UpstreamError::RateLimited), "{error}");
        }
    };
    assert_eq!(answers.len(), count);
    let (replies, only) = match serde_json::from_slice(body) {
        Ok(Value::Array(replies)) => (replies, None),
        Ok(one) => (vec![one.clone()], Some(one).filter(|_| count == 1)),
        // Numbers that no type here holds; they are passed on unchanged.
        Err(_) => return,
    };
    for (at, answer) in answers.iter().enumerate() {
        let with_id = |reply: &&Value| match reply.get("id") {
            Some(Value::String(id)) => id.parse() == Ok(at),
            id => id.and_then(Value::as_u64) == u64::try_from(at).ok(),
        };
        let reply = replies.iter().find(with_id);
        match answer {
            Ok(result) => {
                let said: Option<Value> = serde_json::from_str(result.get()).ok();
                assert_eq!(said.as_ref(), reply.and_then(|reply| reply.get("result")), "call {at}");
            }
            Err(CallError::Refused | CallError::Unsupported) => {
                let nameless = only.as_ref().filter(|reply| reply.get("id").is_none_or(Value::is_null));
                let error = reply.or(nameless).and_then(|reply| reply.get("error"));
                assert!(error.is_some_and(|error| !error.is_null()), "call {at}");
            }
            Err(CallError::Upstream(_)) => {}
        }
    }
}
