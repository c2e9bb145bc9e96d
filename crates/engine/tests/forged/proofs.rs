//! Contracts that another vouches for, that copy a listed one, or that a factory makes for anybody.

use super::*;

/// An event whose indexed parameters, so many, all name the wallet.
fn logged(address: Address, signature: &str, indexed: usize, amounts: &[u64]) -> Log {
    let wallets = std::iter::repeat_n(WALLET.into_word(), indexed);
    let topics = std::iter::once(keccak256(signature)).chain(wallets).collect();
    let data: Vec<u8> = amounts.iter().flat_map(|amount| U256::from(*amount).to_be_bytes::<32>()).collect();
    Log { address, topics, data: data.into(), log_index: None }
}

/// The wallet gives its share of a vault up, and somebody pays for it.
fn withdrawal(vault: Address, payer: Address) -> Vec<Log> {
    let withdrawn = logged(vault, "Withdraw(address,address,address,uint256,uint256)", 3, &[AMOUNT, AMOUNT / 2]);
    vec![moved(vault, WALLET, Address::ZERO, AMOUNT / 2), moved(USDC, payer, WALLET, AMOUNT), withdrawn]
}

/// A vault pays the wallet and says that it lends.
fn loan(vault: Address) -> Vec<Log> {
    vec![moved(USDC, vault, WALLET, AMOUNT), logged(vault, "Borrow(address,uint256)", 1, &[AMOUNT])]
}

