//! Sales for coin through routers, where no node traces: who gets what the router unwraps is what its calldata says, and whoever else ran would have
//! logged.

use super::*;

const ROUTER: Address = address!("7a250d5630B4cF539739dF2C5dAcb4c659F2488D");
const ROUTER_V3: Address = address!("68b3465833fb72A70ecDF485E0e4C7bD8665Fc45");
const UNIVERSAL: Address = address!("3fC91A3afd70395Cd496C647d5a6CC9D4B2b7FAD");
/// Uniswap's v2 pool of USDC and the wrapped coin.
const POOL: Address = address!("B4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc");
/// A token that many lists name.
const MEMECOIN: Address = address!("b131f4A55907B10d1F0A50d8ab8FA09EC342cd74");
const WRAPPED: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const PAID: u64 = 5_000_000_000_000_000;

fn words(data: &[u64]) -> Bytes {
    data.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect::<Vec<u8>>().into()
}

fn logged(address: Address, event: &str, indexed: &[Address], data: &[u64]) -> Log {
    let topics = std::iter::once(keccak256(event)).chain(indexed.iter().map(|one| one.into_word())).collect();
    Log { address, topics, data: words(data), log_index: None }
}

fn unwrapped(by: Address, amount: u64) -> Log {
    logged(WRAPPED, "Withdrawal(address,uint256)", &[by], &[amount])
}

/// The wallet's USDC goes into the pool, whose wrapped coin the router unwraps.
fn sale(router: Address) -> Vec<Log> {
    let swap = "Swap(address,uint256,uint256,uint256,uint256,address)";
    vec![
        moved(USDC, WALLET, POOL, AMOUNT),
        moved(WRAPPED, POOL, router, PAID),
        logged(POOL, swap, &[router, router], &[AMOUNT, 0, 0, PAID]),
        unwrapped(router, PAID),
    ]
}

/// A list of `bytes`, each behind its offset and its length.
fn packed(list: &[Vec<u8>]) -> Vec<u8> {
    let padded = |bytes: &Vec<u8>| {
        let mut body = U256::from(bytes.len()).to_be_bytes_vec();
        body.extend(bytes);
        body.resize(32 + bytes.len().next_multiple_of(32), 0);
        body
    };
    let bodies: Vec<Vec<u8>> = list.iter().map(padded).collect();
    let mut offset = 32 * list.len();
    let mut all = U256::from(list.len()).to_be_bytes_vec();
    for body in &bodies {
        all.extend(U256::from(offset).to_be_bytes::<32>());
        offset += body.len();
    }
    all.into_iter().chain(bodies.into_iter().flatten()).collect()
}

fn call(signature: &str, arguments: &[B256]) -> Vec<u8> {
    [&keccak256(signature)[..4], &arguments.concat()].concat()
}

fn number(value: u64) -> B256 {
    U256::from(value).into()
}

/// What a sale comes to, and the coin that the wallet gets for it.
fn read(router: Address, input: Vec<u8>, logs: Vec<Log>) -> (Category, bool, Option<String>) {
    summed_up(before_accounts_run(untraced(router, 200_000, input, logs)))
}

/// When nobody's own account could run code yet.
fn before_accounts_run(mut facts: EvmFacts) -> EvmFacts {
    facts.block = Some(Block { number: 1, timestamp: 1_710_000_000, finalized: true });
    facts
}

fn summed_up(facts: EvmFacts) -> (Category, bool, Option<String>) {
    let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's");
    let coin = answer.assets.received.iter().find(|leg| leg.symbol == "ETH").map(|leg| leg.amount.to_string());
    (answer.category, answer.needs_review, coin)
}

fn sold() -> (Category, bool, Option<String>) {
    (Category::Swap, false, Some("0.005".to_owned()))
}

