//! What an auditor reads back, and what retention deletes.

use taxon::store::{LedgerFilter, PAGE_ROWS_MAX, Purged, SettleOutcome};

use super::engines::{DAY, Engine, NOON, engines, payer, reserve, settle};

async fn bill(engine: &Engine, owner: &str, call: &str, hashes: &[&str]) {
    let payer = payer(owner, Some(1_000_000));
    let turned = engine.store.turn(reserve(&payer, call, hashes)).await.unwrap();
    let outcomes: Vec<(&str, SettleOutcome)> = hashes.iter().map(|hash| (*hash, SettleOutcome::Billable)).collect();
    engine.store.turn(settle(&payer, call, &turned.period, &outcomes, &[])).await.unwrap();
}

#[tokio::test]
async fn rows_tell_who_which_when_and_under_which_request() {
    for engine in engines().await {
        bill(&engine, "owner", "a", &["h1"]).await;
        let rows = engine.store.entries(&LedgerFilter::default(), None).await.unwrap();
        let row = &rows[0];
        assert_eq!((row.payer.as_str(), row.hash.as_str(), row.at), ("owner", "h1", NOON));
        assert_eq!((row.billed.as_str(), row.category.as_str(), row.chain.as_str()), ("pool", "swap", "demo"));
        assert_eq!((row.key_id.as_str(), row.request_id.as_str()), ("key00001", "request-a"));
        assert_eq!((row.period.as_str(), rows.len()), ("2026-11", 1));
    }
}

#[tokio::test]
async fn rows_cannot_be_rewritten() {
    for engine in engines().await {
        bill(&engine, "owner", "a", &["h1"]).await;
        let refused = engine.sql("UPDATE entries SET billed = 'free'").await.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{}: {refused}", engine.name);
        assert_eq!(engine.store.imbalances().await.unwrap(), []);
        engine.sql("UPDATE pools SET used = 7").await.unwrap();
        assert_eq!(engine.store.imbalances().await.unwrap()[0].used, 7, "and a changed counter is found");
    }
}

#[tokio::test]
async fn pages_hold_every_row_once() {
    for engine in engines().await {
        let count = usize::try_from(PAGE_ROWS_MAX).unwrap() + 250;
        let hashes: Vec<String> = (0..count).map(|number| format!("h{number:05}")).collect();
        for (number, part) in hashes.chunks(500).enumerate() {
            engine.set_clock(NOON + i64::try_from(number).unwrap());
            bill(&engine, "owner", "a", &part.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
        let (mut cursor, mut read) = (None, Vec::new());
        loop {
            let page = engine
                .store
                .entries(&LedgerFilter { since: NOON, ..LedgerFilter::default() }, cursor.as_ref())
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            cursor = Some(last.cursor());
            read.extend(page.into_iter().map(|row| row.hash));
        }
        assert_eq!(read, hashes, "{}", engine.name);
        let later = LedgerFilter { since: NOON + 2, ..LedgerFilter::default() };
        assert_eq!(engine.store.entries(&later, None).await.unwrap().len(), 250);
    }
}

/// The current month stays whole, since its pool does; so does what the billing rail has not heard of.
#[tokio::test]
async fn old_rows_go_and_open_ones_stay() {
    for engine in engines().await {
        engine.set_clock(NOON - 60 * DAY);
        bill(&engine, "owner", "a", &["h1", "h2"]).await;
        let metered = payer("partner", None);
        engine.store.turn(settle(&metered, "m", "2026-09", &[("h1", SettleOutcome::Billable)], &[])).await.unwrap();
        engine.set_clock(NOON);
        bill(&engine, "owner", "b", &["h1", "h2"]).await;
        let purged = engine.store.purge(NOON + DAY).await.unwrap();
        assert_eq!(purged, Purged { entries: 2, events: 0 }, "{}", engine.name);
        let left: Vec<(String, String)> = engine
            .store
            .entries(&LedgerFilter::default(), None)
            .await
            .unwrap()
            .into_iter()
            .map(|r| (r.payer, r.period))
            .collect();
        let row = |payer: &str, period: &str| (payer.to_owned(), period.to_owned());
        assert_eq!(left, [row("partner", "2026-09"), row("owner", "2026-11"), row("owner", "2026-11")]);
        assert_eq!(engine.store.imbalances().await.unwrap(), []);
        engine.store.delivered("partner", i64::MAX).await.unwrap();
        assert_eq!(engine.store.purge(NOON + DAY).await.unwrap(), Purged { entries: 1, events: 1 });
    }
}
