//! Targets of `fuzz/` over what callers and operators send. Only tests and the feature `fuzzing` compile this.

mod requests;

use std::collections::BTreeSet;
use std::io::Cursor;

use books::asked::{self, Asked, Hints};
use engine::TxHash;

use crate::app::{BATCH_ITEMS_MAX, BatchRequest, Item, JournalRequest, SingleRequest};
pub use crate::cli::eval::labels::labels;
pub use crate::config::config_file;
use crate::error::ApiError;
use crate::rest::body::parse;
#[cfg(test)]
pub(crate) use requests::config as demo_config;
pub use requests::{headers, http, mcp};

/// The body of a journal call: two lines for each posting, or a refusal with the code for it.
pub fn journal_body(bytes: &[u8]) {
    let answer = parse::<JournalRequest>(bytes).and_then(|request| request.lines());
    let Ok(answer) = answer else {
        assert!(matches!(answer, Err(ApiError::InvalidRequest(_))), "{answer:?}");
        return;
    };
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let lines = answer.get("lines").and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (pairs, rest) = lines.as_chunks::<2>();
    assert!(rest.is_empty());
    for [from, to] in pairs {
        let amount =
            |line: &serde_json::Value, name| line[name].as_str().map(|text| text.trim_start_matches('-').to_owned());
        assert_eq!(amount(from, "quantity"), amount(to, "quantity"));
        assert_eq!(amount(from, "value"), amount(to, "value"));
        assert_eq!(from["symbol"], to["symbol"]);
    }
}

/// The body of either classify call: 1 to 100 items whose hashes are those that were written, or a refusal with one of the two codes for it.
pub fn rest_body(bytes: &[u8]) {
    let single = parse::<SingleRequest>(bytes).and_then(SingleRequest::item);
    let batch = parse::<BatchRequest>(bytes).and_then(BatchRequest::items);
    let written: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
    let told = |pointer: String| written.as_ref().and_then(|body| body.pointer(&pointer)?.as_str());
    for (at, item) in batch.iter().flatten().enumerate() {
        is_the_item(item, told(format!("/hashes/{at}/hash")));
        assert_eq!(item.tx_id.as_deref(), told(format!("/hashes/{at}/tx_id")));
    }
    single.iter().for_each(|item| is_the_item(item, told("/hash".to_owned())));
    for refusal in [single.err(), batch.as_ref().err().cloned()].into_iter().flatten() {
        assert!(matches!(refusal, ApiError::InvalidRequest(_) | ApiError::InvalidHash(_)), "{refusal}");
        assert!(!refusal.to_string().is_empty());
    }
    assert!(batch.is_err() || batch.is_ok_and(|items| (1..=BATCH_ITEMS_MAX).contains(&items.len())));
}

/// A table that names transactions: as many rows as it has lines at most, each once, and every row that is refused is told with its place. Parquet has no
/// lines, and may say one row a million times in a few bytes.
pub fn table(bytes: &[u8]) {
    let explorers = [("basescan.org".to_owned(), "base".to_owned())];
    let mut rows = Vec::new();
    let mut take = |row: Asked| {
        rows.push((row.hash, row.wallet));
        true
    };
    let hints = Hints { explorers: &explorers, ..Hints::default() };
    let Ok(understood) = asked::understand(Cursor::new(bytes), &hints, &mut take) else { return };
    let lines = match bytes.starts_with(b"PAR1") {
        true => asked::ROWS_MAX,
        false => bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1,
    };
    let counted = rows.len() + understood.repeated + understood.empty + understood.refused_count;
    assert!(counted <= lines, "{counted} rows of {lines} lines");
    let keys: BTreeSet<_> = rows.iter().collect();
    assert_eq!((keys.len(), understood.count), (rows.len(), rows.len()));
    assert!(understood.refused.iter().all(|refusal| refusal.row >= 1 && !refusal.what.chars().any(char::is_control)));
}

fn is_the_item(item: &Item, told: Option<&str>) {
    assert_eq!(told.and_then(|told| TxHash::parse(told).ok()), Some(item.hash));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzz::Shape::{Bytes, Json};
    use fuzz::properties;

    #[test]
    fn bodies_of_classify_calls() {
        properties(("rest_body", rest_body), Json, 1_000);
    }

    #[test]
    fn bodies_of_journal_calls() {
        properties(("journal_body", journal_body), Json, 500);
    }

    #[test]
    fn headers_of_callers() {
        properties(("headers", headers), Bytes, 1_000);
    }

    #[test]
    fn requests_of_any_kind() {
        properties(("http", http), Bytes, 200);
    }

    #[test]
    fn messages_of_agents() {
        properties(("mcp", mcp), Json, 200);
    }

    #[test]
    fn tables_of_accountants() {
        properties(("table", table), Bytes, 500);
    }

    #[test]
    fn labelled_sets() {
        properties(("labels", labels), Json, 500);
    }

    #[test]
    fn files_of_operators() {
        properties(("config_file", config_file), Bytes, 500);
    }
}
