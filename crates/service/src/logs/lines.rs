//! How an event becomes a line.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::{LogFormat, REQUEST};

#[derive(Debug, Clone, Copy)]
pub(super) struct LineFormat(pub(super) LogFormat);

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let now = Timestamp::now();
        let (level, target) = (event.metadata().level(), event.metadata().target());
        match self.0 {
            LogFormat::Text => {
                write!(out, "{now:.6} {level:>5} {target}: ")?;
                context.format_fields(out.by_ref(), event)?;
                with_request(|id| write!(out, " request_id={id}"))?;
            }
            LogFormat::Json => {
                write!(out, "{{\"time\":\"{now:.6}\",\"level\":\"{level}\",\"target\":\"{target}\"")?;
                let mut members = JsonFields { out: out.by_ref(), done: Ok(()) };
                event.record(&mut members);
                members.done?;
                with_request(|id| member(&mut out, "request_id", &id))?;
                out.write_char('}')?;
            }
        }
        out.write_char('\n')
    }
}

fn with_request(write: impl FnOnce(&str) -> fmt::Result) -> fmt::Result {
    REQUEST.try_with(|id| id.as_deref().map_or(Ok(()), write)).unwrap_or(Ok(()))
}

fn member(out: &mut Writer<'_>, name: &str, value: &(impl Serialize + ?Sized)) -> fmt::Result {
    write!(out, ",\"{name}\":{}", serde_json::to_string(value).map_err(|_| fmt::Error)?)
}

/// The fields of an event as members of an object. Their names are ours.
struct JsonFields<'a> {
    out: Writer<'a>,
    done: fmt::Result,
}

impl JsonFields<'_> {
    fn add(&mut self, field: &Field, value: &(impl Serialize + ?Sized)) {
        if self.done.is_ok() {
            self.done = member(&mut self.out, field.name(), value);
        }
    }
}

impl Visit for JsonFields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, &value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, &value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.add(field, &value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.add(field, &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format!("{value:?}"));
    }
}