#[test]
fn a_router_pays_what_it_unwraps_to_whom_the_call_names() {
    let asked = |to: Address| {
        let path = [number(2), USDC.into_word(), WRAPPED.into_word()];
        let head = [number(AMOUNT), number(1), number(160), to.into_word(), number(9)];
        call("swapExactTokensForETH(uint256,uint256,address[],address,uint256)", &[&head[..], &path].concat())
    };
    let and = |more: Log| [sale(ROUTER), vec![more]].concat();
    assert_eq!(read(ROUTER, asked(WALLET), sale(ROUTER)), sold());
    assert!(read(ROUTER, asked(THIRD), sale(ROUTER)).1, "somebody else gets the coin");
    assert!(read(STRANGER, asked(WALLET), sale(STRANGER)).1, "anybody can have a function of that name");
    let ping = logged(STRANGER, "Ping(uint256)", &[], &[7]);
    assert!(read(ROUTER, asked(WALLET), and(ping)).1, "somebody else ran too");
    assert!(read(ROUTER, asked(WALLET), and(unwrapped(ROUTER, 7))).1, "a token traded of its own");
    assert!(read(ROUTER, asked(WALLET), and(unwrapped(STRANGER, 7))).1, "somebody else has coin to pay with");
    let told = Log { address: address!("0000000000000000000000000000000000001010"), ..unwrapped(ROUTER, 0) };
    let topics = [keccak256("LogTransfer(address,address,address,uint256,uint256,uint256,uint256,uint256)")];
    let topics = topics.into_iter().chain([told.address, ROUTER, WALLET].map(|one| one.into_word())).collect();
    let told = Log { topics, data: words(&[PAID, PAID, 0, 0, PAID]), ..told };
    assert_eq!(read(ROUTER, asked(WALLET), and(told)), sold(), "a chain that logs its coin");
    let silent = sale(ROUTER).into_iter().filter(|log| log.address != WRAPPED || log.topics.len() == 3).collect();
    assert!(read(ROUTER, asked(WALLET), silent).1, "a wrapped coin that does not log what it pays out");
    let cut = asked(WALLET)[..100].to_vec();
    assert!(read(ROUTER, cut, sale(ROUTER)).1, "a call that cannot be read");
}

#[test]
fn a_router_runs_its_own_functions_and_each_must_be_known() {
    let multicall = |list: &[Vec<u8>]| [call("multicall(bytes[])", &[number(32)]), packed(list)].concat();
    let swap = || {
        let path = [number(2), USDC.into_word(), WRAPPED.into_word()];
        let head = [number(AMOUNT), number(1), number(128), ROUTER_V3.into_word()];
        call("swapExactTokensForTokens(uint256,uint256,address[],address)", &[&head[..], &path].concat())
    };
    let unwrap = |to: Address| call("unwrapWETH9(uint256,address)", &[number(1), to.into_word()]);
    let refund = || call("refundETH()", &[]);
    let read = |list: &[Vec<u8>]| read(ROUTER_V3, multicall(list), sale(ROUTER_V3));
    assert_eq!(read(&[swap(), unwrap(WALLET)]), sold());
    assert!(read(&[swap(), unwrap(THIRD)]).1, "somebody else gets the coin");
    assert!(read(&[swap(), unwrap(WALLET), unwrap(THIRD)]).1, "two get coin");
    let sweep = call("sweepToken(address,uint256,address)", &[STRANGER.into_word(), number(0), WALLET.into_word()]);
    assert!(read(&[swap(), sweep, unwrap(WALLET)]).1, "a stranger's token is called, which need not log");
    assert!(read(&[refund(), swap(), unwrap(WALLET)]).1, "the rest is not known before the end");
    assert!(read(&[swap(), multicall(&[unwrap(WALLET)])]).1, "calls in calls");
    assert!(read(&[swap(), vec![1, 2]]).1, "no function at all");
}

#[test]
fn the_universal_router_runs_commands_and_each_must_be_known() {
    let execute = |commands: &[u8], inputs: &[Vec<u8>]| {
        let mut body = U256::from(commands.len()).to_be_bytes_vec();
        body.extend(commands);
        body.resize(64, 0);
        let head = [number(96), number(96 + 64), number(9)];
        [call("execute(bytes,bytes[],uint256)", &head), body, packed(inputs)].concat()
    };
    let named = |address: Address| [address.into_word(), number(1)].concat();
    let (sender, itself) = (Address::with_last_byte(1), Address::with_last_byte(2));
    let read = |commands: &[u8], inputs: &[Vec<u8>]| read(UNIVERSAL, execute(commands, inputs), sale(UNIVERSAL));
    let swap = || named(itself);
    for to in [sender, WALLET] {
        assert_eq!(read(&[0x08, 0x0c], &[swap(), named(to)]), sold());
    }
    assert_eq!(
        read(&[0x08, 0x06, 0x0c], &[swap(), named(WRAPPED), named(sender)]),
        sold(),
        "a fee in the wrapped coin"
    );
    assert_eq!(read(&[0x08, 0x04, 0x0c], &[swap(), named(MEMECOIN), named(sender)]), sold(), "a token of many lists");
    for (commands, inputs, why) in [
        (&[0x08, 0x0c][..], &[swap(), named(THIRD)][..], "somebody else gets the coin"),
        (&[0x08, 0x0c], &[swap(), named(itself)], "the router has it still"),
        (&[0x08], &[swap()], "it is unwrapped, and nobody is named"),
        (&[0x08, 0x0c, 0x0c], &[swap(), named(sender), named(THIRD)], "two get coin"),
        (&[0x88, 0x0c], &[swap(), named(sender)], "a command that may fail"),
        (&[0x08, 0x10, 0x0c], &[swap(), named(sender), named(sender)], "a market, or another pool"),
        (&[0x08, 0x04, 0x0c], &[swap(), named(Address::ZERO), named(sender)], "coin goes to somebody"),
        (&[0x08, 0x04, 0x0c], &[swap(), named(STRANGER), named(sender)], "a stranger's token is called"),
        (&[0x08, 0x02, 0x0c], &[swap(), named(STRANGER), named(sender)], "a stranger's token is called"),
        (&[0x08, 0x0c], &[swap()], "a command without its words"),
    ] {
        assert!(read(commands, inputs).1, "{why}");
    }
}

