//! Whose code a contract runs, told by its own bytes. Only forms that run no other code: an upgradeable proxy proves nothing, since whoever holds its
//! key can change its code for one block. What stands in its storage is not told: whoever deployed it wrote that.

use alloy_primitives::{Address, B256, Bytes, hex, keccak256};
use serde::{Deserialize, Serialize};

/// What is kept of a contract's code: more than the longest minimal proxy takes.
const CODE_START_MAX: usize = 128;

enum Part {
    Bytes(&'static [u8]),
    /// How long the arguments are that follow the code and are handed on with every call.
    Length,
    Target,
}

use Part::{Bytes as Is, Length, Target};

/// Minimal proxies: how their code begins. What follows is never run.
const MINIMAL_PROXIES: [&[Part]; 8] = [
    // EIP-1167, also where OpenZeppelin puts arguments behind it.
    &[Is(&hex!("363d3d373d3d3d363d73")), Target, Is(&hex!("5af43d82803e903d91602b57fd5bf3"))],
    // Its shorter form, which Solady makes.
    &[Is(&hex!("3d3d3d3d363d3d37363d73")), Target, Is(&hex!("5af43d3d93803e602a57fd5bf3"))],
    // The same with PUSH0.
    &[Is(&hex!("5f5f365f5f37365f73")), Target, Is(&hex!("5af43d5f5f3e6029573d5ffd5b3d5ff3"))],
    // Vyper before 0.2.9, and its first form.
    &[Is(&hex!("366000600037611000600036600073")), Target, Is(&hex!("5af4602c57600080fd5b6110006000f3"))],
    &[Is(&hex!("366000600037611000600036600073")), Target, Is(&hex!("5af41558576110006000f3"))],
    // 0xSplits: it also logs the coin that it is sent.
    &[
        Is(&hex!(
            "36603057343d52307f830d2d700a97af574b186c80d40429385d24241565b08a7c559ba283a964d9b160203da23d3df35b3d3d3d3d363d3d37363d73"
        )),
        Target,
        Is(&hex!("5af43d3d93803e605b57fd5bf3")),
    ],
    // Clones with immutable arguments, and their older form.
    &[
        Is(&hex!("3d3d3d3d363d3d3761")),
        Length,
        Is(&hex!("603736393661")),
        Length,
        Is(&hex!("013d73")),
        Target,
        Is(&hex!("5af43d3d93803e603557fd5bf3")),
    ],
    &[
        Is(&hex!("363d3d3761")),
        Length,
        Is(&hex!("603836393d3d3d3661")),
        Length,
        Is(&hex!("013d73")),
        Target,
        Is(&hex!("5af43d82803e903d91603657fd5bf3")),
    ],
];

/// What a node says of a contract's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    start: Bytes,
    hash: B256,
    /// The first word of the beacon's slot (ERC-1967); zero where there is none.
    pub beacon: B256,
}

impl Code {
    pub fn new(code: &[u8], beacon: B256) -> Self {
        let start = code.get(..CODE_START_MAX).unwrap_or(code);
        Self { start: Bytes::copy_from_slice(start), hash: keccak256(code), beacon }
    }

    /// Whether it calls this contract, whatever it is asked.
    pub fn is_minimal_proxy_to(&self, contract: Address) -> bool {
        let after = |rest: &'_ [u8], part: &Part| -> Option<usize> {
            match part {
                Part::Bytes(bytes) => rest.starts_with(bytes).then_some(bytes.len()),
                Part::Length => Some(size_of::<u16>()),
                Part::Target => rest.starts_with(contract.as_slice()).then_some(Address::len_bytes()),
            }
        };
        MINIMAL_PROXIES.iter().any(|parts| {
            let whole = parts.iter().try_fold(self.start.as_ref(), |rest, part| rest.get(after(rest, part)?..));
            whole.is_some()
        })
    }

    /// Whether it is one of these proxies, and follows this beacon.
    pub fn is_proxy_of_beacon(&self, proxies: &[B256], beacon: Address) -> bool {
        proxies.contains(&self.hash) && self.beacon == beacon.into_word()
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, address, b256, keccak256};

    use super::Code;

    /// Of a pool of Uniswap v1, as its chain has it, and its template.
    const EXCHANGE: [u8; 46] =
        hex_of("3660006000376110006000366000732157a7894439191e520825fe9399ab8655e0f7085af41558576110006000f3");

    const fn hex_of<const N: usize>(text: &str) -> [u8; N] {
        match alloy_primitives::hex::const_decode_to_array(text.as_bytes()) {
            Ok(bytes) => bytes,
            Err(_) => panic!("no hex"),
        }
    }

    #[test]
    fn a_minimal_proxy_names_whose_code_it_runs() {
        let template = address!("2157a7894439191e520825fe9399ab8655e0f708");
        let other = address!("2157a7894439191e520825fe9399ab8655e0f709");
        let code = Code::new(&EXCHANGE, B256::ZERO);
        assert!(code.is_minimal_proxy_to(template));
        assert!(!code.is_minimal_proxy_to(other));
        let mut with_arguments: Vec<u8> =
            hex_of::<45>("363d3d373d3d3d363d732157a7894439191e520825fe9399ab8655e0f7085af43d82803e903d91602b57fd5bf3")
                .to_vec();
        with_arguments.extend([7; 500]);
        assert!(
            Code::new(&with_arguments, B256::ZERO).is_minimal_proxy_to(template),
            "arguments behind it are never run"
        );
        let handed_on = hex_of::<62>(
            "3d3d3d3d363d3d3761002a603736393661002a013d732157a7894439191e520825fe9399ab8655e0f7085af43d3d93803e603557fd5bf3aaaaaaaaaaaaaa",
        );
        assert!(Code::new(&handed_on, B256::ZERO).is_minimal_proxy_to(template));
    }

    #[test]
    fn what_only_begins_like_one_is_none() {
        let template = address!("2157a7894439191e520825fe9399ab8655e0f708");
        for cut in 0..EXCHANGE.len() {
            assert!(!Code::new(&EXCHANGE[..cut], B256::ZERO).is_minimal_proxy_to(template), "{cut} bytes");
        }
        let mut other = EXCHANGE;
        for at in (0..EXCHANGE.len()).filter(|at| !(15..35).contains(at)) {
            other[at] ^= 1;
            assert!(!Code::new(&other, B256::ZERO).is_minimal_proxy_to(template), "byte {at}");
            other[at] ^= 1;
        }
    }

    #[test]
    fn a_beacon_counts_only_for_known_proxies() {
        let (beacon, proxy) = (address!("2157a7894439191e520825fe9399ab8655e0f708"), [1, 2, 3]);
        let code = Code::new(&proxy, beacon.into_word());
        assert!(code.is_proxy_of_beacon(&[keccak256(proxy)], beacon));
        assert!(!code.is_proxy_of_beacon(&[B256::ZERO], beacon), "its own code may do anything with the slot");
        assert!(!Code::new(&proxy, B256::ZERO).is_proxy_of_beacon(&[keccak256(proxy)], beacon));
        let dirty = b256!("0000000000000000000000012157a7894439191e520825fe9399ab8655e0f708");
        assert!(!Code::new(&proxy, dirty).is_proxy_of_beacon(&[keccak256(proxy)], beacon));
    }
}
