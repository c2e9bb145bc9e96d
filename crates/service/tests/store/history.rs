//! Readings, and an owner's days.

use taxon::store::{Day, HistoryRow, ReadingRow, Recent, RefusalCount, SettleOutcome, Store};

use super::engines::{DAY, NOON, SECOND, engines, payer, reserve, settle};

pub fn reading(owner: &str, hash: &str, wallet: &str, at: i64) -> HistoryRow {
    HistoryRow {
        owner_id: owner.to_owned(),
        hash: hash.to_owned(),
        wallet: wallet.to_owned(),
        chain: "demo".to_owned(),
        category: "swap",
        treatment: "disposal",
        taxable: Some(true),
        confidence: 97,
        needs_review: false,
        protocol: Some("Uniswap V3".to_owned()),
        note: None,
        time: at / SECOND,
        at,
        rules: "1+aa".to_owned(),
        for_review: None,
    }
}

pub fn refusal(owner: &str, day: i64, code: &'static str, count: i64) -> RefusalCount {
    RefusalCount { owner_id: owner.to_owned(), day, code, count }
}

async fn owners(store: &Store) {
    for owner in ["a", "b"] {
        assert!(store.create_account(owner, &format!("{owner}@example.com"), "hash").await.unwrap());
    }
}

fn hashes(rows: &[ReadingRow]) -> Vec<&str> {
    rows.iter().map(|row| row.hash.as_str()).collect()
}

#[tokio::test]
async fn the_last_reading_of_a_hash_and_wallet_is_kept() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        let doubtful = HistoryRow {
            needs_review: true,
            taxable: None,
            protocol: None,
            note: Some("<b>no</b> \u{202e}".to_owned()),
            confidence: 40,
            ..reading("a", "h1", "w1", NOON + SECOND)
        };
        let batch =
            [reading("a", "h1", "w1", NOON), doubtful, reading("a", "h1", "w2", NOON), reading("b", "h1", "w1", NOON)];
        store.write_history(&batch, &[]).await.unwrap();
        store.write_history(&[reading("a", "h1", "w1", NOON - SECOND)], &[]).await.unwrap();
        let row = store.reading("a", "h1", Some("w1")).await.unwrap().unwrap();
        assert_eq!((row.at, row.taxable, row.confidence, row.needs_review), (NOON + SECOND, None, 40, true));
        assert_eq!((row.note.as_deref(), row.protocol), (Some("<b>no</b> \u{202e}"), None));
        assert_eq!(store.reading("a", "h1", None).await.unwrap().unwrap().wallet, "w1", "the newest");
        assert_eq!(store.readings("a", &Recent::default(), 10).await.unwrap().len(), 2, "{}", engine.name);
        assert!(store.reading("b", "h1", Some("w2")).await.unwrap().is_none(), "another's");
        store.write_history(&[reading("nobody", "h1", "w1", NOON)], &[]).await.unwrap();
        assert!(store.readings("nobody", &Recent::default(), 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn many_readings_are_written_at_once() {
    for engine in engines().await {
        owners(&engine.store).await;
        let batch: Vec<HistoryRow> =
            (0..1_234).map(|number| reading("a", &format!("h{number:04}"), "w", NOON)).collect();
        engine.store.write_history(&batch, &[]).await.unwrap();
        let mut filter = Recent::default();
        let mut seen = Vec::new();
        loop {
            let page = engine.store.readings("a", &filter, 100).await.unwrap();
            let Some(last) = page.last() else { break };
            filter.before = Some(last.cursor());
            seen.extend(page.into_iter().map(|row| row.hash));
        }
        let wanted: Vec<String> = (0..1_234).rev().map(|number| format!("h{number:04}")).collect();
        assert_eq!(seen, wanted, "pages hold every row of one moment once, {}", engine.name);
    }
}

#[tokio::test]
async fn readings_are_filtered_by_text_and_shown_by_date() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        let batch = [
            reading("a", "0xab%1", "w", NOON),
            HistoryRow { category: "bridge_out", protocol: None, ..reading("a", "0xab_2", "w", NOON + SECOND) },
            HistoryRow { chain: "base".to_owned(), needs_review: true, ..reading("a", "5Kx", "w", NOON + 2 * SECOND) },
            HistoryRow { needs_review: true, ..reading("a", "0xcd", "w", NOON + 3 * SECOND) },
            reading("b", "0xab%1", "w", NOON),
        ];
        store.write_history(&batch, &[]).await.unwrap();
        let found = async |filter: Recent| {
            let rows = store.readings("a", &filter, 10).await.unwrap();
            hashes(&rows).join(" ")
        };
        let text = |text: &str| Recent { text: Some(text.to_owned()), ..Recent::default() };
        for (looked_for, wanted) in [
            ("0xAB", "0xab_2 0xab%1"),
            ("0xab%", "0xab%1"),
            ("0xab_", "0xab_2"),
            ("5kx", "5Kx"),
            ("bridge", "0xab_2"),
            ("base", "5Kx"),
            ("uniswap", "0xcd 5Kx 0xab%1"),
            ("nothing'; --", ""),
        ] {
            assert_eq!(found(text(looked_for)).await, wanted, "{looked_for}, {}", engine.name);
        }
        let next = Recent { before: Some((NOON / SECOND + 3, "0xcd".to_owned(), "w".to_owned())), ..Recent::default() };
        assert_eq!(found(next).await, "5Kx 0xab_2 0xab%1");
        let later = HistoryRow { time: NOON / SECOND - 1, ..reading("a", "0xff", "w", NOON + 9 * SECOND) };
        store.write_history(&[later], &[]).await.unwrap();
        assert!(found(Recent::default()).await.ends_with(" 0xff"), "by when it was, not by when it was read");
    }
}