/// What a purchase does not cost goes back, as far as the one who wrapped the rest is the router that was called.
#[test]
fn what_a_router_does_not_wrap_of_the_value_comes_back() {
    let reviewed = |wrapper: Address, more: Option<Log>| {
        let path = [number(2), WRAPPED.into_word(), USDC.into_word()];
        let head = [number(AMOUNT), number(128), WALLET.into_word(), number(9)];
        let input = call("swapETHForExactTokens(uint256,address[],address,uint256)", &[&head[..], &path].concat());
        let swap = "Swap(address,uint256,uint256,uint256,uint256,address)";
        let mut logs = vec![
            logged(WRAPPED, "Deposit(address,uint256)", &[wrapper], &[PAID]),
            moved(WRAPPED, ROUTER, POOL, PAID),
            moved(USDC, POOL, WALLET, AMOUNT),
            logged(POOL, swap, &[ROUTER, WALLET], &[0, PAID, AMOUNT, 0]),
        ];
        logs.extend(more);
        let mut facts = before_accounts_run(untraced(ROUTER, 200_000, input, logs));
        facts.transaction.value = U256::from(PAID + 1_000_000_000_000_000);
        let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's");
        assert!(answer.needs_review || answer.assets.sent[0].amount == "0.005", "{}", answer.assets.sent[0].amount);
        answer.needs_review
    };
    assert!(!reviewed(ROUTER, None));
    assert!(reviewed(STRANGER, None), "how much the router wrapped is not known");
    let again = logged(WRAPPED, "Deposit(address,uint256)", &[ROUTER], &[7]);
    assert!(reviewed(ROUTER, Some(again)), "a token put its own coin into a pool");
}

/// A token that many lists name is no stranger's: its transfer needs no trace. What else it logs may stand for more that it did.
#[test]
fn a_widespread_token_that_logs_only_its_standard_hides_no_coin() {
    let reviewed = |token: Address, more: Option<Log>| {
        let input = call("transfer(address,uint256)", &[THIRD.into_word(), number(AMOUNT)]);
        let logs = std::iter::once(moved(token, WALLET, THIRD, AMOUNT)).chain(more).collect();
        let answer = classified(untraced(token, 60_000, input, logs), &question(), &KNOWLEDGE).expect("it is his");
        answer.review_note.is_some_and(|note| note.contains("No node could show native coin"))
    };
    assert!(!reviewed(MEMECOIN, None));
    assert!(reviewed(TOKEN, None), "a stranger's token may pay out by itself");
    let paid = logged(MEMECOIN, "DividendPaid(address,uint256)", &[WALLET], &[7]);
    assert!(reviewed(MEMECOIN, Some(paid)));
    assert!(reviewed(MEMECOIN, Some(logged(STRANGER, "Ping(uint256)", &[], &[7]))));
}

