//! Every pack that is embedded says what it claims to: its cases are read as they say, and so are its recorded bytes.

#![expect(clippy::disallowed_methods, reason = "the engine does no IO; these tests read packs and case documents")]
#![expect(clippy::expect_used, reason = "tests fail loudly")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use engine::cases::{self, recorded};
use engine::category::TABLE;
use engine::coverage;
use engine::rules::recorded::{RecordedReading, RecordedSource};
use engine::rules::{Pack, Rules};
use engine::{Category, Knowledge, Treatments};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
    let rules = Rules::embedded_with_checks().expect("embedded packs load");
    Knowledge::new(rules, Treatments::us().expect("the table of treatments loads"), [])
});

/// Packs with rules for events, calls or instructions that name no recorded reading. This figure only falls: it rose once, when packs of which plain transfers had
/// decided got their first rules (edgeX, GRVT, Paradex, Vertex), of whose logs no public source holds the bytes, and once more for Star Atlas, of whose
/// instructions none was found either.
const WITHOUT_RECORDED: usize = 89;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(pack: &str) -> String {
    fs::read_to_string(root().join(format!("protocols/{pack}.toml"))).expect("the pack has a file")
}

/// What is wrong with the recorded readings of this pack alone.
fn faults(pack: &str, text: &str) -> Vec<String> {
    let rules = Rules::of(&[(pack, text)]).expect("the pack loads");
    recorded::check(&rules).iter().map(ToString::to_string).collect()
}

