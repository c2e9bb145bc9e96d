//! What the RPC layer must know of a chain family. Each family's folder has one.

use serde_json::Value;
use serde_json::value::RawValue;

/// The number of the latest block or slot and, where nodes tell it, its time in Unix seconds.
type ReadHead = fn(&RawValue) -> Option<(u64, Option<u64>)>;

pub struct Dialect {
    /// The call that tells the head, and how its answer is read.
    pub(crate) head: (&'static str, fn() -> Value),
    pub(crate) read_head: ReadHead,
    /// The call that tells the chain id as a hexadecimal number, where the family has one.
    pub(crate) chain_id_method: Option<&'static str>,
    /// The call whose `null` means that there is no such transaction.
    pub(crate) lookup_method: &'static str,
    /// The bytes that are read at most of what a call answers; `None` for calls whose answers are small.
    pub(crate) large_answer: fn(&str, &Value) -> Option<usize>,
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dialect").field(&self.lookup_method).finish()
    }
}