/// The router's word is checked against the wallet's balance, where a node has it, and against what an explorer lists.
#[test]
fn a_balance_and_an_explorer_may_deny_what_a_router_is_known_for() {
    let path = [number(2), USDC.into_word(), WRAPPED.into_word()];
    let head = [number(AMOUNT), number(1), number(160), WALLET.into_word(), number(9)];
    let signature = "swapExactTokensForETH(uint256,uint256,address[],address,uint256)";
    let input = call(signature, &[&head[..], &path].concat());
    let facts = || untraced(ROUTER, 200_000, input.clone(), sale(ROUTER));
    let with = |facts: &EvmFacts, after: u64, sent: u64| {
        let mut facts = facts.clone();
        let change = BalanceChange {
            before: Some(facts.receipt.gas_used + U256::from(AMOUNT)),
            after: Some(U256::from(after)),
            sent: Some((4, 4 + sent)),
        };
        facts.balances.insert(WALLET, change);
        facts
    };
    let early = before_accounts_run(facts());
    assert_eq!(summed_up(early.clone()), sold());
    assert_eq!(summed_up(with(&early, AMOUNT + PAID, 1)), sold(), "the balance says the same");
    assert!(summed_up(with(&early, AMOUNT, 1)).1, "what the wallet was paid is gone again");
    assert!(summed_up(with(&early, AMOUNT + PAID + 7, 1)).1, "more came than the router unwrapped");
    assert_eq!(summed_up(with(&early, AMOUNT, 2)), sold(), "the wallet spent some in the same block");
    assert!(summed_up(facts()).1, "an account may run code that passes on what it is paid");
    assert_eq!(summed_up(with(&facts(), AMOUNT + PAID, 1)), sold(), "and its balance shows that it did not");
    let listed = |to: Address, value: u64| {
        let mut facts = early.clone();
        let value = U256::from(value);
        facts.internal = InternalValue::Listed { transfers: vec![InternalTransfer { from: ROUTER, to, value }] };
        facts
    };
    assert_eq!(summed_up(listed(WALLET, PAID)), sold(), "an explorer lists the same");
    assert!(summed_up(listed(THIRD, PAID)).1, "an explorer saw another payee");
    assert!(summed_up(listed(WALLET, PAID - 7)).1, "an explorer saw another amount");
}

/// Whoever gets most of what a trade brings, and gave nothing, is looked at by a person: also where the coin is proved and not traced.
#[test]
fn coin_of_a_trade_that_goes_to_another_is_looked_at() {
    let execute = |to: Address| {
        let commands = [0x00, 0x0c];
        let mut body = U256::from(commands.len()).to_be_bytes_vec();
        body.extend(commands);
        body.resize(64, 0);
        let head = [number(96), number(96 + 64), number(9)];
        let inputs = [vec![0; 64], [to.into_word(), number(1)].concat()];
        [call("execute(bytes,bytes[],uint256)", &head), body, packed(&inputs)].concat()
    };
    let logs = || [sale(UNIVERSAL), vec![moved(WRAPPED, POOL, WALLET, PAID / 19)]].concat();
    assert!(!read(UNIVERSAL, execute(WALLET), logs()).1);
    assert!(read(UNIVERSAL, execute(THIRD), logs()).1);
}

/// Gas shows that no code ran only by the prices of the day, and on chains whose gas somebody has looked at.
#[test]
fn gas_is_counted_by_the_prices_of_the_day() {
    let data = vec![1_u8; 1_000];
    let reviewed = |gas: usize, timestamp: i64| {
        let mut facts = untraced(STRANGER, gas, data.clone(), Vec::new());
        facts.block = Some(Block { number: 1, timestamp, finalized: true });
        classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's").needs_review
    };
    assert!(!reviewed(21_000 + 68 * 1_000, 1_500_000_000));
    assert!(reviewed(21_000 + 68 * 1_000, 1_750_000_000), "a contract may use just as much");
    let on = |documented_only: bool| {
        let mut facts = untraced(STRANGER, 21_000 + 16 * 1_000, data.clone(), Vec::new());
        let chain = engine::Chain { documented_only, ..(*facts.chain).clone() };
        facts.chain = std::sync::Arc::new(chain);
        classified(facts, &question(), &KNOWLEDGE).expect("it is the wallet's").needs_review
    };
    assert!(!on(false));
    assert!(on(true), "gas may cost something else there");
}

/// A bridge's tokens that call whoever gets them may have anybody pay anything.
#[test]
fn tokens_that_called_their_recipients_prove_nothing() {
    let reviewed = |timestamp: i64, until: Option<i64>| {
        let input = call("transfer(address,uint256)", &[THIRD.into_word(), number(AMOUNT)]);
        let mut facts = untraced(USDC, 60_000, input, vec![moved(USDC, WALLET, THIRD, AMOUNT)]);
        let mut chain = (*facts.chain).clone();
        chain.quirks.tokens_call_until = until;
        facts.chain = std::sync::Arc::new(chain);
        facts.block = Some(Block { number: 1, timestamp, finalized: true });
        let answer = classified(facts, &question(), &KNOWLEDGE).expect("it is his");
        answer.review_note.is_some_and(|note| note.contains("No node could show native coin"))
    };
    assert!(!reviewed(1_640_000_000, None));
    assert!(reviewed(1_640_000_000, Some(1_650_499_200)));
    assert!(!reviewed(1_660_000_000, Some(1_650_499_200)), "they were replaced");
}
