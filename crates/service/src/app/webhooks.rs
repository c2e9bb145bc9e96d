//! Webhooks, as their owners handle them: endpoints, secrets that are shown once, tests, and messages that are sent again.

use super::{App, is_id};
use crate::error::ApiError;
use crate::limits::{Counted, whole_seconds};
use crate::store::{DeliveryRow, EndpointRow, EventKind};
use crate::webhooks::{KEPT, OVERLAP, TRIED_FOR, new_secret, shown};

/// Endpoints of one owner.
pub(crate) const ENDPOINTS_MAX: i64 = 5;
/// Messages of one page.
const PAGE_DELIVERIES: i64 = 50;

/// A secret, for the one time that it is shown.
pub(crate) struct ShownSecret {
    pub(crate) endpoint_id: String,
    pub(crate) text: String,
}

impl std::fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShownSecret (redacted)")
    }
}

/// A page of an endpoint's messages, the newest first.
#[derive(Debug)]
pub(crate) struct DeliveryList {
    pub(crate) deliveries: Vec<DeliveryRow>,
    /// Where the next page begins.
    pub(crate) next: Option<i64>,
}

impl App {
    pub(crate) async fn webhooks(&self, owner_id: &str) -> Result<Vec<EndpointRow>, ApiError> {
        Ok(self.store.endpoints(owner_id).await?)
    }

    pub(crate) async fn webhook(&self, owner_id: &str, id: &str) -> Result<EndpointRow, ApiError> {
        let found = if is_id(id) { self.store.endpoint(owner_id, id).await? } else { None };
        found.ok_or(ApiError::NotFound)
    }

    pub(crate) async fn create_webhook(
        &self,
        owner_id: &str,
        url: &str,
        events: &[EventKind],
    ) -> Result<ShownSecret, ApiError> {
        let events = chosen(events)?;
        self.count_webhook(owner_id).await?;
        let url = self.reach.check(url).await;
        let url = url.map_err(|why| ApiError::invalid_request(format!("the address is refused: {why}")))?;
        let (id, secret) = (format!("whe_{:032x}", rand::random::<u128>()), new_secret());
        if !self.store.create_endpoint(owner_id, &id, &url, &events, &secret, ENDPOINTS_MAX).await? {
            return Err(ApiError::invalid_request(format!("you have {ENDPOINTS_MAX} webhooks: remove one first")));
        }
        Ok(ShownSecret { endpoint_id: id, text: shown(&secret) })
    }

    pub(crate) async fn choose_webhook_events(
        &self,
        owner_id: &str,
        id: &str,
        events: &[EventKind],
    ) -> Result<(), ApiError> {
        self.count_webhook_of(owner_id, id).await?;
        self.store.set_endpoint_events(owner_id, id, &chosen(events)?).await?;
        Ok(())
    }

    /// The old secret signs beside the new one for a day.
    pub(crate) async fn rotate_webhook_secret(&self, owner_id: &str, id: &str) -> Result<ShownSecret, ApiError> {
        self.count_webhook_of(owner_id, id).await?;
        let secret = new_secret();
        let is_rotated = self.store.rotate_secret(owner_id, id, &secret, OVERLAP).await?;
        let shown = ShownSecret { endpoint_id: id.to_owned(), text: shown(&secret) };
        is_rotated.then_some(shown).ok_or(ApiError::NotFound)
    }

    pub(crate) async fn enable_webhook(&self, owner_id: &str, id: &str) -> Result<(), ApiError> {
        self.count_webhook_of(owner_id, id).await?;
        self.store.enable_endpoint(owner_id, id).await?;
        Ok(())
    }

    pub(crate) async fn remove_webhook(&self, owner_id: &str, id: &str) -> Result<(), ApiError> {
        self.count_webhook_of(owner_id, id).await?;
        self.store.remove_endpoint(owner_id, id).await?;
        Ok(())
    }

    /// Tells the message's id.
    pub(crate) async fn test_webhook(&self, owner_id: &str, id: &str) -> Result<String, ApiError> {
        let endpoint = self.count_webhook_of(owner_id, id).await?;
        enabled(&endpoint)?;
        let message = format!("msg_{:032x}", rand::random::<u128>());
        let is_made = self.store.announce_test(owner_id, id, &message).await?;
        is_made.then_some(message).ok_or(ApiError::NotFound)
    }

    pub(crate) async fn webhook_deliveries(&self, id: &str, before: Option<i64>) -> Result<DeliveryList, ApiError> {
        let deliveries = self.store.deliveries(id, before, PAGE_DELIVERIES).await?;
        let is_full = i64::try_from(deliveries.len()).is_ok_and(|count| count >= PAGE_DELIVERIES);
        let next = deliveries.last().filter(|_| is_full).map(|row| row.seq);
        Ok(DeliveryList { deliveries, next })
    }

    pub(crate) async fn webhook_delivery(&self, owner_id: &str, id: &str) -> Result<DeliveryRow, ApiError> {
        let found = if is_id(id) { self.store.delivery(owner_id, id).await? } else { None };
        found.ok_or(ApiError::NotFound)
    }

    pub(crate) async fn redeliver_webhook(&self, owner_id: &str, id: &str) -> Result<(), ApiError> {
        let delivery = self.webhook_delivery(owner_id, id).await?;
        let endpoint = self.count_webhook_of(owner_id, &delivery.endpoint_id).await?;
        enabled(&endpoint)?;
        self.store.redeliver(owner_id, id).await?;
        Ok(())
    }

    pub(crate) async fn sweep_webhooks(&self) -> Result<(), ApiError> {
        Ok(self.store.sweep_webhooks(KEPT, TRIED_FOR).await?)
    }

    /// The endpoint, if it is the owner's; what is not theirs is not counted either.
    async fn count_webhook_of(&self, owner_id: &str, id: &str) -> Result<EndpointRow, ApiError> {
        let endpoint = self.webhook(owner_id, id).await?;
        self.count_webhook(owner_id).await?;
        Ok(endpoint)
    }

    async fn count_webhook(&self, owner_id: &str) -> Result<(), ApiError> {
        match self.limits.hit(Counted::Webhook { owner_id }).await? {
            None => Ok(()),
            Some(wait) => Err(ApiError::RateLimited { seconds: whole_seconds(wait) }),
        }
    }
}

/// As they are kept.
fn chosen(events: &[EventKind]) -> Result<String, ApiError> {
    if events.is_empty() {
        return Err(ApiError::invalid_request("choose at least one event"));
    }
    Ok(events.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" "))
}

fn enabled(endpoint: &EndpointRow) -> Result<(), ApiError> {
    match endpoint.disabled_at {
        None => Ok(()),
        Some(_) => Err(ApiError::invalid_request("nothing is sent to this webhook until you enable it again")),
    }
}
