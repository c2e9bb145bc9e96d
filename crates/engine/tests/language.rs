//! The language of packs: what it can say of arrays and tuples, what it refuses, and what hostile data comes to.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "tests fail loudly")]

mod facts;

use std::sync::LazyLock;

use alloy_primitives::{Address, B256, Bytes, U256, address};
use engine::cases;
use engine::classification::Side;
use engine::evm::erc20::TRANSFER;
use engine::evm::json::Log;
use engine::rules::abi::{Signature, encode};
use engine::rules::{Extent, Known, Lists};
use engine::{Account, Category, Facts, Knowledge, Missing, Question, Rules, Treatments};
use proptest::prelude::*;

const WALLET: Address = address!("00000000000000000000000000000000000000AA");
const POOL: Address = address!("00000000000000000000000000000000000000bb");
const TOKENS: [Address; 3] = [
    address!("0000000000000000000000000000000000000D01"),
    address!("0000000000000000000000000000000000000D02"),
    address!("0000000000000000000000000000000000000D03"),
];

const HEAD: &str = "name = \"Mine\"\nabout = \"x\"\nlinks = [\"https://example.org/a\", \"https://example.org/b\"]\n";
const CONTRACTS: &str = "[contracts.pool]\nethereum = [\"0x00000000000000000000000000000000000000bb\"]\n";
const JOINED: &str =
    "Joined(address indexed user, (address token, uint256 amount)[] items, uint256[] shares, address[2] pair)";

