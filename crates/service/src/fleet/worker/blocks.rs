//! A block as batches: its transactions in the order of the block, each with every wallet that is asked for, so many to a part. Whoever reads the block again
//! counts the same.

use super::super::message::{BlockRequest, FailedBlock, Outcome, Request, RequestRow};
use super::{answered, failed as row_failed};
use crate::app::{BATCH_ITEMS_MAX, BlockReading, BlockRow, may_pass};
use crate::error::ApiError;
use crate::metrics;

/// Each part as a request of its own, with what it came to. There is a first one always; others that say nothing are left out.
pub(super) fn parts(
    request: &Request,
    block: &BlockRequest,
    reading: &BlockReading,
    is_last_try: bool,
) -> anyhow::Result<Vec<(Request, Outcome)>> {
    let questions = block.wallets.len().max(1);
    let per_part = (BATCH_ITEMS_MAX / questions).max(1);
    let mut rows = reading.rows.iter().peekable();
    let mut parts = Vec::new();
    // A block without transactions has one part.
    let count: usize = reading.hashes.len().div_ceil(per_part).max(1);
    for number in 0..count {
        let first = number.saturating_mul(per_part);
        let behind = first.saturating_add(per_part);
        let part = request.block_part(number, asked(block, reading.hashes.get(first..).unwrap_or_default(), per_part));
        let mut outcome = Outcome::new(&format!("{}.{number}", request.id));
        while let Some(row) = rows.next_if(|row| row.place < behind) {
            let i = row.place.saturating_sub(first).saturating_mul(questions).saturating_add(row.asked);
            take(&mut outcome, i, row, is_last_try)?;
        }
        if number == 0 || !outcome.is_empty() {
            parts.push((part, outcome));
        }
    }
    Ok(parts)
}

fn asked(block: &BlockRequest, hashes: &[engine::TxHash], per_part: usize) -> Vec<RequestRow> {
    let row = |hash: &engine::TxHash, wallet: Option<&String>| RequestRow {
        hash: hash.to_string(),
        chain: Some(block.chain.clone()),
        wallet: wallet.cloned(),
        tx_id: None,
    };
    let of_one = |hash: &engine::TxHash| match block.wallets.as_slice() {
        [] => vec![row(hash, None)],
        wallets => wallets.iter().map(|wallet| row(hash, Some(wallet))).collect(),
    };
    hashes.iter().take(per_part).flat_map(of_one).collect()
}

fn take(outcome: &mut Outcome, i: usize, row: &BlockRow, is_last_try: bool) -> anyhow::Result<()> {
    match &row.answer {
        Ok(row) => answered(outcome, i, row)?,
        Err(error) => row_failed(outcome, i, (error.item_code(), &error.to_string()), is_last_try),
    }
    Ok(())
}

/// A block that could not be read at all.
pub(super) fn failed(whole: &Request, error: &ApiError, is_last_try: bool) -> Outcome {
    let code = error.item_code();
    let is_retried = may_pass(code) && !is_last_try;
    if !is_retried {
        metrics::items_failed(code, 1);
    }
    let mut outcome = Outcome::new(&whole.id);
    outcome.block = Some(FailedBlock::new(code, &error.to_string(), is_retried));
    outcome
}
