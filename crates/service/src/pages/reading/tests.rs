//! Readings of the demo chains, and hostile ones, as pages.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use chains::{Forgetful, Registry, Tape, TokenMemory, Upstreams, tape_node};
use engine::asset::NftKind;
use engine::classification::{Action, AssetLeg, Entry, Evidence, Posting, Side};
use engine::opinion::Source;
use engine::role::Role;
use engine::treatment::LedgerAction;
use engine::{Account, Knowledge, Question, TxHash};
use serde::Deserialize;

use super::*;
use crate::app::finish;

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::embedded().expect("embedded packs load"));

#[derive(Deserialize)]
struct Scenario {
    transactions: Vec<Done>,
}

#[derive(Clone, Deserialize)]
struct Done {
    name: String,
    hash: String,
    wallet: String,
}

struct DemoChains {
    registry: Registry,
    upstreams: Upstreams,
    done: Vec<Done>,
}

impl DemoChains {
    fn open() -> Self {
        let mut registry = Registry::embedded().unwrap();
        registry.add(include_str!("../../../../../demo/chain.toml")).unwrap();
        let node =
            |slug: &str, tape: &str| tape_node(registry.find(slug).unwrap(), &Arc::new(Tape::read(tape).unwrap()));
        let evm = node("demo", include_str!("../../../../../demo/evm.jsonl"));
        let solana = node("demo-solana", include_str!("../../../../../demo/solana.jsonl"));
        let memory: Arc<dyn TokenMemory> = Arc::new(Forgetful);
        let scenario = |text: &str| serde_json::from_str::<Scenario>(text).unwrap().transactions;
        let mut done = scenario(include_str!("../../../../../demo/scenario.json"));
        done.extend(scenario(include_str!("../../../../../demo/solana-scenario.json")));
        Self { registry, upstreams: Upstreams::new([evm, solana], &memory), done }
    }

    async fn read(&self, name: &str, policy: Policy) -> Classification {
        let done = self.done.iter().find(|done| done.name == name).expect("it was done");
        let wallet = Some(Account::parse(&done.wallet).unwrap());
        let question = Question { wallet, policy, explain: true, ..Question::default() };
        let fetched = self.upstreams.fetch(TxHash::parse(&done.hash).unwrap(), None).await.unwrap();
        finish(fetched, &question, &KNOWLEDGE).await.unwrap().answer.unwrap()
    }

    fn page(&self, row: &Classification, policy: Policy) -> String {
        let chain = row.chain.as_deref().and_then(|slug| self.registry.find(slug)).map(|chain| (**chain).clone());
        // The demo chains have no explorer; the links are drawn as those of a chain that has.
        let chain = chain.map(|chain| Chain { explorer: Some("https://explorer.example/".to_owned()), ..chain });
        let shown = Shown {
            row,
            treatments: &KNOWLEDGE.treatments,
            chain: chain.as_ref(),
            policy,
            here: "/tx/demo/0x1",
            asked_wallet: Some("0xabc"),
        };
        reading(&shown).into_string()
    }
}

/// What holds for every page, whatever strangers wrote.
fn check(name: &str, page: &str) {
    for (element, attributes) in tags(page) {
        assert!(ELEMENTS.contains(&element.as_str()), "{name}: <{element}>");
        for attribute in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{name}: {attribute} of <{element}>");
        }
    }
    assert!(!page.contains("=\"javascript:") && !page.contains("=\"data:"), "{name}");
    assert!(!page.chars().any(|c| crate::text::hides(c) || (c.is_control() && c != '\n')), "{name}");
    let mut ids = BTreeSet::new();
    for part in page.split(" id=\"").skip(1) {
        let id = part.split('"').next().unwrap();
        assert!(ids.insert(id.to_owned()), "{name}: {id} occurs twice");
    }
    for part in page.split("aria-labelledby=\"").skip(1) {
        for id in part.split('"').next().unwrap().split(' ') {
            assert!(ids.contains(id), "{name}: {id} is nowhere");
        }
    }
    let packed = packed(page);
    assert!(packed < PAGE_BYTES_MAX, "{name}: {packed} bytes on the wire, {} before", page.len());
}

