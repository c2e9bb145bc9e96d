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
    let facts = untraced(router, 200_000, input, logs);
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
        let mut facts = untraced(ROUTER, 200_000, input, logs);
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
