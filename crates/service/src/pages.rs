//! The dashboard: what a person meets in a browser. Every page is made on the server and calls only the use cases; none needs script, but
//! for copying and for policy switches that read anew at once.

mod account;
mod chart;
mod flow;
mod frame;
mod operator;
mod parts;
mod reading;
mod review;
mod sign_in;
mod try_it;
mod usage;
mod visitor;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::{get, post};

use crate::web::{Finished, Web};

const COPY: &str = include_str!("../assets/copy.js");

/// Whoever loads the address of a form again is led to the page that it stands on.
async fn to(page: &'static str) -> Redirect {
    Redirect::to(page)
}

/// The router is the table of contents.
pub(crate) fn router(web: &Web) -> Router<Web> {
    Router::new()
        .route("/", get(try_it::home))
        .route("/try", get(|| to("/")).post(try_it::read))
        .route("/reading/{hash}", get(try_it::reading))
        .route("/sign-up", get(sign_in::sign_up).post(sign_in::make))
        .route("/sign-in", get(sign_in::sign_in).post(sign_in::enter))
        .route("/sign-out", get(|| to("/")).post(sign_in::leave))
        .route("/link/{token}", get(sign_in::link).post(sign_in::take))
        .route("/account", get(account::settings))
        .route("/account/keys", get(|| to("/account")).post(account::create_key))
        .route("/account/keys/{id}/name", get(|| to("/account")).post(account::rename_key))
        .route("/account/keys/{id}/revoke", get(account::confirm_revoke).post(account::revoke_key))
        .route("/account/password", get(|| to("/account")).post(account::change_password))
        .route("/account/sign-out-everywhere", get(|| to("/account")).post(account::sign_out_everywhere))
        .route("/account/delete", get(account::confirm_delete).post(account::delete))
        .route("/usage", get(usage::page_handler))
        .route("/usage.csv", get(usage::csv))
        .route("/review", get(review::queue))
        .route("/review/{hash}", get(|| to("/review")).post(review::mark))
        .route("/review/{hash}/reopen", get(|| to("/review")).post(review::reopen))
        .route("/operator", get(operator::page_handler))
        .route("/operator/sign-up", post(operator::set_sign_up))
        .route("/operator/owners/{id}/tier", post(operator::set_tier))
        .route("/operator/owners/{id}/revoke", post(operator::revoke))
        .layer(from_fn_with_state(web.clone(), visitor::carry))
        .route("/assets/copy.js", Finished::new("text/javascript; charset=utf-8", visitor::POLICY, COPY).route())
}