/// The elements that a reading is made of; any other element in the page was put there by a stranger.
const ELEMENTS: [&str; 44] = [
    "a", "article", "bdi", "button", "caption", "code", "dd", "desc", "details", "div", "dl", "dt", "figure", "form",
    "g", "h1", "h2", "h3", "header", "input", "label", "li", "ol", "option", "p", "path", "pre", "rect", "section",
    "select", "span", "strong", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "time", "title", "tr",
    "ul",
];

/// Every tag with its attributes' names. The page escapes both angle brackets everywhere else, so they bound tags exactly.
fn tags(page: &str) -> Vec<(String, Vec<String>)> {
    let mut tags = Vec::new();
    for part in page.split('<').skip(1).filter(|part| !part.starts_with('/')) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        let outside_of_quotes: String = tag.split('"').step_by(2).collect();
        let mut words = outside_of_quotes.split_whitespace().map(|word| word.trim_end_matches('=').to_owned());
        tags.push((words.next().unwrap_or_default(), words.collect()));
    }
    tags
}

/// 60 kB are allowed on the wire; the frame around the reading needs a little of it.
const PAGE_BYTES_MAX: usize = 55_000;

fn packed(page: &str) -> usize {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(page.as_bytes()).unwrap();
    packer.finish().unwrap().len()
}

fn policy(choice: &str) -> Policy {
    let mut policy = Policy::default();
    let (key, value) = choice.split_once('=').unwrap();
    policy.set(key, value);
    policy
}

#[tokio::test]
async fn every_reading_of_the_demo_chains_is_a_page() {
    let demo = DemoChains::open();
    for done in &demo.done {
        let row = demo.read(&done.name, Policy::default()).await;
        let page = demo.page(&row, Policy::default());
        check(&done.name, &page);
        assert!(page.contains("<h1>"), "{}", done.name);
        for leg in row.assets.sent.iter().chain(&row.assets.received).chain(&row.assets.gas) {
            assert!(page.contains(&super::super::parts::grouped(&leg.amount)), "{}: {} in full", done.name, leg.amount);
        }
    }
}

#[tokio::test]
async fn the_verdict_is_told_in_plain_words() {
    let demo = DemoChains::open();
    let cases = [
        ("v2_swap_tokens", "", "<h1>A taxable disposal</h1>", "Taxable: yes"),
        ("weth_wrap", "", "<h1>Not taxable: the cost basis carries over</h1>", "Taxable: no"),
        ("weth_wrap", "wrap=disposal", "<h1>A taxable disposal</h1>", "Chosen by your policy."),
        ("reverted", "", "<h1>Not taxable: the transaction failed</h1>", "Network fee"),
        ("spam_airdrop", "", "<h1>Not taxable: spam, to be ignored</h1>", "⚠ Spam"),
        ("userop_bundle_of_two", "", "<h1>", "Ledger"),
        ("forged_swap", "", "<h1>A person must look</h1>", "Taxable: undetermined"),
        ("usdc_imitation_receipt", "", "<h1>", "⚠ Look-alike"),
    ];
    for (name, choice, headline, words) in cases {
        let policy = if choice.is_empty() { Policy::default() } else { policy(choice) };
        let page = demo.page(&demo.read(name, policy).await, policy);
        assert!(page.contains(headline), "{name}: {headline}\n{page}");
        assert!(page.contains(words), "{name}: {words}\n{page}");
    }
}

/// A person who reads "no" where nothing was decided books it wrongly.
#[tokio::test]
async fn undetermined_is_never_no() {
    let demo = DemoChains::open();
    for done in &demo.done {
        let row = demo.read(&done.name, Policy::default()).await;
        if row.taxable.is_none() {
            let page = demo.page(&row, Policy::default());
            let (head, _) = page.split_once("</header>").unwrap();
            assert!(head.contains("Taxable: undetermined") && head.contains("Why a person must look"), "{}", done.name);
            assert!(!head.contains("Taxable: no") && !head.contains("Taxable: yes"), "{}", done.name);
        }
    }
}

