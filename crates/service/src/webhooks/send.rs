//! One attempt to deliver one message.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use super::signature::sign;
use super::target::{Reach, TargetRefused};
use crate::store::DueDelivery;

/// From looking the name up to the head of the answer. Its body is not read.
pub(super) const ANSWER_SECONDS_MAX: u64 = 15;
const CONNECT_SECONDS_MAX: u64 = 10;
const AGENT: &str = concat!("taxon-webhooks/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub(super) struct Sender {
    reach: Reach,
    client: reqwest::Client,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendResult {
    Delivered,
    /// Answered with another status than 2xx.
    Refused,
    Redirected,
    /// 410: the receiver wants no more.
    Gone,
    TimedOut,
    Unreachable,
    /// The address is none that we send to.
    Forbidden(TargetRefused),
}

impl SendResult {
    /// As metrics count it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Redirected => "redirected",
            Self::Gone => "gone",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
            Self::Forbidden(_) => "forbidden",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) result: SendResult,
    pub(super) status: Option<u16>,
    /// How long the receiver wants to be left alone.
    pub(super) asked_pause: Option<Duration>,
}

impl Attempt {
    fn without_answer(result: SendResult) -> Self {
        Self { result, status: None, asked_pause: None }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.result == SendResult::Gone
    }

    /// Why it failed, for its owner; nothing that the receiver wrote.
    pub(super) fn failure(&self) -> Option<String> {
        let status = self.status.unwrap_or_default();
        match self.result {
            SendResult::Delivered => None,
            SendResult::Refused => Some(format!("it answered {status}")),
            SendResult::Redirected => Some(format!("it answered {status}, a redirect, and those are not followed")),
            SendResult::Gone => Some(format!("it answered {status}: it is gone")),
            SendResult::TimedOut => Some(format!("it did not answer within {ANSWER_SECONDS_MAX} seconds")),
            SendResult::Unreachable => Some("no connection could be made, or its certificate is not valid".to_owned()),
            SendResult::Forbidden(why) => Some(why.to_string()),
        }
    }
}

impl Sender {
    /// Nothing is kept open, so that the address of every message is checked anew; a proxy of the environment would take that from us.
    pub(super) fn new(reach: Reach) -> Result<Self, reqwest::Error> {
        let client = chains::http::client_builder()
            .dns_resolver(Arc::new(reach))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .user_agent(AGENT)
            .build()?;
        Ok(Self { reach, client })
    }

    pub(super) async fn send(&self, due: &DueDelivery) -> Attempt {
        let url = match self.reach.parse(&due.url) {
            Ok(url) => url,
            Err(why) => return Attempt::without_answer(SendResult::Forbidden(why)),
        };
        let seconds = jiff::Timestamp::now().as_second();
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &due.id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", sign(&due.secrets, &due.id, seconds, &due.payload))
            .body(due.payload.clone());
        // Around everything: a name that nobody answers for stalls too.
        match tokio::time::timeout(Duration::from_secs(ANSWER_SECONDS_MAX), request.send()).await {
            Ok(Ok(response)) => answered(&response),
            Ok(Err(error)) => Attempt::without_answer(failed(&error)),
            Err(_) => Attempt::without_answer(SendResult::TimedOut),
        }
    }
}

fn answered(response: &Response) -> Attempt {
    let status = response.status();
    let result = match status {
        StatusCode::GONE => SendResult::Gone,
        _ if status.is_success() => SendResult::Delivered,
        _ if status.is_redirection() => SendResult::Redirected,
        _ => SendResult::Refused,
    };
    let may_ask = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let asked = response.headers().get(RETRY_AFTER).filter(|_| may_ask).and_then(|value| value.to_str().ok());
    Attempt {
        result,
        status: Some(status.as_u16()),
        asked_pause: asked.and_then(|text| asked_pause(text, SystemTime::now())),
    }
}

/// Seconds, or a date.
fn asked_pause(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

fn failed(error: &reqwest::Error) -> SendResult {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<TargetRefused>() {
            return SendResult::Forbidden(*refused);
        }
        cause = error.source();
    }
    if error.is_timeout() { SendResult::TimedOut } else { SendResult::Unreachable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let asked = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", None),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("99999999999999999999", None),
        ];
        for (text, seconds) in asked {
            assert_eq!(asked_pause(text, now), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
