//! Recording and replaying of exchanges with nodes, one JSON object a line: the demo chains and the tests run on tapes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::CallError;

/// One call and what the node said to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange {
    pub chain: String,
    pub method: String,
    pub params: Value,
    /// Absent when the node refused the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsupported: bool,
}

/// Chain, method and parameters.
type Key = (String, String, String);

impl Exchange {
    fn key(&self) -> Key {
        (self.chain.clone(), self.method.clone(), self.params.to_string())
    }
}

#[derive(Debug, Default)]
pub struct Tape {
    exchanges: BTreeMap<Key, Exchange>,
}

impl Tape {
    /// A line `{"chain": …, "method": …, "params": …, "result": …}` per exchange.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut tape = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let exchange: Exchange = serde_json::from_str(line)?;
            tape.exchanges.insert(exchange.key(), exchange);
        }
        Ok(tape)
    }

    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.values()
    }

    /// A call that is not on the tape counts as refused.
    pub fn answer(&self, chain: &str, method: &str, params: &Value) -> Result<Box<RawValue>, CallError> {
        self.recorded(chain, method, params).unwrap_or(Err(CallError::Refused))
    }

    /// `None` when the tape does not hold the call.
    pub(crate) fn recorded(
        &self,
        chain: &str,
        method: &str,
        params: &Value,
    ) -> Option<Result<Box<RawValue>, CallError>> {
        let key = (chain.to_owned(), method.to_owned(), params.to_string());
        let Exchange { result, unsupported, .. } = self.exchanges.get(&key)?;
        let refusal = if *unsupported { CallError::Unsupported } else { CallError::Refused };
        Some(result.clone().ok_or(refusal))
    }
}

/// Writes every exchange of a running service to a file. A call that was answered before is written once.
#[derive(Debug)]
pub struct Recorder {
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    seen: BTreeSet<Key>,
}

impl Recorder {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { written: Mutex::new(Written { file: File::create(path)?, seen: BTreeSet::new() }) })
    }

    pub fn record(&self, chain: &str, method: &str, params: &Value, answer: &Result<Box<RawValue>, CallError>) {
        let (result, unsupported) = match answer {
            Ok(result) => (Some(result.clone()), false),
            Err(CallError::Unsupported) => (None, true),
            Err(CallError::Refused) => (None, false),
            // A failure upstream is not an answer of the chain, so it is not recorded.
            Err(CallError::Upstream(_)) => return,
        };
        let exchange = Exchange {
            chain: chain.to_owned(),
            method: method.to_owned(),
            params: params.clone(),
            result,
            unsupported,
        };
        if let Err(error) = self.write(&exchange) {
            tracing::error!(%error, "an exchange could not be recorded");
        }
    }

    fn write(&self, exchange: &Exchange) -> io::Result<()> {
        let Ok(mut written) = self.written.lock() else { return Ok(()) };
        if written.seen.insert(exchange.key()) {
            let mut line = serde_json::to_vec(exchange)?;
            line.push(b'\n');
            written.file.write_all(&line)?;
        }
        Ok(())
    }
}
