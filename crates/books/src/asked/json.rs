//! JSON Lines: an object a line.

use std::io::{BufRead, Read as _};

use serde_json::Value;

use super::{Cells, Collector, NAMES_TOLD_MAX, ROW_BYTES_MAX, TableError, names, shown};

pub(super) fn read(mut lines: impl BufRead, collector: &mut Collector<'_>) -> Result<(), TableError> {
    let asked = collector.hints.column.map(names::plain);
    collector.understood.columns.has_header = true;
    // One byte more than a row has, so that a longer one shows.
    let limit = u64::try_from(ROW_BYTES_MAX.saturating_add(1)).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    for row in 1_usize.. {
        line.clear();
        if lines.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() > ROW_BYTES_MAX {
            return Err(TableError::RowTooLong { row });
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let broken = |what: String| TableError::Broken { row, what };
        let value: Value = serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
        let Value::Object(fields) = value else { return Err(broken("it is no object".to_owned())) };
        let (keys, values): (Vec<&String>, Vec<&Value>) = fields.iter().unzip();
        let plain: Vec<String> = keys.iter().map(|key| names::plain(key)).collect();
        let place = match &asked {
            Some(asked) => plain.iter().position(|name| name == asked),
            None => names::hash(&plain),
        };
        let text = |place: Option<usize>| place.and_then(|at| values.get(at)).and_then(|value| value.as_str());
        let column = place.and_then(|at| keys.get(at)).map_or("hash", |key| key.as_str());
        if collector.understood.columns.hash.is_empty() {
            column.clone_into(&mut collector.understood.columns.hash);
            collector.understood.columns.names = keys.iter().take(NAMES_TOLD_MAX).map(|key| shown(key)).collect();
        }
        let (chain, wallet) = (text(names::chain(&plain)), text(names::wallet(&plain)));
        collector.take(row, column, &Cells { hash: text(place).unwrap_or_default(), chain, wallet })?;
    }
    Ok(())
}
