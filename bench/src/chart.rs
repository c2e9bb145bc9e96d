//! Bars against their goals, as a picture that needs nothing but a browser.

use std::fmt::Write as _;

use crate::figures::number;

const WIDTH: f64 = 1010.0;
const ROW: f64 = 34.0;
const TOP: f64 = 56.0;
/// Where the goal is drawn, and how much past it is shown.
const GOAL_AT: f64 = 760.0;
const SHARE_MAX: f64 = 1.3;

#[derive(Debug, Clone)]
pub struct Bar {
    pub what: String,
    /// Figure and goal in words.
    pub said: String,
    /// Of what the goal allows; past 1 it is missed.
    pub share: f64,
    pub is_met: bool,
}

pub fn svg(bars: &[Bar]) -> String {
    let height = TOP + ROW * number(bars.len()) + 12.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"20\" y=\"24\" font-size=\"15\" fill=\"#1b1f24\">How much of what its goal allows each figure uses: shorter is better, the line is the goal</text>\n"
    );
    for (at, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * number(at);
        let width = (GOAL_AT - 20.0) * bar.share.clamp(0.004, SHARE_MAX);
        let colour = if bar.is_met { "#9fd0b5" } else { "#f0a8a0" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<rect x=\"20\" y=\"{y}\" width=\"{width:.0}\" height=\"24\" fill=\"{colour}\"/>\
             <text x=\"26\" y=\"{:.0}\" fill=\"#1b1f24\">{}: {}</text>",
            y + 17.0,
            escaped(&bar.what),
            escaped(&bar.said)
        );
    }
    let _ = writeln!(
        text,
        "<line x1=\"{GOAL_AT}\" x2=\"{GOAL_AT}\" y1=\"{:.0}\" y2=\"{:.0}\" stroke=\"#1b1f24\" stroke-width=\"1.5\"/>\n\
         <text x=\"{GOAL_AT}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#1b1f24\">goal</text>\n</svg>",
        TOP - 6.0,
        height - 10.0,
        TOP - 10.0
    );
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
