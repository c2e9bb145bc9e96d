//! What no price was given for, so that a person sees which ones are missing.

use std::fmt::Write as _;

use books::journal::{Rules, bookings};
use books::line::Line;
use engine::Classification;

use crate::cli::terminal::safe;

/// Assets that are told one by one.
const TOLD_MAX: usize = 20;

#[derive(Default)]
pub(super) struct Unpriced {
    /// Of which anything has no price.
    pub(super) transactions: usize,
    postings: usize,
    /// In the order in which they were met: the asset, when first, and how often.
    assets: Vec<(String, String, usize)>,
    /// Postings of further assets.
    others: usize,
}

impl Unpriced {
    pub(super) fn note(&mut self, row: &Classification, rules: Rules<'_>) {
        let before = self.postings;
        // A chart that has no account for a posting is told by whoever writes it.
        for booking in bookings(row, rules).unwrap_or_default().iter().filter(|booking| booking.is_unpriced()) {
            self.postings = self.postings.saturating_add(1);
            let asset = asset(&booking.line);
            let is_room = self.assets.len() < TOLD_MAX;
            match self.assets.iter_mut().find(|(known, ..)| *known == asset) {
                Some((.., count)) => *count = count.saturating_add(1),
                None if is_room => {
                    let time = row.block.as_ref().map_or("no time", |block| &block.timestamp);
                    self.assets.push((asset, time.to_owned(), 1));
                }
                None => self.others = self.others.saturating_add(1),
            }
        }
        self.transactions = self.transactions.saturating_add(usize::from(self.postings > before));
    }

    pub(super) fn told(&self) -> String {
        let mut out = String::new();
        if self.postings > 0 {
            let _ = writeln!(out, "{} postings of {} transactions have no price", self.postings, self.transactions);
        }
        for (asset, first, count) in &self.assets {
            let _ = writeln!(out, "  no price  {}: {count} postings, the first at {first}", safe(asset));
        }
        if self.others > 0 {
            let _ = writeln!(out, "  no price  other assets: {} postings", self.others);
        }
        out
    }
}

fn asset(line: &Line<'_>) -> String {
    let mut asset = line.leg.shown_symbol().to_owned();
    if let Some(token) = &line.leg.token_address {
        let _ = write!(asset, " {token}");
    }
    if let Some(id) = &line.leg.token_id {
        let _ = write!(asset, "/{id}");
    }
    let _ = write!(asset, " on {}", line.row.chain.as_deref().unwrap_or_default());
    asset
}