#[test]
fn every_case_of_every_pack_is_read_as_it_says() {
    let faults: Vec<String> = cases::check(&KNOWLEDGE).iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_pack_divides_an_abi_as_the_rules_do() {
    let rules = &KNOWLEDGE.rules;
    let faults: Vec<String> = coverage::faults(rules).iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn packs_without_a_recorded_reading_become_fewer() {
    let rules = &KNOWLEDGE.rules;
    let without = recorded::packs_without(rules);
    let advice = "a new pack names a recorded reading (CONTRIBUTING.md); where there are fewer, lower the figure";
    assert_eq!(without.len(), WITHOUT_RECORDED, "{advice}: {}", without.join(", "));
}

/// Categories that no pack means: the engine's own sources give them.
const BY_THE_ENGINE: [&str; 5] = ["failed_transaction", "self_transfer", "spam", "staking_rebase", "unclassified"];
/// Categories that only a person can give, in the review of a reading.
const BY_A_REVIEWER: [&str; 2] = ["gift", "loss"];

#[test]
fn every_category_is_given_by_a_pack_by_the_engine_or_by_a_reviewer() {
    let rules = &KNOWLEDGE.rules;
    let events = rules.event_rules().map(|rule| rule.means);
    let calls = rules.call_rules().filter_map(|rule| rule.means);
    let instructions = rules.solana.rules().map(|rule| rule.means);
    let rows = rules.packs.iter().flat_map(|pack| &pack.file.transfer);
    let transfers = rows.filter_map(|row| Category::parse(&row.means));
    let mut given: BTreeSet<&str> =
        events.chain(calls).chain(instructions).chain(transfers).map(Category::name).collect();
    given.extend(BY_THE_ENGINE);
    given.extend(BY_A_REVIEWER);
    let all: BTreeSet<&str> = TABLE.iter().map(|row| row.name).collect();
    assert_eq!(all, given);
}

#[test]
fn a_demo_transaction_is_read_by_the_rule_that_names_it() {
    let documents: Vec<String> = fs::read_dir(root().join("tests/cases"))
        .expect("there are case documents")
        .map(|entry| fs::read_to_string(entry.expect("a file").path()).expect("text"))
        .collect();
    let rules = &KNOWLEDGE.rules;
    let mut tried = 0;
    for (pack, row) in rules.packs.iter().flat_map(|pack| pack.file.recorded.iter().map(move |row| (pack, row))) {
        let Ok(RecordedReading { source: RecordedSource::Demo(transaction), name, means: Some(means), .. }) =
            row.parse()
        else {
            continue;
        };
        let evidence = format!("\nevidence    {}/{name} says {} ", pack.id, means.name());
        let shows = |text: &String| {
            let reading =
                text.split_once(&format!("\ntransaction: {transaction}\n")).map_or("", |(_, reading)| reading);
            reading.contains(&evidence)
        };
        assert!(documents.iter().any(shows), "no case document of {transaction} shows{evidence}");
        tried += 1;
    }
    assert!(tried > 0, "no pack names a demo transaction");
}

/// Every recorded log and call, with the pack it belongs to.
fn recorded_of_evm(rules: &Rules) -> impl Iterator<Item = (&Pack, RecordedReading<'_>)> {
    let rows = rules.packs.iter().flat_map(|pack| pack.file.recorded.iter().map(move |row| (pack, row)));
    rows.filter_map(|(pack, row)| Some((pack, row.parse().ok()?)))
        .filter(|(_, row)| matches!(row.source, RecordedSource::Log { .. } | RecordedSource::Call { .. }))
}

#[test]
fn no_recorded_reading_survives_a_wrong_signature() {
    let rules = &KNOWLEDGE.rules;
    let mut tried = 0;
    for (pack, row) in recorded_of_evm(rules) {
        // An anonymous event is known by its first topic, not by its name.
        if pack.file.event.iter().any(|event| event.topic0.is_some()) {
            continue;
        }
        let wrong = text_of(&pack.id).replace(&format!("\"{}(", row.name), &format!("\"{}Wrong(", row.name));
        let said = faults(&pack.id, &wrong).join("\n");
        assert!(said.contains(&format!("recorded `{}Wrong(", row.name)), "{} {}: {said}", pack.id, row.name);
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn no_recorded_reading_survives_a_wrong_contract() {
    const OTHER: &str = "0x00000000000000000000000000000000000000AA";
    let rules = &KNOWLEDGE.rules;
    let mut tried = 0;
    for (pack, row) in recorded_of_evm(rules) {
        let RecordedSource::Log { log, .. } = &row.source else { continue };
        let events =
            pack.file.event.iter().filter(|event| event.signature.get_ref().starts_with(&format!("{}(", row.name)));
        // What a factory made is known without being listed.
        let is_made = |role: &str| pack.file.created.iter().any(|row| row.role.get_ref() == role);
        let is_listed =
            events.into_iter().all(|event| pack.file.contracts.contains_key(&event.on) && !is_made(&event.on));
        if !is_listed {
            continue;
        }
        // Recorded bytes are in lower case, packs checksummed; an address without letters would be replaced in both.
        let address = log.address.to_string();
        if address == address.to_lowercase() {
            continue;
        }
        let wrong = text_of(&pack.id).replace(&address, OTHER);
        let said = faults(&pack.id, &wrong).join("\n");
        assert!(said.contains("the rule is not for"), "{} {}: {said}", pack.id, row.name);
        tried += 1;
    }
    assert!(tried > 60, "{tried}");
}

/// The faults of a pack in which one text is replaced by another.
fn corrupted(pack: &str, right: &str, wrong: &str) -> String {
    let text = text_of(pack);
    assert!(text.contains(right), "{pack} holds no `{right}`");
    faults(pack, &text.replace(right, wrong)).join("\n")
}

#[test]
fn a_wrong_place_of_a_parameter_is_a_fault_with_its_line() {
    let signature = "Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)";
    let cases = [
        (
            "Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 indexed amount, uint16 referralCode)",
            "`amount` is ",
        ),
        (
            "Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 referralCode)",
            "topics and data",
        ),
        (
            "Supply(address indexed onBehalfOf, address user, address indexed reserve, uint256 amount, uint16 indexed referralCode)",
            "`reserve` is ",
        ),
        (
            "Supply(address indexed reserve, address user, address indexed onBehalfOf, uint128 amount, uint16 indexed referralCode)",
            "first topic",
        ),
    ];
    for (wrong, expected) in cases {
        let said = corrupted("aave-v3", signature, wrong);
        assert!(said.starts_with("aave-v3.toml:") && said.contains(expected), "{wrong}: {said}");
    }
    let line = text_of("aave-v3").lines().position(|line| line.starts_with("reads = \"Supply(")).expect("a row") + 1;
    let said = corrupted("aave-v3", signature, cases[0].0);
    assert!(said.starts_with(&format!("aave-v3.toml:{line}: recorded `Supply(")), "{said}");
}

#[test]
fn a_rule_that_means_or_uses_something_else_is_a_fault() {
    let said = corrupted("aave-v3", "means = \"collateral_withdraw\"", "means = \"reward\"");
    assert!(said.contains("the rule means collateral_withdraw"), "{said}");
    let said =
        corrupted("aave-v3", "out       = [\"reserve=amount\"]", "out       = [\"reserve=amount\", \"@with:user?\"]");
    assert!(said.contains("the rule uses `user`, which is not named"), "{said}");
}

#[test]
fn arrays_and_tuples_are_held_to_the_recorded_bytes() {
    let said = corrupted("curve-pools", ", amounts[0]=936957, amounts[1]=911449082134631299", "");
    assert!(said.contains("the rule uses `amounts[*]`, which is not named"), "{said}");
    let said = corrupted("curve-pools", "amounts[1]=911449082134631299", "amounts[1]=911449082134631298");
    assert!(said.contains("`amounts[1]` is 911449082134631299"), "{said}");
    let item = "(uint8 itemType, address token, uint256 identifier, uint256 amount)";
    let said = corrupted("seaport", item, "(uint8 itemType, address token, uint256 amount, uint256 identifier)");
    assert!(said.contains("`offer[0].identifier` is 1, not 8568"), "{said}");
}

#[test]
fn a_wrong_instruction_or_position_is_a_fault() {
    let said = corrupted("pumpfun", "anchor = \"buy\"", "anchor = \"purchase\"");
    assert!(said.contains("no rule of this pack is about it"), "{said}");
    let said = corrupted("pumpfun", "who    = [6]", "who    = [5]");
    assert!(said.contains("position of the rule's `who`"), "{said}");
}

#[test]
fn a_malformed_recorded_reading_refuses_the_pack_with_file_and_line() {
    const HASH: &str = "0x09d5e6da511fb88e8a7db6f1209542610a9d3873048e405b88c7a766d7210d6f";
    const LOG: &str = "log = { address = \"0x794a61358d6845594f94dc1db02a252b5b4814ad\", topics = [], data = \"0x\" }";
    let head = "name = \"Mine\"\nabout = \"x\"\n[[recorded]]\n";
    let tx = format!("tx = \"ethereum {HASH}\"");
    let reads = "reads = \"A(b=1)\"";
    let cases = [
        (format!("{tx}\n{reads}"), "`tx` and one `log`"),
        (format!("demo = \"aave_supply\"\n{LOG}\n{reads}"), "`tx` and one `log`"),
        (format!("tx = \"{HASH}\"\n{LOG}\n{reads}"), "no chain and hash"),
        (format!("tx = \"ethereum 0x09\"\n{LOG}\n{reads}"), "no chain and hash"),
        (format!("tx = \"solana {HASH}\"\n{LOG}\n{reads}"), "instructions are of Solana"),
        (format!("{tx}\n{LOG}\nreads = \"A(b)\""), "does not read `Name(parameter=value, …)`"),
        (format!("{tx}\n{LOG}\n{reads}\nmeans = \"sale\""), "no category is called `sale`"),
        (format!("{tx}\n{}\n{reads}", LOG.replace("4ad\"", "4\"")), "mine.toml:5"),
        (format!("{tx}\n{LOG}\n{reads}\nhash = 1"), "unknown field `hash`"),
    ];
    for (row, expected) in cases {
        let refused = Rules::of(&[("mine", &format!("{head}{row}\n"))]).expect_err("it is refused");
        let said = refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.starts_with("mine.toml:") && said.contains(expected), "{row}: {said}");
    }
}
