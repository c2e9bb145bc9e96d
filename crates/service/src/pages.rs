//! The dashboard. Every page is rendered on the server and calls only the use cases; script is used only for copying, for policy
//! switches that submit at once, and for jobs whose progress moves. Their paths are in `router`.

pub(crate) mod account;
pub(crate) mod book;
mod chart;
mod deciding;
mod extract;
mod flow;
mod frame;
pub(crate) mod jobs;
mod multipart;
pub(crate) mod operator;
mod parts;
mod reading;
pub(crate) mod readings;
pub(crate) mod review;
pub(crate) mod sign_in;
pub(crate) mod try_it;
pub(crate) mod usage;
mod visitor;
pub(crate) mod webhooks;

use crate::web::StaticFile;
pub(crate) use extract::carry_visitor;

const COPY: &str = include_str!("../assets/copy.js");

/// The one script that pages load.
pub(crate) fn script() -> StaticFile {
    StaticFile::new("text/javascript; charset=utf-8", extract::POLICY, COPY)
}
