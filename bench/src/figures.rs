//! Numbers: how they are summed up, and how a program hands them on.

use std::time::Duration;

/// What a program hands on: one `name value` a line, after everything that a person reads.
#[derive(Debug, Default)]
pub struct Figures(Vec<(String, f64)>);

impl Figures {
    pub fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }

    #[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
    pub fn print(&self) {
        println!();
        for (name, value) in &self.0 {
            println!("{name} {value:.3}");
        }
    }
}

pub fn median(figures: Vec<f64>) -> f64 {
    Sorted::new(figures).quantile(0.5)
}

/// Figures of which any quantile can be told.
#[derive(Debug, Clone, Default)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    pub fn new(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }

    /// The smallest figure that at least this share of all does not exceed; 0 when there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (number(self.0.len()) * share).ceil().max(1.0);
        let reached = (1..).zip(&self.0).find(|(place, _)| f64::from(*place) >= rank);
        reached.map_or_else(|| self.0.last().copied().unwrap_or_default(), |(_, figure): (u32, &f64)| *figure)
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / number(self.0.len().max(1))
    }

    pub fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn values(&self) -> &[f64] {
        &self.0
    }
}

/// A count as a figure; more than 2³² of anything is not measured here.
pub fn number(count: impl TryInto<u32>) -> f64 {
    count.try_into().map_or(f64::INFINITY, f64::from)
}

pub fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_figures_that_were_measured() {
        let figures = Sorted::new((1..=100).rev().map(f64::from).collect());
        assert_eq!((figures.quantile(0.5), figures.quantile(0.99), figures.quantile(1.0)), (50.0, 99.0, 100.0));
        assert_eq!((figures.quantile(0.0), figures.max(), figures.mean()), (1.0, 100.0, 50.5));
        assert_eq!(Sorted::default().quantile(0.5), 0.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
