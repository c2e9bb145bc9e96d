//! Journal lines for results that the caller has. Nothing is classified, so nothing is counted against a pool.

use books::chart::Chart;
use books::journal::{JournalLine, Rules, check, journal_lines};
use books::prices::{PriceError, PriceRow, Prices};
use engine::Classification;
use engine::classification::API_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::{ApiError, Invalid};

const RESULTS_MAX: usize = 100;
const PRICES_MAX: usize = 10_000;
/// Each is two lines of the answer.
const POSTINGS_MAX: usize = 1_000;
/// Of what is wrong with a result or a chart, which may quote it.
const WORDS_CHARS_MAX: usize = 400;

/// Results, and what to make lines of them by. Unknown fields are ignored; null is absent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct JournalRequest {
    /// As `/v1/classify` or `/v1/classify-batch` answered them, or as you corrected them. Together at most 1,000 postings. One with `error` is not booked, and is
    /// counted in `skipped`.
    #[schema(value_type = Vec<Classification>, min_items = 1, max_items = 100)]
    results: Vec<Value>,
    /// A chart of accounts of your own; the one that comes with taxon when absent.
    chart: Option<ChartForm>,
    /// Where there is none, lines have quantities and no values.
    #[schema(max_items = 10_000)]
    prices: Option<Vec<PriceRow>>,
    /// The currency, where `prices` are in several.
    currency: Option<String>,
}

/// As TOML, in the form of `accounts.toml`, or the same as JSON.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChartForm {
    Toml(String),
    #[schema(value_type = Chart)]
    Json(Value),
}

/// Lines of a journal. Informational only, not tax advice.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JournalAnswer {
    /// Always `v1`.
    #[schema(value_type = String, pattern = "^v1$")]
    api_version: &'static str,
    /// Two for each posting, in the order of the results.
    lines: Vec<JournalLine>,
    /// Lines for which a price is missing.
    unpriced: usize,
    /// Results with `error`, which have no lines.
    skipped: usize,
}

impl JournalRequest {
    /// By the caller's chart and prices.
    pub(crate) fn lines(&self) -> Result<JournalAnswer, ApiError> {
        let count = self.results.len();
        if !(1..=RESULTS_MAX).contains(&count) {
            return Err(ApiError::invalid_request(format!("`results` takes 1 to {RESULTS_MAX} items, not {count}")));
        }
        let rows = self.readings()?;
        let skipped = count.saturating_sub(rows.len());
        let (chart, prices) = (self.chart()?, self.prices()?);
        let rules = Rules { chart: &chart, prices: prices.as_ref() };
        let mut lines = Vec::new();
        for (at, row) in &rows {
            lines.extend(journal_lines(row, rules).map_err(|error| of_result(*at, &error))?);
        }
        let unpriced = lines.iter().filter(|line| line.unpriced).count();
        Ok(JournalAnswer { api_version: API_VERSION, lines, unpriced, skipped })
    }

    /// Those that can be booked, with their places.
    fn readings(&self) -> Result<Vec<(usize, Classification)>, ApiError> {
        let is_failed = |result: &Value| result["error"].as_str().is_some_and(|error| !error.is_empty());
        let classified = self.results.iter().enumerate().filter(|(_, result)| !is_failed(result));
        let rows: Vec<_> =
            classified.map(|(at, result)| reading(at, result).map(|row| (at, row))).collect::<Result<_, _>>()?;
        let postings: usize = rows.iter().filter_map(|(_, row)| row.postings.as_ref()).map(Vec::len).sum();
        if postings > POSTINGS_MAX {
            let words = format!("`results` take at most {POSTINGS_MAX} postings together, not {postings}: send fewer");
            return Err(ApiError::invalid_request(words));
        }
        Ok(rows)
    }

    fn chart(&self) -> Result<Chart, ApiError> {
        let chart = match &self.chart {
            None => return Chart::embedded().map_err(|_| ApiError::Internal),
            Some(ChartForm::Toml(text)) => Chart::parse(text),
            Some(ChartForm::Json(value)) => Chart::from_json(value),
        };
        chart.map_err(|error| ApiError::invalid_request(format!("`chart`: {}", short(&error))))
    }

    fn prices(&self) -> Result<Option<Prices>, ApiError> {
        let Some(rows) = self.prices.as_ref().filter(|rows| !rows.is_empty()) else { return Ok(None) };
        if rows.len() > PRICES_MAX {
            return Err(ApiError::invalid_request(format!("`prices` takes at most {PRICES_MAX} items")));
        }
        let prices = Prices::of_rows(rows, self.currency.as_deref());
        let prices = prices.map_err(|error| match error {
            PriceError::Refused { row, column, what } => format!("`prices[{row}].{column}`: {what}"),
            other => format!("`prices`: {other}"),
        });
        prices.map(Some).map_err(ApiError::invalid_request)
    }
}

fn short(error: &dyn std::fmt::Display) -> String {
    error.to_string().chars().take(WORDS_CHARS_MAX).collect()
}

fn of_result(at: usize, error: &dyn std::fmt::Display) -> ApiError {
    ApiError::InvalidRequest(Invalid::new(format!("`results[{at}]`: {}", short(error))).of_item(Some(at)))
}

fn reading(at: usize, result: &Value) -> Result<Classification, ApiError> {
    // Serde reads a struct from an array too.
    if !result.is_object() {
        return Err(of_result(at, &"not a classification"));
    }
    let row: Result<Classification, _> = serde_path_to_error::deserialize(result);
    let row = row.map_err(|error| of_result(at, &format!("not a classification: {error}")))?;
    check(&row).map_err(|error| of_result(at, &error))?;
    Ok(row)
}
