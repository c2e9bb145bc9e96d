//! The client's address: the peer, or, behind a proxy that the operator trusts, the right-most address that is no trusted proxy's. Entries
//! of `X-Forwarded-For` that no trusted proxy wrote are ignored.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED: &str = "x-forwarded-for";

pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let mut nearest = peer.to_canonical();
    let values: Vec<&str> = headers.get_all(FORWARDED).iter().map(|value| value.to_str().unwrap_or_default()).collect();
    for hop in values.iter().flat_map(|value| value.split(',')).rev() {
        if !is_trusted(nearest) {
            break;
        }
        // Nothing left of an entry that is no address can be trusted.
        let Some(address) = parse(hop.trim()) else { break };
        nearest = address;
    }
    nearest
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn parse(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED, value.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn strangers_cannot_name_themselves() {
        assert_eq!(seen("198.51.100.1", &["203.0.113.9"], &[]), "198.51.100.1");
        assert_eq!(seen("198.51.100.1", &["203.0.113.9"], &["10.0.0.0/8"]), "198.51.100.1");
    }

    #[test]
    fn a_trusted_proxy_is_believed_one_hop_at_a_time() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(seen("10.0.0.1", &["203.0.113.9"], &trusted), "203.0.113.9");
        assert_eq!(seen("::ffff:10.0.0.1", &["203.0.113.9"], &trusted), "203.0.113.9");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 203.0.113.9"], &trusted), "203.0.113.9", "the caller wrote the first");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1", "203.0.113.9, 10.0.0.2"], &trusted), "203.0.113.9");
        assert_eq!(seen("10.0.0.1", &["[2001:db8::1]:443"], &trusted), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9:5000"], &trusted), "203.0.113.9");
    }

    #[test]
    fn nonsense_ends_the_search() {
        assert_eq!(seen("10.0.0.1", &["203.0.113.9, unknown"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"], &["10.0.0.0/8"]), "10.0.0.3");
        assert_eq!(seen("10.0.0.1", &[""], &["10.0.0.0/8"]), "10.0.0.1");
    }
}
