//! What the rows of a report come to together.

use std::collections::{BTreeMap, BTreeSet};

use engine::classification::Entry;
use engine::{Account, Category, Treatment};

use crate::decimal::Decimal;
use crate::decision::Reading;
use crate::journal::Booking;

/// Whoever sends spam can make up assets without end.
const ASSETS_MAX: usize = 10_000;
/// Versions of rules that read the rows.
const ENGINES_MAX: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) count: usize,
    /// For people to look at, how many of those they decided, and how many decisions wait for a second person.
    pub(super) left: usize,
    pub(super) decided: usize,
    pub(super) waiting: usize,
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    pub(super) engines: BTreeSet<String>,
    /// What was left to people has no treatment.
    pub(super) kinds: BTreeMap<(Category, Option<Treatment>), Count>,
    pub(super) assets: BTreeMap<AssetKey, AssetTotal>,
    /// Postings of assets past the limit.
    pub(super) left_out: usize,
}

#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) all: usize,
    /// Taxable, not taxable, undetermined.
    pub(super) taxable: [usize; 3],
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AssetKey {
    pub(super) entry: Entry,
    pub(super) chain: String,
    pub(super) token: Option<Account>,
    pub(super) id: Option<String>,
}

#[derive(Debug)]
pub(super) struct AssetTotal {
    pub(super) symbol: String,
    pub(super) quantity: Decimal,
    pub(super) value: Decimal,
    pub(super) unpriced: usize,
}

impl Totals {
    pub(super) fn add(&mut self, reading: &Reading, bookings: &[Booking<'_>]) {
        let row = &reading.row;
        let one_more = |count: &mut usize, is_one: bool| *count = count.saturating_add(usize::from(is_one));
        one_more(&mut self.count, true);
        one_more(&mut self.left, row.needs_review || reading.decision.is_some());
        one_more(&mut self.decided, reading.decision.is_some());
        one_more(&mut self.waiting, reading.decision.as_ref().is_some_and(|decision| decision.waits()));
        if self.engines.len() < ENGINES_MAX {
            self.engines.insert(row.engine.clone());
        }
        if let Some(block) = &row.block {
            // Oldest first.
            self.first.get_or_insert_with(|| block.timestamp.clone());
            self.last = Some(block.timestamp.clone());
        }
        let treatment = (!row.needs_review).then_some(row.treatment);
        let kind = self.kinds.entry((row.category, treatment)).or_default();
        one_more(&mut kind.all, true);
        let [yes, no, undetermined] = &mut kind.taxable;
        let place = match row.taxable {
            Some(true) => yes,
            Some(false) => no,
            None => undetermined,
        };
        one_more(place, true);
        for booking in bookings {
            self.add_posting(booking);
        }
    }

    fn add_posting(&mut self, booking: &Booking<'_>) {
        let leg = booking.line.leg;
        let key = AssetKey {
            entry: booking.line.entry(),
            chain: booking.line.row.chain.clone().unwrap_or_default(),
            token: leg.token_address,
            id: leg.token_id.clone(),
        };
        let Some(amount) = Decimal::amount(&booking.line.posting.amount) else { return };
        if self.assets.len() >= ASSETS_MAX && !self.assets.contains_key(&key) {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let total = self.assets.entry(key).or_insert_with(|| AssetTotal {
            symbol: leg.shown_symbol().to_owned(),
            quantity: Decimal::default(),
            value: Decimal::default(),
            unpriced: 0,
        });
        total.quantity = total.quantity.plus(&amount);
        match &booking.priced {
            Some(priced) => total.value = total.value.plus(&priced.value),
            None if booking.is_unpriced() => total.unpriced = total.unpriced.saturating_add(1),
            None => {}
        }
    }
}
