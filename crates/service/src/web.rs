//! HTTP: what a request carries beside its body (key, client address, cookies' security, request id), size limits, and how answers and
//! refusals are sent. Who may call is decided in `app`; which path leads where is in `router`.

mod client;
mod failure;
mod finished;
mod gate;
mod listen;
mod request_id;
mod scrape;

use std::ops::Deref;
use std::sync::Arc;

use ipnet::IpNet;

use crate::app::App;
use crate::config::Config;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use client::address as client_address;
pub(crate) use finished::StaticFile;
pub(crate) use gate::{bearer, keyed, request_id};
pub(crate) use listen::{Places, Timeouts, serve};
pub(crate) use request_id::carry as carry_request_id;
pub(crate) use scrape::{gather_metrics, scrape, scrape_worker};

/// Limit of a request's body.
pub(crate) const BODY_BYTES_MAX: u64 = 1024 * 1024;

/// What the handlers share. It is copied several times for each request, so it is one pointer.
#[derive(Debug, Clone)]
pub(crate) struct Web(Arc<WebState>);

impl Deref for Web {
    type Target = WebState;

    fn deref(&self) -> &WebState {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct WebState {
    pub(crate) app: Arc<App>,
    trusted_proxies: Vec<IpNet>,
}

impl Web {
    pub(crate) fn new(app: Arc<App>, config: &Config) -> Self {
        Self(Arc::new(WebState { app, trusted_proxies: config.trusted_proxies.clone() }))
    }
}