/// The cells of the table of postings, row by row, without their markup.
fn posted(page: &str) -> Vec<Vec<String>> {
    let Some((_, section)) = page.split_once("<section class=\"postings\"") else { return Vec::new() };
    let (_, body) = section.split_once("<tbody>").unwrap();
    let (body, _) = body.split_once("</tbody>").unwrap();
    let plain = |cell: &str| -> String {
        let cell = cell.split_once("</td>").unwrap().0;
        cell.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
    };
    body.split("<tr").skip(1).map(|row| row.split("<td>").skip(1).map(plain).collect()).collect()
}

#[tokio::test]
async fn every_posting_is_a_row_with_its_amount_in_full() {
    let demo = DemoChains::open();
    for done in &demo.done {
        let row = demo.read(&done.name, Policy::default()).await;
        let rows = posted(&demo.page(&row, Policy::default()));
        let postings = row.postings.as_ref().unwrap();
        assert_eq!(rows.len(), postings.len(), "{}", done.name);
        for (cells, posting) in rows.iter().zip(postings) {
            let amount = super::super::parts::grouped(&posting.amount);
            assert!(cells[1].contains(&amount) || cells[1].contains(" #"), "{}: {cells:?}", done.name);
            assert_eq!(cells[4] == "Undetermined", posting.taxable.is_none(), "{}: {cells:?}", done.name);
        }
    }
}

#[tokio::test]
async fn postings_tell_a_taxable_fee_from_what_was_sent() {
    let demo = DemoChains::open();
    let page = demo.page(&demo.read("userop_transfer", Policy::default()).await, Policy::default());
    let rows = posted(&page);
    let of = |entry: &str| rows.iter().find(|cells| cells[2] == entry).unwrap_or_else(|| panic!("{entry}: {rows:?}"));
    assert_eq!(of("Moved out").join(" | "), "Went out | 90 dUSD | Moved out | Transfer | No");
    let fee = of("Expense");
    assert_eq!([&fee[0], &fee[3], &fee[4]], ["Went out", "Fee payment", "Yes"]);
    assert!(page.contains("<caption>") && page.contains("<th scope=\"col\">Entry</th>"));
    assert!(page.contains("title=\"spent: a disposal, and an expense of the same value\">Expense</span>"));
    assert!(page.contains("href=\"/docs/concepts#postings\""));
    let page = demo.page(&demo.read("usdc_imitation_receipt", Policy::default()).await, Policy::default());
    let imitation = posted(&page);
    assert!(imitation[0][1].contains("⚠ Look-alike"), "{imitation:?}");
}

