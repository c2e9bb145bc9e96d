//! Billable and free rows per day, as a picture drawn on the server; the same numbers are in a table for readers who cannot see it.

use maud::{Markup, html};

use crate::accounts::Day;

const WIDTH: i64 = 720;
const HEIGHT: i64 = 160;
const GAP: i64 = 2;

pub(super) fn days(days: &[Day]) -> Markup {
    let most = days.iter().map(|day| day.billable.saturating_add(day.free)).max().unwrap_or(0).max(1);
    let count = i64::try_from(days.len()).unwrap_or(1).max(1);
    let step = WIDTH / count;
    let tall = |rows: i64| rows.saturating_mul(HEIGHT) / most;
    let total: i64 = days.iter().map(|day| day.billable).sum();
    let free: i64 = days.iter().map(|day| day.free).sum();
    let spoken = format!("{total} billable and {free} free rows in {count} days; the busiest day has {most}.");
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 20) } role="img" aria-labelledby="chart-title" {
            title id="chart-title" { (spoken) }
            @for (at, day) in (0i64..).zip(days) {
                @let (billable, free) = (tall(day.billable), tall(day.free));
                g {
                    title { (day.date) ": " (day.billable) " billable, " (day.free) " free" }
                    rect.free x=(at * step) y=(HEIGHT - billable - free) width=(step - GAP) height=(free) {}
                    rect.billable x=(at * step) y=(HEIGHT - billable) width=(step - GAP) height=(billable) {}
                }
            }
            line x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            @if let (Some(first), Some(last)) = (days.first(), days.last()) {
                text x="0" y=(HEIGHT + 16) { (first.date) }
                text x=(WIDTH) y=(HEIGHT + 16) text-anchor="end" { (last.date) }
            }
        }
    }
}