#[tokio::test]
async fn old_readings_go_and_what_was_decided_stays() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        let old = NOON - 60 * DAY;
        let batch =
            ["a", "b"].map(|owner| [reading(owner, "old", "w", old), reading(owner, "new", "w", NOON - 14 * DAY)]);
        let refusals = [refusal("a", old / DAY, "rate_limited", 1), refusal("a", NOON / DAY, "rate_limited", 1)];
        store.write_history(&batch.concat(), &refusals).await.unwrap();
        assert_eq!(store.purge_history("a", old).await.unwrap(), 0);
        assert_eq!(store.purge_history("a", NOON + DAY).await.unwrap(), 1, "{}", engine.name);
        assert_eq!(hashes(&store.readings("a", &Recent::default(), 9).await.unwrap()), ["new"]);
        assert_eq!(store.readings("b", &Recent::default(), 9).await.unwrap().len(), 2);
        assert_eq!(store.usage("a", 366).await.unwrap().iter().map(|day| day.refused).sum::<i64>(), 1);
    }
}

#[tokio::test]
async fn days_are_counted_and_empty_ones_are_there() {
    for engine in engines().await {
        let store = &engine.store;
        owners(store).await;
        let classify = async |owner: &str, call: &str, at: i64, outcomes: &[(&str, SettleOutcome)]| {
            engine.set_clock(at);
            let pool = payer(owner, if owner == "a" { Some(100) } else { None });
            let hashes: Vec<&str> = outcomes.iter().map(|(hash, _)| *hash).collect();
            let turned = store.turn(reserve(&pool, call, &hashes)).await.unwrap();
            // Settled a second later: over midnight, it is of the day after.
            engine.set_clock(at + SECOND);
            store.turn(settle(&pool, call, &turned.period, outcomes, &[])).await.unwrap();
        };
        let midnight = NOON - DAY / 2;
        let month_end = midnight - 14 * DAY - SECOND;
        classify("a", "1", month_end, &[("h1", SettleOutcome::Billable)]).await;
        classify("a", "2", midnight - 2 * SECOND, &[("h2", SettleOutcome::Billable), ("h3", SettleOutcome::Free)])
            .await;
        classify(
            "a",
            "3",
            NOON,
            &[("h4", SettleOutcome::Free), ("h5", SettleOutcome::Billable), ("h6", SettleOutcome::Billable)],
        )
        .await;
        classify("b", "4", NOON, &[("h4", SettleOutcome::Billable)]).await;
        let today = NOON / DAY;
        let refusals = [
            refusal("a", today, "rate_limited", 2),
            refusal("a", today, "quota_exceeded", 5),
            refusal("a", today - 400, "rate_limited", 1),
            refusal("b", today, "rate_limited", 9),
        ];
        store.write_history(&[], &refusals).await.unwrap();
        store.write_history(&[], &refusals[..1]).await.unwrap();
        let day = |date: &str, billable, free, refused| Day { date: date.to_owned(), billable, free, refused };
        let days = store.usage("a", 3).await.unwrap();
        let wanted = [day("2026-11-13", 0, 0, 0), day("2026-11-14", 1, 1, 0), day("2026-11-15", 2, 1, 9)];
        assert_eq!(days, wanted, "{}", engine.name);
        assert_eq!(store.usage("b", 1).await.unwrap(), [day("2026-11-15", 1, 0, 9)], "metered rows are billable");
        let days = store.usage("a", 15).await.unwrap();
        assert_eq!(days[0], day("2026-11-01", 1, 0, 0), "it took its place in the month before");
        assert_eq!(store.usage("a", 0).await.unwrap().len(), 1);
        assert_eq!(store.usage("a", u32::MAX).await.unwrap().len(), 366);
    }
}