#[tokio::test]
async fn switches_that_govern_come_first_and_keep_the_wallet() {
    let demo = DemoChains::open();
    let choice = policy("lp=non_taxable");
    let page = demo.page(&demo.read("v2_liquidity_add", choice).await, choice);
    let (_, form) = page.split_once("<form method=\"get\" action=\"/tx/demo/0x1\" autocomplete=\"off\">").unwrap();
    assert!(form.contains(r#"<input type="hidden" name="wallet" value="0xabc">"#));
    assert!(form.contains(r#"<option value="non_taxable" selected>"#));
    let first = form.find(r#"name="lp""#).unwrap();
    let rest = form.find("<details>").unwrap();
    assert!(first < rest && rest < form.find(r#"name="wrap""#).unwrap());
    let (_, wallet) = form.split_once("<form").unwrap();
    assert!(wallet.contains(r#"<input type="hidden" name="lp" value="non_taxable">"#));
    let grey = page.split_once("id=\"grey\"").unwrap().1;
    let (taken, not_taken) = grey.split_once("Not taken").unwrap();
    assert!(taken.contains("HMRC outcome of 2025-11-26") && not_taken.contains("Cottage Savings v. Commissioner"));
    assert!(page.contains("/docs/categories#liquidity_add"));
}

#[tokio::test]
async fn evidence_leads_to_the_log_and_the_instruction() {
    let demo = DemoChains::open();
    let page = demo.page(&demo.read("v2_liquidity_add", Policy::default()).await, Policy::default());
    let link = page.split("<a href=\"https://explorer.example/tx/").nth(2).unwrap();
    assert!(link.contains("#eventlog\" rel=\"noreferrer noopener\">log "), "{link}");
    let mut row = demo.read("spl_approval", Policy::default()).await;
    row.evidence = Some(vec![Evidence { log_index: None, instruction_index: Some(3), ..evidence(1) }]);
    let page = demo.page(&row, Policy::default());
    assert!(page.contains("\" rel=\"noreferrer noopener\">instruction 3 ↗</a>"), "{page}");
    assert!(page.contains("Slot "));
}

#[tokio::test]
async fn an_explorer_that_is_no_web_address_is_no_link() {
    let demo = DemoChains::open();
    let row = demo.read("v2_swap_tokens", Policy::default()).await;
    for (explorer, links) in
        [("javascript:alert(1)//", false), ("https://a.example", true), ("data:text/html,x", false)]
    {
        let mut chain = (**demo.registry.find("demo").unwrap()).clone();
        chain.explorer = Some(explorer.to_owned());
        let shown = Shown {
            row: &row,
            treatments: &KNOWLEDGE.treatments,
            chain: Some(&chain),
            policy: Policy::default(),
            here: "/",
            asked_wallet: None,
        };
        let page = reading(&shown).into_string();
        assert_eq!(page.contains("noreferrer"), links, "{explorer}");
        check(explorer, &page);
    }
}

/// Text that does not compress, in a fixed order.
fn noise(seed: usize, chars: usize) -> String {
    let mut state = u64::try_from(seed).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..chars).map(|_| char::from_u32(0x4e00 + u32::try_from(next() % 20_000).unwrap()).unwrap()).collect()
}

fn address(seed: usize) -> Account {
    let digits: String = noise(seed, 40).chars().map(|c| char::from_digit(u32::from(c) % 16, 16).unwrap()).collect();
    Account::parse(&format!("0x{digits}")).unwrap()
}

fn hostile_leg(seed: usize, symbol: &str) -> AssetLeg {
    AssetLeg {
        symbol: symbol.to_owned(),
        amount: "115792089237316195423570985008687907853269984665640564039457.584007913129639935".to_owned(),
        action: Action::Received,
        decimals: Some(18),
        token_address: Some(address(seed * 2)),
        token_name: Some(symbol.to_owned()),
        to: None,
        from: Some(address(seed * 2 + 1)),
        token_type: None,
        token_id: None,
        symbol_collision: false,
        display_symbol: None,
        inferred: false,
        inferred_basis: None,
    }
}

const HOSTILE: [&str; 8] = [
    "</title></svg><script>alert(1)</script>",
    "\" onload=\"alert(1)",
    "<img src=x onerror=alert(1)>",
    "USDC\u{202e}CDSU\u{2066}",
    "U\u{200b}S\u{200d}D\u{feff}C\u{e0041}",
    "a\0b\u{1b}[31m\u{7f}\u{85}",
    "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}",
    "﷽﷽﷽﷽ مرحبا 100",
];

async fn hostile(demo: &DemoChains) -> Vec<(&'static str, Classification)> {
    let base = demo.read("v2_swap_tokens", Policy::default()).await;
    let mut names = base.clone();
    names.assets.received = HOSTILE.iter().enumerate().map(|(at, name)| hostile_leg(at, name)).collect();
    names.assets.sent = vec![hostile_leg(90, "")];
    names.postings =
        Some((0..HOSTILE.len()).map(|at| posting(Side::Received, at, &names.assets.received[at])).collect());
    names.protocol = Some(HOSTILE[0].to_owned());
    names.description = Some(HOSTILE.join(" and "));
    let mut huge = base.clone();
    huge.assets.received = vec![hostile_leg(1, &"M".repeat(1 << 20)), hostile_leg(2, &"<".repeat(1 << 20))];
    huge.needs_review = true;
    huge.taxable = None;
    huge.review_note = Some("x`".repeat(1 << 19));
    let mut many = base.clone();
    many.assets.received = (0..300).map(|at| hostile_leg(at, &noise(at, 85))).collect();
    many.assets.sent =
        (0..300).map(|at| AssetLeg { symbol_collision: true, ..hostile_leg(at + 500, &noise(at + 500, 85)) }).collect();
    many.legs = Some((0..100).map(|at| step(at, &many)).collect());
    many.memo = Some(noise(7, 20_000));
    many.postings = Some(many.assets.sent.iter().enumerate().map(|(at, leg)| posting(Side::Sent, at, leg)).collect());
    many.evidence = Some((0..200).map(evidence).collect());
    let mut nfts = base.clone();
    nfts.assets.received = (0..5).map(nft).collect();
    vec![("hostile names", names), ("megabytes", huge), ("many", many), ("nfts", nfts), ("error", errored(&base))]
}

fn posting(side: Side, index: usize, leg: &AssetLeg) -> Posting {
    Posting {
        side,
        index,
        amount: leg.amount.clone(),
        entry: Entry::Dispose,
        category: Category::Swap,
        treatment: Treatment::Disposal,
        taxable: Some(true),
        step: None,
    }
}

fn step(at: usize, row: &Classification) -> Step {
    let mut assets = row.assets.clone();
    assets.sent.rotate_left(at);
    assets.received.rotate_left(at);
    Step {
        leg_index: at,
        role: Role::Principal,
        category: Category::Swap,
        taxable: Some(true),
        treatment: Treatment::Disposal,
        ledger_action: LedgerAction::DisposeAndAcquire,
        protocol: None,
        description: noise(at + 900, 800),
        assets,
    }
}

fn evidence(at: usize) -> Evidence {
    Evidence {
        source: Source::Protocol,
        rule: format!("some-pack-{at}/SomeEvent{}(address,uint256)", at * 7919),
        says: Category::Swap,
        log_index: u64::try_from(at).ok(),
        instruction_index: None,
        agrees: !at.is_multiple_of(3),
    }
}

fn nft(at: usize) -> AssetLeg {
    AssetLeg {
        amount: if at == 0 { "3".to_owned() } else { "1".to_owned() },
        decimals: None,
        token_type: Some(NftKind::Erc1155),
        token_id: Some("115792089237316195423570985008687907853269984665640564039457584007913129639935".to_owned()),
        inferred: at == 2,
        inferred_basis: (at == 2).then_some("balance_delta"),
        ..hostile_leg(at, "BADGE")
    }
}

fn errored(base: &Classification) -> Classification {
    Classification {
        error: Some("tx_not_yet_mined"),
        category: Category::Unclassified,
        treatment: Treatment::NeedsReview,
        taxable: None,
        confidence: 0,
        needs_review: true,
        review_note: Some("The transaction is known and waits to be mined.".to_owned()),
        description: None,
        protocol: None,
        chain: None,
        perspective: None,
        block: None,
        assets: engine::classification::Assets::default(),
        evidence: None,
        ..base.clone()
    }
}

#[tokio::test]
async fn hostile_readings_are_harmless_pages() {
    let demo = DemoChains::open();
    for (name, row) in hostile(&demo).await {
        check(name, &demo.page(&row, Policy::default()));
    }
}

#[tokio::test]
async fn what_is_left_out_is_counted() {
    let demo = DemoChains::open();
    let rows = hostile(&demo).await;
    let (_, many) = rows.iter().find(|(name, _)| *name == "many").unwrap();
    let page = demo.page(many, Policy::default());
    assert!(page.contains("and 294 more, listed below"));
    assert!(page.contains("more, in the answer of the API."));
    assert!(page.contains(" more steps, in the answer as JSON."));
    assert!(page.contains("and 260 more postings, in the answer of the API."));
}

#[tokio::test]
async fn an_errored_row_says_that_nothing_was_read() {
    let demo = DemoChains::open();
    let row = errored(&demo.read("v2_swap_tokens", Policy::default()).await);
    let page = demo.page(&row, Policy::default());
    assert!(page.contains("<h1>Not classified</h1>") && page.contains("/docs/errors#tx_not_yet_mined"));
    assert!(page.contains("waits to be mined") && !page.contains("Confidence") && !page.contains("What moved"));
}