/// What is said of a pack, which is refused whole.
fn refused(pack: &str) -> String {
    let faults = Rules::of(&[("mine", pack)]).expect_err("the pack is refused");
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A pack with one event; the row begins on line 7, with its signature on line 9.
fn event(signature: &str, rest: &str) -> String {
    let signature = format!("signature = \"{signature}\"\n");
    format!("{HEAD}{CONTRACTS}\n[[event]]\non = \"pool\"\n{signature}means = \"liquidity_add\"\n{rest}")
}

fn joined(rest: &str) -> String {
    event(JOINED, rest)
}

#[test]
fn what_the_language_cannot_say_is_refused_with_file_and_line() {
    let who = "who = [\"user\"]\n";
    let with = |rest: &str| joined(&format!("{who}{rest}"));
    let cases = [
        (with("out = [\"items[*].price\"]"), "has no such member"),
        (with("out = [\"item[*].token\"]"), "no parameter `item`"),
        (with("out = [\"items\"]"), "`items` is (address,uint256)[], not an address"),
        (with("out = [\"@exact=shares\"]"), "`shares` is uint256[]; a rule reads one word"),
        (with("out = [\"@exact=items[*]\"]"), "is (address,uint256); a rule reads one word"),
        (with("out = [\"pair[2]\"]"), "address[2] has no member 2"),
        (with("out = [\"pair[x]\"]"), "`[x]` is no place in an array"),
        (with("out = [\"user[0]\"]"), "`user` is address"),
        (with("out = [\"items[*].token[*]\"]"), "address is no array"),
        (with("out = [\"@every=shares[*]\"]"), "no class of legs is called `@every`"),
        (with("equals = { \"items.size\" = \"1\" }"), "has no member `size`"),
        (with("equals = { \"pair.length\" = \"2\" }"), "always has 2 members"),
        (with("equals = { \"items.length\" = [\"one\"] }"), "`one` is no number"),
        (with("positive = \"shares[*]\""), "names several values where one is needed"),
        (with("same = { \"pair[0]\" = \"pair[*]\" }"), "names several values where one is needed"),
        (with("holds = { \"pair[*]\" = \"pool\" }"), "names several values where one is needed"),
        (with("reader = \"crystal_ball\""), "no reader is called `crystal_ball`"),
        (with("reader = \"collected\""), "the reader `collected` needs the event that `beside` names"),
        (joined("who = [\"@everyone\"]\n"), "nobody is called `@everyone`"),
        (joined("who = [\"shares[*].owner\"]\n"), "uint256 has no member `owner`"),
        (event("E((address,uint256) item)", "who = [\"item.token\"]\n"), "names none of its members"),
        (event("E(address[] indexed users)", "who = [\"users[*]\"]\n"), "only its hash is logged"),
        (event("E(Item[] items)", "who = [\"@sender\"]\n"), "`Item` is no type"),
        (event("E(mapping(address => uint256) a)", "who = [\"@sender\"]\n"), "`mapping` is no type"),
        (event("E(address a, address a)", "who = [\"a\"]\n"), "two parameters are called `a`"),
    ];
    for (pack, expected) in cases {
        let said = refused(&pack);
        assert!(said.starts_with("mine.toml:9: ") && said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn calls_are_refused_alike() {
    let call = |signature: &str, rest: &str| {
        format!("{HEAD}\n[[call]]\non = \"anywhere\"\nsignature = \"{signature}\"\n{rest}\n")
    };
    let cases = [
        (call("f(bytes[] data)", "opens = \"data\""), "`data` is bytes[], not bytes"),
        (call("f((address,bytes)[] calls)", "opens = \"calls[*].data\""), "names none of its members"),
        (call("f(address[] to, bytes data)", "opens = \"data\"\ntarget = \"to[*]\""), "names several accounts"),
        (call("f(bytes[] data)", "opens = \"data[*]\"\ntarget = \"to\""), "no parameter `to`"),
        (call("f(bytes data)", "opens = \"@calls\""), "no packing of calls is called `@calls`"),
        (call("f((uint256 a) p)", "means = \"swap\"\nzero = \"p.b\""), "has no such member"),
        (call("f((uint256 a)[] p)", "means = \"swap\"\nzero = \"p[*].a\""), "names several values"),
    ];
    for (pack, expected) in cases {
        let said = refused(&pack);
        assert!(said.starts_with("mine.toml:7: ") && said.contains(expected), "{expected}: {said}");
    }
}

/// One fault refuses the pack, and one pack all of them: nothing is half loaded.
#[test]
fn constructs_that_nobody_knows_are_refused() {
    let sound = joined("who = [\"user\"]\nout = [\"items[*].token=items[*].amount\"]\n");
    Rules::of(&[("mine", &sound)]).expect("a sound pack loads");
    let nft = "\n[[nft]]\non = \"pool\"\nkind = \"erc721\"\nmoved = \"M(address from, address to)\"\nnamed = [\"N(uint256 id)\"]\n";
    for (more, line, expected) in [
        ("explains = [\"items\"]\n", 13, "unknown field `explains`"),
        (
            "\n[[event]]\non = \"pool\"\nsignature = []\nmeans = \"swap\"\nwho = [\"@sender\"]\n",
            16,
            "the list is empty",
        ),
        ("\n[[event]]\non = \"pool\"\nsignature = 7\nmeans = \"swap\"\nwho = [\"@sender\"]\n", 16, "expected a text"),
        ("\n[[struct]]\nname = \"Item\"\n", 14, "unknown field `struct`"),
        (
            "\n[[nft]]\non = \"pool\"\nkind = \"pebble\"\nmoved = \"M(address from, address to)\"\nnamed = []\n",
            16,
            "unknown variant `pebble`",
        ),
        (
            "\n[[nft]]\non = \"pool\"\nkind = \"erc721\"\nmoved = \"M(address from, address to)\"\nnamed = []\n",
            17,
            "lists no event",
        ),
        (
            "\n[[nft]]\non = \"pool\"\nkind = \"erc721\"\nmoved = \"M(address by)\"\nnamed = [\"N(uint256 id)\"]\n",
            17,
            "no parameter `from`",
        ),
        (
            "\n[[nft]]\non = \"anywhere\"\nkind = \"erc721\"\nmoved = \"M(address from, address to)\"\nnamed = [\"N(uint256 id)\"]\n",
            17,
            "`on` is the role",
        ),
        (&created("pool", 0), 16, "`count` is 0, not 1 to 5000"),
        (&created("pool", 5_001), 16, "`count` is 5001, not 1 to 5000"),
        (&created("gauge", 1), 15, "no rule uses role `gauge`; where"),
        (&created("pool", 1).replace("c0a4", "C0a4"), 17, "created.ethereum: "),
        (&created("pool", 1).replace("ethereum", "every"), 17, "do not follow from a count"),
        (&created("pool", 1).replace("ethereum", "zksync"), 17, "do not follow from a count"),
        (&proof("pool", "pool", "isPool(address,address)"), 17, "`isPool(address,address)`: the contract in question"),
        (&proof("pool", "pool", "isPool(bytes32)"), 17, "the contract in question is the only argument"),
        (&proof("pool", "registry", "isPool(address)"), 16, "role `registry` proves others, and lists no contracts"),
        (&proof("gauge", "pool", "isPool(address)"), 15, "no rule uses role `gauge`; where"),
        ("\n[[proof]]\nof = \"pool\"\n", 15, "either `ask` and `call`, or `runs`"),
        ("\n[[proof]]\nof = \"pool\"\nruns = \"pool\"\ngoverned = true\n", 15, "which nobody governs"),
        ("\n[[proof]]\nof = \"pool\"\nruns = \"code\"\n", 16, "role `code` proves others, and lists no contracts"),
        ("\n[[proof]]\nof = \"pool\"\nruns = \"pool\"\nproxies = [\"0x12\"]\n", 15, "`0x12` is no hash of code"),
        (&format!("{}logs = [\"Swap(\"]\n", proof("pool", "pool", "isPool(address)")), 17, "`isPool(address)`: "),
        (&nft.repeat(2), 21, "another row says how 0x00000000000000000000000000000000000000bb logs its tokens"),
    ] {
        let said = refused(&format!("{sound}{more}"));
        assert!(said.starts_with(&format!("mine.toml:{line}: ")) && said.contains(expected), "{expected}: {said}");
    }
}

/// The factory of the first Uniswap, and exchanges that it made.
fn created(role: &str, count: u64) -> String {
    let at = "at = { ethereum = [\"0xc0a47dFe034B400B47bDaD5FecDa2621de6c4d95\"] }";
    format!("\n[[created]]\nrole = \"{role}\"\ncount = {count}\n{at}\n")
}

/// A contract that is asked about others.
fn proof(of: &str, ask: &str, call: &str) -> String {
    format!("\n[[proof]]\nof = \"{of}\"\nask = \"{ask}\"\ncall = \"{call}\"\n")
}

#[test]
fn what_a_factory_made_has_the_role_that_its_pack_gives_it_unless_it_is_listed() {
    let (first, last) =
        (address!("2c4bd064b998838076fa341a83d007fc2fa50957"), address!("7cfab87aac0899c093235b342ac0e5b1acf159eb"));
    let pack = format!("{HEAD}vouches = [\"pool\", \"exchange\"]\n{CONTRACTS}{}", created("exchange", 1_700));
    let rules = Rules::of(&[("mine", &pack)]).expect("it loads");
    let known = Known::from(rules.on("ethereum"));
    assert!(known.holds_role(first, 0, "exchange") && known.holds_role(last, 0, "exchange"));
    assert!(
        !Known::from(rules.on("base")).holds_role(first, 0, "exchange"),
        "the same address elsewhere is another contract"
    );
    assert!(!known.holds_role(POOL, 0, "exchange"));
    let listed = pack.replace("0x00000000000000000000000000000000000000bb", &last.to_string());
    let rules = Rules::of(&[("mine", &listed)]).expect("it loads");
    let known = Known::from(rules.on("ethereum"));
    assert!(known.holds_role(last, 0, "pool") && !known.holds_role(last, 0, "exchange"));
}

/// Settlers of 0x that were in use, by the deployer's salts (CREATE3).
#[test]
fn what_a_deployer_puts_where_its_salts_say_is_known() {
    let rules = Rules::embedded().expect("embedded packs load");
    let pack = rules.packs.iter().position(|pack| pack.id == "0x").expect("a pack of 0x");
    for (chain, settler) in [
        ("ethereum", address!("Df31A70a21A1931e02033dBBa7DEaCe6c45cfd0f")),
        ("base", address!("5C9bdC801a600c006c388FC032dCb27355154cC9")),
        ("arbitrum", address!("246475E1F63d8e26D6f4fB6029033da8831eD396")),
        ("monad", address!("C2D3689cF6cE2859a3ffBc8fE09ab4C8623766b8")),
    ] {
        assert!(Known::from(rules.on(chain)).holds_role(settler, pack, "settler"), "{settler} on {chain}");
    }
    let elsewhere = address!("246475E1F63d8e26D6f4fB6029033da8831eD396");
    assert!(!Known::from(rules.on("ethereum")).holds_role(elsewhere, pack, "settler"));
}

#[test]
fn a_list_repeats_nothing_that_only_governance_has_made() {
    let made = address!("2c4bd064b998838076fa341a83d007fc2fa50957");
    let listed = CONTRACTS.replace("0x00000000000000000000000000000000000000bb", &made.to_string());
    let pack = |more: &str| format!("{HEAD}vouches = [\"pool\"]\n{listed}{}{more}", created("pool", 10));
    Rules::of(&[("mine", &pack(""))]).expect("what anybody may have made is believed more once it is listed");
    let said = refused(&pack("governed = true\n"));
    assert!(said.contains(&format!("{made} on ethereum follows from its factory")), "{said}");
}

#[test]
fn without_lists_only_contracts_that_prove_others_are_known() {
    let pack =
        format!("{HEAD}vouches = [\"pool\", \"gauge\"]\n{CONTRACTS}{}", proof("gauge", "pool", "isGauge(address)"));
    let pool_is_known = |pack: &str| {
        let extent = Extent { lists: Lists::LeftOut, ..Extent::default() };
        let rules = Rules::within(&[("mine", pack)], extent).expect("it loads");
        Known::from(rules.on("ethereum")).holds_role(POOL, 0, "pool")
    };
    assert!(pool_is_known(&pack), "it is asked about gauges");
    assert!(!pool_is_known(&format!("{HEAD}vouches = [\"pool\"]\n{CONTRACTS}")));
}

#[test]
fn a_custodian_needs_no_rules_and_one_source() {
    let links = |links: &str| format!("name = \"Mine\"\ncustodian = true\nlinks = [{links}]\n{CONTRACTS}");
    let pack = links("\"https://example.org/a\"");
    let rules = Rules::of(&[("mine", &pack)]).expect("it loads");
    let means: Vec<&str> =
        rules.packs.iter().flat_map(|pack| &pack.file.transfer).map(|row| row.means.as_str()).collect();
    assert_eq!(means, ["cex_withdrawal", "cex_deposit"]);
    assert!(refused(&links("")).contains("wallets need `links` to a source that names them"));
    let ruled = format!("{pack}\n[[transfer]]\nwith = \"pool\"\nway = \"in\"\nmeans = \"reward\"\n");
    assert!(refused(&ruled).contains("a custodian has nothing but its name, links and wallets"));
    assert!(refused(&pack.replace("custodian = true\n", "")).contains("`about` says what it is"));
}

#[test]
fn two_rows_cannot_say_what_brings_the_same_deposits() {
    let row = "\n[[deposit]]\nkinds = [0x7e]\nprotocol = \"x\"\n";
    let said = refused(&format!("{HEAD}{row}{row}"));
    assert_eq!(said, "mine.toml:11: mine says what brings deposits of type 0x7e too");
}

/// Of a list of signatures each is told by its own line.
#[test]
fn a_bad_signature_in_a_list_is_told_by_its_line() {
    let pack = format!(
        "{HEAD}\n[[call]]\non = \"anywhere\"\nsignature = [\n  \"f(uint256 a)\",\n  \"g(uint a\",\n]\nmeans = \"swap\"\n"
    );
    let said = refused(&pack);
    assert!(said.starts_with("mine.toml:9: `g(uint a`: signature"), "{said}");
}

fn transfer(token: Address, from: Address, to: Address, amount: u64) -> Log {
    let data = Bytes::from(U256::from(amount).to_be_bytes_vec());
    Log { address: token, topics: vec![TRANSFER, from.into_word(), to.into_word()], data, log_index: None }
}

fn logged(signature: &str, indexed: &[B256], data: Vec<u8>) -> Log {
    let topic0 = Signature::event(signature).expect("it parses").topic0();
    Log { address: POOL, topics: [&[topic0], indexed].concat(), data: Bytes::from(data), log_index: None }
}

/// The category, of a wallet that gave these amounts of the three tokens to the pool and got a receipt for them.
fn read(pack: &str, given: &[u64], log: Log) -> Category {
    read_by(&known(pack), given, log)
}

fn known(pack: &str) -> Knowledge {
    let rules = Rules::of(&[("mine", pack)]).expect("the pack loads");
    Knowledge::new(rules, Treatments::us().expect("the table loads"), [])
}

fn read_by(knowledge: &Knowledge, given: &[u64], log: Log) -> Category {
    let mut logs: Vec<Log> =
        TOKENS.iter().zip(given).map(|(token, amount)| transfer(*token, WALLET, POOL, *amount)).collect();
    logs.push(transfer(POOL, Address::ZERO, WALLET, 77));
    logs.push(log);
    let facts = facts::of(WALLET, POOL, logs);
    let question = Question { wallet: Some(Account::from(WALLET)), ..Question::default() };
    let read = engine::read(&Facts::from(facts), &question, knowledge, Missing::Accept);
    let answer = read.expect("the wallet is a party").done().expect("an answer");
    if answer.needs_review { Category::Unclassified } else { answer.category }
}

fn items(given: &[u64]) -> Vec<u8> {
    let signature = Signature::event(JOINED).expect("it parses");
    let value = |path: &str| {
        let at = path.split(['[', ']']).nth(1).and_then(|at| at.parse::<usize>().ok()).unwrap_or_default();
        match path {
            _ if path.ends_with(".token") => U256::from_be_slice(TOKENS[at % 3].as_slice()),
            _ if path.ends_with(".amount") => U256::from(given[at]),
            _ => U256::ZERO,
        }
    };
    let data = signature.params.iter().filter(|param| !param.indexed);
    encode(data, &value, &|path| if path == "items" { given.len() } else { 0 })
}

#[test]
fn each_member_of_a_list_explains_its_asset() {
    let pack = joined("who = [\"user\"]\nout = [\"items[*].token=items[*].amount\"]\nin = [\"@minted\"]\n");
    let log = |amounts: &[u64]| logged(JOINED, &[WALLET.into_word()], items(amounts));
    assert_eq!(read(&pack, &[5, 6, 7], log(&[5, 6, 7])), Category::LiquidityAdd);
    assert_eq!(read(&pack, &[5, 6], log(&[5, 6])), Category::LiquidityAdd, "whatever the length");
    assert_ne!(read(&pack, &[5, 6], log(&[5, 6, 7])), Category::LiquidityAdd, "a member that did not move");
    assert_ne!(
        read(&pack, &[5, 6, 7], log(&[5, 6])),
        Category::LiquidityAdd,
        "a leg that no member names is left over"
    );
    assert_ne!(read(&pack, &[5, 6], log(&[])), Category::LiquidityAdd, "an empty list names nothing");
}

/// What each part of the legs is booked as, of a wallet that gave a token and this much coin to the pool.
fn booked(pack: &str, coin: u64, amount: u64) -> Vec<String> {
    let signature = "Sent(address indexed user, uint256 amount)";
    let log = logged(signature, &[WALLET.into_word()], U256::from(amount).to_be_bytes_vec());
    let given = if amount == 5 { vec![transfer(TOKENS[0], WALLET, POOL, 5)] } else { Vec::new() };
    let mut facts = facts::of(WALLET, POOL, [given, vec![log]].concat());
    facts.transaction.value = U256::from(coin);
    let question = Question { wallet: Some(Account::from(WALLET)), ..Question::default() };
    let read = engine::read(&Facts::from(facts), &question, &known(pack), Missing::Accept);
    let answer = read.expect("the wallet is a party").done().expect("an answer");
    let sent = answer.postings.iter().flatten().filter(|posting| posting.side == Side::Sent);
    let mut said: Vec<String> = sent
        .map(|posting| format!("{} {}", answer.assets.sent[posting.index].symbol, posting.category.name()))
        .collect();
    said.sort();
    said
}

#[test]
fn what_is_paid_in_coin_for_a_service_is_a_step_of_its_own() {
    let pack = |out: &str| {
        let signature = "Sent(address indexed user, uint256 amount)";
        event(signature, &format!("who = [\"user\"]\nout = [{out}]\n")).replace("liquidity_add", "bridge_out")
    };
    let tokens = pack("\"@exact=amount\", \"@fee?\"");
    assert_eq!(booked(&tokens, 9, 5), ["ETH fee_payment", "UNKNOWN bridge_out"]);
    assert_eq!(booked(&tokens, 0, 5), ["UNKNOWN bridge_out"], "without a fee");
    let coin = pack("\"@native=amount\", \"@fee?\"");
    assert_eq!(booked(&coin, 9, 7), ["ETH bridge_out", "ETH fee_payment"], "what the log does not state");
    assert_eq!(booked(&coin, 7, 7), ["ETH bridge_out"]);
    assert_eq!(booked(&pack("\"@flow\", \"@fee?\""), 9, 5), ["ETH fee_payment", "UNKNOWN bridge_out"]);
    assert_eq!(
        booked(&pack("\"@flow\", \"@fee?\""), 9, 7),
        ["ETH bridge_out"],
        "where nothing else moved, the coin itself crosses"
    );
}

#[test]
fn arrays_that_are_named_together_are_of_one_length() {
    let signature = "Put(address[] tokens, uint256[] amounts)";
    let rest = "who = [\"@sender\"]\nout = [\"tokens[*]=amounts[*]\"]\nin = [\"@minted\"]\n";
    let pack = event(signature, rest);
    let params = Signature::event(signature).expect("it parses").params;
    let log = |lengths: [usize; 2]| {
        let value = |path: &str| match path {
            "tokens[0]" => U256::from_be_slice(TOKENS[0].as_slice()),
            "tokens[1]" => U256::from_be_slice(TOKENS[1].as_slice()),
            "amounts[0]" => U256::from(5),
            _ => U256::from(6),
        };
        logged(signature, &[], encode(&params, &value, &|path| lengths[usize::from(path == "amounts")]))
    };
    assert_eq!(read(&pack, &[5, 6], log([2, 2])), Category::LiquidityAdd);
    assert_ne!(read(&pack, &[5, 6], log([2, 3])), Category::LiquidityAdd);
    assert_ne!(read(&pack, &[5], log([2, 1])), Category::LiquidityAdd);
}

#[test]
fn a_condition_on_a_list_holds_for_each_member() {
    let rest = "who = [\"user\"]\nequals = { \"items[*].amount\" = [\"5\", \"6\"], \"items.length\" = \"2\" }\nout = [\"items[*].token\"]\nin = [\"@minted\"]\n";
    let pack = joined(rest);
    let log = |amounts: &[u64]| logged(JOINED, &[WALLET.into_word()], items(amounts));
    assert_eq!(read(&pack, &[5, 6], log(&[5, 6])), Category::LiquidityAdd);
    assert_ne!(read(&pack, &[5, 7], log(&[5, 7])), Category::LiquidityAdd);
    assert_ne!(read(&pack, &[5], log(&[5])), Category::LiquidityAdd);
}

/// Tuples take their real size in the head, so a parameter behind one is read where it is.
#[test]
fn a_parameter_behind_a_tuple_is_read() {
    let signature = "Sent((uint256 a, (address b, bool c)[2] d) first, address user, uint256 amount)";
    let pack = event(signature, "who = [\"user\"]\nout = [\"first.d[1].b=amount\"]\nin = [\"@minted\"]\n");
    let params = Signature::event(signature).expect("it parses").params;
    let value = |path: &str| match path {
        "user" => U256::from_be_slice(WALLET.as_slice()),
        "first.d[1].b" => U256::from_be_slice(TOKENS[0].as_slice()),
        "amount" => U256::from(5),
        _ => U256::ZERO,
    };
    let data = encode(&params, &value, &|_| 0);
    assert_eq!(data.len(), 7 * 32);
    assert_eq!(read(&pack, &[5], logged(signature, &[], data.clone())), Category::LiquidityAdd);
    let short = data.get(..6 * 32).expect("it is longer").to_vec();
    assert_ne!(read(&pack, &[5], logged(signature, &[], short)), Category::LiquidityAdd, "the layout is strict");
}

#[test]
fn a_case_names_parameters_by_path() {
    let pack = joined("who = [\"user\"]\nout = [\"items[*].token=items[*].amount\"]\nin = [\"@minted\"]\n");
    let case = |log: &str, verdict: &str| {
        let moves = "[\"wallet > pool: 5 A\", \"wallet > pool: 6 B\", \"zero > wallet: 7 pool\"]";
        format!("[[case]]\nabout = \"x\"\nchain = \"ethereum\"\nmoves = {moves}\nlogs = [\"{log}\"]\n{verdict}\n")
    };
    let log = "pool: Joined(user=wallet, items[0].token=A, items[0].amount=5, items[1].token=B, items[1].amount=6)";
    let read = case(log, "reads = \"liquidity_add\"");
    let silent = case(&log.replace("items[1].amount=6", "items[1].amount=6, items[2].amount=9"), "silent = true");
    let knowledge = |cases: &str| known(&format!("{pack}{cases}"));
    assert_eq!(cases::check(&knowledge(&format!("{read}{silent}"))), []);
    let wrong = case(&log.replace("items[0].token", "items[0].coin"), "reads = \"liquidity_add\"");
    let said = cases::check(&knowledge(&format!("{wrong}{silent}")));
    assert!(said.iter().any(|fault| fault.what.contains("no pack knows an event")), "{said:?}");
}

/// Every construct over one event.
static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
    let pack = joined(
        "who = [\"user\", \"pair[*]\"]\n\
         equals = { \"items.length\" = [\"2\", \"3\"] }\n\
         out = [\"items[*].token=items[*].amount\"]\n\
         in = [\"@exact=shares[*]?\", \"@minted\"]\n",
    );
    known(&pack)
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Offsets and lengths are untrusted: whatever they are, the rule reads what is there or is silent.
    #[test]
    fn no_lie_about_offsets_or_lengths_is_believed(
        lies in prop::collection::vec((0_usize..12, prop_oneof![Just(U256::MAX), (0_u64..512).prop_map(U256::from), any::<u64>().prop_map(U256::from)]), 1..4),
        cut in 0_usize..64,
    ) {
        let honest = items(&[5, 6]);
        let mut data = honest.clone();
        for (at, lie) in lies {
            if let Some(word) = data.get_mut(at * 32..at * 32 + 32) {
                word.copy_from_slice(&lie.to_be_bytes::<32>());
            }
        }
        data.truncate(data.len() - cut.min(data.len()));
        let is_honest = data == honest;
        let category = read_by(&KNOWLEDGE, &[5, 6, 9], logged(JOINED, &[WALLET.into_word()], data));
        prop_assert!(is_honest || category != Category::LiquidityAdd);
    }
}

/// What it may be instead is a grey area of the table of treatments: the answer stays as it is, and shows the other side.
#[test]
fn what_a_claim_may_be_instead_is_shown_as_a_grey_area() {
    let answer = |perhaps: &str| {
        let row = format!("who = [\"user\"]\nin = [\"token=amount\"]\n{perhaps}");
        let pack = event("Paid(address indexed user, address token, uint256 amount)", &row)
            .replace("liquidity_add", "income_receipt");
        let rules = Rules::of(&[("mine", &pack)]).expect("the pack loads");
        let treatments = Treatments::us().expect("treatments/us.toml loads");
        let knowledge = Knowledge::new(rules, treatments, []);
        let word = |address: Address| address.into_word().0;
        let amount = U256::from(7).to_be_bytes::<32>();
        let moved = Log {
            address: TOKENS[0],
            topics: vec![TRANSFER, POOL.into_word(), WALLET.into_word()],
            data: Bytes::from(amount.to_vec()),
            log_index: None,
        };
        let topic = alloy_primitives::keccak256("Paid(address,address,uint256)");
        let data = [word(TOKENS[0]), amount].concat();
        let paid =
            Log { address: POOL, topics: vec![topic, WALLET.into_word()], data: Bytes::from(data), log_index: None };
        let facts = Facts::from(facts::of(WALLET, POOL, vec![moved, paid]));
        let read = engine::read(&facts, &Question::default(), &knowledge, Missing::Accept).expect("it is the wallet's");
        read.done().expect("it is read")
    };
    let (plain, gift) = (answer(""), answer("perhaps = \"gift\"\n"));
    assert_eq!((plain.category, plain.taxable, plain.grey_area.is_none()), (Category::IncomeReceipt, Some(true), true));
    assert_eq!((gift.category, gift.taxable, gift.confidence), (plain.category, plain.taxable, plain.confidence));
    assert_eq!(serde_json::to_value(&gift.postings).ok(), serde_json::to_value(&plain.postings).ok());
    let other = gift.grey_area.and_then(|grey| grey.alternate).expect("the other side is shown");
    assert_eq!(other.taxable, Some(false));
    let sound = joined("who = [\"user\"]\nout = [\"items[*].token=items[*].amount\"]\n");
    assert!(refused(&format!("{sound}perhaps = \"luck\"\n")).contains("unknown variant `luck`"));
}
