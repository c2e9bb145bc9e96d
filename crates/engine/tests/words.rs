//! What a description says for every category, on one page that a person can read: `words.md`. `UPDATE=1` rewrites it; review the diff.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; this test reads and writes its page")]
#![expect(clippy::expect_used, reason = "tests fail loudly")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use engine::Treatments;
use engine::category::TABLE;
use engine::classification::{Action, AssetLeg, Assets};
use engine::describe::{Told, description};
use engine::position::{Circumstances, position};

fn leg(amount: &str, symbol: &str) -> AssetLeg {
    AssetLeg {
        symbol: symbol.to_owned(),
        amount: amount.to_owned(),
        action: Action::Transferred,
        decimals: Some(18),
        token_address: None,
        token_name: None,
        to: None,
        from: None,
        token_type: None,
        token_id: None,
        symbol_collision: false,
        display_symbol: None,
        inferred: false,
        inferred_basis: None,
    }
}

/// Legs both ways, one way, the other way, and none.
fn ways() -> [(&'static str, Assets); 4] {
    let (sent, received) = (vec![leg("1250.5", "OUT")], vec![leg("3", "IN")]);
    let assets =
        |sent: &[AssetLeg], received: &[AssetLeg]| Assets { sent: sent.into(), received: received.into(), gas: None };
    [
        ("both", assets(&sent, &received)),
        ("sent", assets(&sent, &[])),
        ("received", assets(&[], &received)),
        ("nothing", assets(&[], &[])),
    ]
}

fn page() -> String {
    let us = Treatments::us().expect("treatments/us.toml loads");
    let mut page = String::from(
        "# What a description says\n\nFor every category, by what moved for the wallet, under the law of the United States. Written by \
         `UPDATE=1 cargo test -p taxon-engine --test words`.\n",
    );
    for row in TABLE {
        let _ = write!(page, "\n## {}\n\n", row.name);
        for (way, assets) in ways() {
            let facts = Circumstances {
                out: !assets.sent.is_empty(),
                incoming: !assets.received.is_empty(),
                paid: !assets.sent.is_empty(),
                ..Circumstances::default()
            };
            let position = position(&us, row.category, &engine::Policy::default(), facts);
            let (treatment, basis) = (position.treatment, position.basis);
            let told = Told { category: row.category, assets: &assets, protocol: Some("Protocol"), treatment, basis };
            let _ = writeln!(page, "- {way}: {}", description(&told, us.is_open(row.category)));
        }
    }
    page
}

#[test]
fn every_category_is_told_as_the_page_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words.md");
    let now = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &now).expect("the page is written");
    }
    let shown = fs::read_to_string(&path).expect("the page is there");
    assert!(shown == now, "descriptions changed: run with UPDATE=1 and review the diff of {}", path.display());
}
