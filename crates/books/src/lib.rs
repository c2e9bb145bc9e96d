//! Tables that name transactions, and readings as the files of ledgers and tax tools. It sees text and the engine's answers, never a chain, a store or a
//! clock.

pub mod asked;
pub mod cell;
pub mod chart;
pub mod decimal;
pub mod decision;
pub mod formats;
pub mod journal;
pub mod line;
pub mod prices;