/// A factory vouches for a contract that anybody may have made, with a token of his own: what that token moves is not the contract's.
#[test]
fn what_is_vouched_for_is_believed_only_of_what_moves_between_it_and_the_wallet() {
    let proof = |call: &str| {
        let mut rules = KNOWLEDGE.rules.on("ethereum").proofs().iter().filter(|rule| rule.id.ends_with(call));
        let asked = rules.find_map(|rule| match &rule.proof {
            Proof::Answer { selector, .. } => Some((rule.by, selector.0, STRANGER)),
            Proof::Code { .. } => None,
        });
        asked.expect("a pack asks that")
    };
    let read = |asked: Option<&str>, logs: Vec<Log>| {
        let mut facts = facts::of(WALLET, STRANGER, logs);
        facts.vouched = asked.map(|call| (proof(call), Some(U256::ONE))).into_iter().collect();
        let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    assert!(read(None, withdrawal(STRANGER, STRANGER)).1, "nobody vouches for it");
    for call in ["isMetaMorpho", "isVaultV2"] {
        assert_eq!(read(Some(call), withdrawal(STRANGER, STRANGER)), (Category::VaultWithdraw, false), "{call}");
        assert!(read(Some(call), withdrawal(STRANGER, THIRD)).1, "{call}: somebody else pays");
    }
    assert!(read(Some("isProxy"), loan(STRANGER)).1, "anybody may lend, and never ask for it back");
    // A market that only whoever governs the protocol can enter: `Borrow(borrower, amount, …)`, nothing indexed.
    let wallet = u64::try_from(U256::from_be_bytes(WALLET.into_word().0)).expect("a small address");
    let borrowed = logged(STRANGER, "Borrow(address,uint256,uint256,uint256)", 0, &[wallet, AMOUNT, AMOUNT, AMOUNT]);
    let lent = || vec![moved(USDC, STRANGER, WALLET, AMOUNT), borrowed.clone()];
    assert!(read(None, lent()).1, "nobody vouches for it");
    assert_eq!(read(Some("compound-v2 comptroller markets"), lent()), (Category::Borrow, false));
    let withdrawn = logged(STRANGER, "Withdraw(address,uint256)", 1, &[AMOUNT]);
    let returned = vec![moved(USDC, STRANGER, WALLET, AMOUNT), withdrawn];
    let right = (Category::StakingWithdraw, true);
    assert_eq!(read(Some("isGaugeFromFactory"), returned), right, "somebody else may have put it in");
}

const COPIED: &str = r#"
name  = "Copied"
about = "Vaults that anybody can copy."
links = ["https://example.org/a", "https://example.org/b"]

[contracts.vault_code]
ethereum = ["0x2157A7894439191e520825fe9399aB8655E0f708"]

[contracts.beacon]
ethereum = ["BEACON"]

[[proof]]
of   = "vault"
runs = "vault_code"

[[proof]]
of      = "vault"
runs    = "beacon"
proxies = ["0xf1885eda54b7a053318cd41e2093220dab15d65381b1157a3633a83bfd5c9239"]

[[event]]
on        = "vault"
signature = "Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)"
means     = "vault_withdraw"
who       = ["owner"]
out       = ["@token=shares"]
in        = ["@exact=assets"]

[[event]]
on        = "vault"
signature = "Borrow(address indexed account, uint256 assets)"
means     = "borrow"
who       = ["account"]
in        = ["@exact=assets"]
"#;

/// Anybody can deploy a listed contract's code, with shares in its storage for whom he likes: it has the role, no name, and is believed as any stranger.
#[test]
fn a_copy_of_a_listed_contract_is_believed_only_of_what_was_given_before() {
    let pack = COPIED.replace("BEACON", &BEACON.to_string());
    let rules = Rules::of(&[("copied", &pack)]).expect("the pack loads");
    let knowledge = Knowledge::new(rules, Treatments::us().expect("the table loads"), []);
    let implementation = address!("2157A7894439191e520825fe9399aB8655E0f708");
    let clone = |target: Address| {
        let (before, behind) = (hex!("363d3d373d3d3d363d73"), hex!("5af43d82803e903d91602b57fd5bf3"));
        [before.as_slice(), target.as_slice(), &behind].concat()
    };
    let read = |code: Option<Code>, given: bool, logs: Vec<Log>| {
        let mut facts = facts::of(WALLET, STRANGER, logs);
        facts.codes.insert(STRANGER, code);
        let given = given.then_some(U256::from(AMOUNT));
        facts.given = BTreeMap::from([((USDC, WALLET, STRANGER), given)]);
        let question = Question { explain: true, ..question() };
        let answer = classified(facts, &question, &knowledge).expect("it is the wallet's");
        let is_proved = answer.evidence.iter().flatten().any(|row| row.rule.starts_with("proof: code of copied"));
        assert_eq!(answer.protocol, None);
        (answer.category, answer.needs_review, is_proved)
    };
    let is = |code: &[u8], beacon: B256| Some(Code::new(code, beacon));
    let copies = [is(&clone(implementation), B256::ZERO), is(&[1, 2, 3], BEACON.into_word())];
    for copy in copies {
        let right = (Category::VaultWithdraw, false, true);
        assert_eq!(read(copy.clone(), true, withdrawal(STRANGER, STRANGER)), right);
        let leaning = (Category::VaultWithdraw, true, true);
        assert_eq!(
            read(copy.clone(), false, withdrawal(STRANGER, STRANGER)),
            leaning,
            "shares that it had from the start"
        );
        assert!(read(copy.clone(), true, withdrawal(STRANGER, THIRD)).1, "somebody else pays");
        assert!(read(copy, true, loan(STRANGER)).1, "anybody may lend, and never ask for it back");
    }
    for (code, why) in [
        (None, "no node could say"),
        (is(&[], B256::ZERO), "it destroyed itself, or was not there yet"),
        (is(&clone(THIRD), B256::ZERO), "it runs somebody else's code"),
        (is(&clone(STRANGER), B256::ZERO), "it runs itself"),
        (is(&[7, 7], BEACON.into_word()), "its own code may do anything with the beacon's slot"),
        (is(&[1, 2, 3], THIRD.into_word()), "it follows somebody else's beacon"),
    ] {
        let (_, needs_review, is_proved) = read(code, true, withdrawal(STRANGER, STRANGER));
        assert!(needs_review && !is_proved, "{why}");
    }
}

/// The same of what a listed factory makes for anybody: a vault of Euler, known by its place among them.
#[test]
fn what_a_factory_makes_for_anybody_lends_nothing_and_pays_by_itself() {
    let euler = KNOWLEDGE.rules.packs.iter().find(|pack| pack.id == "euler").expect("a pack of Euler");
    let factories = euler.file.created.iter().filter_map(|row| row.at.get("ethereum")).flatten();
    let factory = factories.filter_map(|text| Address::parse_checksummed(text.get_ref(), None).ok()).next();
    let vault = factory.expect("it has a factory on Ethereum").create(1);
    let read = |facts: EvmFacts| {
        let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's");
        (answer.category, answer.needs_review)
    };
    let of = |logs: Vec<Log>| facts::of(WALLET, vault, logs);
    assert_eq!(read(of(withdrawal(vault, vault))), (Category::VaultWithdraw, false));
    assert!(read(of(withdrawal(vault, THIRD))).1, "somebody else pays");
    assert!(read(of(loan(vault))).1, "anybody may lend, and never ask for it back");
    // Unless whoever governs the protocol vouches for it.
    let mut facts = of(loan(vault));
    facts.tokens.insert(USDC, Arc::default());
    let first = engine::read(&Facts::from(facts.clone()), &question(), &KNOWLEDGE, Missing::Ask);
    let Ok(Read::Needs(needs)) = first else { panic!("it is asked about") };
    let asked = needs.iter().find_map(|need| match need {
        Need::Vouched { asked, selector, contract, .. } => Some((asked.evm()?, *selector, contract.evm()?)),
        _ => None,
    });
    facts.vouched.insert(asked.expect("the perspective is asked"), Some(U256::ONE));
    assert_eq!(read(facts), (Category::Borrow, false));
}
