//! Who a client is whose requests come through proxies.
//!
//! Anybody can write `Forwarded` and `X-Forwarded-For`. They count only from proxies that the deployment names, and only as far
//! as those wrote them: each proxy appends whom it heard, so the chain is read from its end, and the first address that is no
//! named proxy is the client.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, header};

use crate::SetupError;

/// How many addresses of a chain are looked at.
const HOPS_MAX: usize = 16;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies in front of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    networks: Vec<Network>,
}

/// An address, or all that begin alike: `10.0.0.0/8`, `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Proxies {
    /// The proxies of some networks, each an address or a CIDR block.
    ///
    /// # Errors
    ///
    /// Where one is neither.
    pub fn from_networks<S: AsRef<str>>(texts: &[S]) -> Result<Self, SetupError> {
        let networks = texts
            .iter()
            .map(|text| text.as_ref().parse())
            .collect::<Result<_, _>>()?;
        Ok(Proxies { networks })
    }

    /// Whether an address is one of them.
    pub(crate) fn contain_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }

    /// Whose request it is that a peer sent: the peer's own, unless the peer is one of the proxies.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        // Whoever speaks to this process itself is no word of anybody.
        if !self.contain_address(peer) {
            return peer;
        }
        let by_standard = headers
            .contains_key(header::FORWARDED)
            .then(|| self.first_foreign(peer, forwarded(headers)));
        let by_custom = headers
            .contains_key(X_FORWARDED_FOR)
            .then(|| self.first_foreign(peer, forwarded_for(headers)));
        match (by_standard, by_custom) {
            (Some(client), None) | (None, Some(client)) => client,
            (Some(client), Some(other)) if client == other => client,
            // One of the two passed through a proxy that writes only the other, and may be anybody's word.
            (Some(_), Some(_)) | (None, None) => peer,
        }
    }

    /// Goes back along a chain for as long as named proxies speak. Where one does not say whom it heard, it is counted itself.
    fn first_foreign(&self, peer: IpAddr, newest_first: Vec<Option<IpAddr>>) -> IpAddr {
        let mut speaker = peer;
        for heard in newest_first {
            // Only what a named proxy has heard counts; the first that is not named is the client.
            if !self.contain_address(speaker) {
                break;
            }
            // What cannot be read ends the chain: behind it anything may be made up.
            let Some(address) = heard else { break };
            speaker = address;
        }
        speaker
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        // An IPv4 address within IPv6 is the same host.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let shift = 32_u32.saturating_sub(u32::from(self.bits));
                own.to_bits().checked_shr(shift).unwrap_or(0) == other.to_bits().checked_shr(shift).unwrap_or(0)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let shift = 128_u32.saturating_sub(u32::from(self.bits));
                own.to_bits().checked_shr(shift).unwrap_or(0) == other.to_bits().checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Self, SetupError> {
        let wrong = || SetupError::ProxyForm(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?,
            None => most,
        };
        // `::ffff:10.0.0.1` is the address that `10.0.0.1` is.
        match (address, address.to_canonical()) {
            (IpAddr::V6(_), canonical @ IpAddr::V4(_)) if bits >= 96 => Ok(Network {
                address: canonical,
                bits: bits - 96,
            }),
            _ => Ok(Network { address, bits }),
        }
    }
}

/// What `X-Forwarded-For` lists, the last first.
fn forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines: Vec<&[u8]> = headers
        .get_all(X_FORWARDED_FOR)
        .iter()
        .map(|value| value.as_bytes())
        .collect();
    let mut heard = Vec::new();
    // From the end, where the nearest proxy has written.
    for line in lines.into_iter().rev() {
        for part in line.rsplit(|byte| *byte == b',') {
            // Bounded: the header is as long as its sender likes.
            if heard.len() == HOPS_MAX {
                return heard;
            }
            heard.push(std::str::from_utf8(part).ok().and_then(address));
        }
    }
    heard
}

/// The `for` of each element of `Forwarded` (RFC 7239), the last first.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let mut heard = Vec::new();
    let lines: Vec<Option<&str>> = headers
        .get_all(header::FORWARDED)
        .iter()
        .map(|value| value.to_str().ok())
        .collect();
    for line in lines.into_iter().rev() {
        // A client's quote that is never closed would take in what the proxy wrote behind it: such a line names nobody.
        let is_closed = |line: &&str| line.matches('"').count().is_multiple_of(2);
        let elements = match line.filter(is_closed) {
            Some(line) => outside_quotes(line, ','),
            None => vec![""],
        };
        for element in elements.into_iter().rev() {
            if heard.len() == HOPS_MAX {
                return heard;
            }
            heard.push(for_of(element));
        }
    }
    heard
}

/// The address of an element such as `for="[2001:db8::1]:4711";proto=https`.
fn for_of(element: &str) -> Option<IpAddr> {
    let pairs = outside_quotes(element, ';');
    let mut named = pairs
        .into_iter()
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    let (_, value) = named.next()?;
    // Said twice, nobody knows which one is meant.
    if named.next().is_some() {
        return None;
    }
    let value = value.trim();
    address(
        value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value),
    )
}

/// The parts of a text between separators that stand outside quotes.
fn outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(move |char| {
        quoted ^= char == '"';
        char == separator && !quoted
    })
    .collect()
}

/// An address with or without a port: `10.0.0.1`, `10.0.0.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(proxies: &[&str], peer: &str, sent: &[(&'static str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let proxies = Proxies::from_networks(proxies).unwrap();
        proxies.client_address(peer.parse().unwrap(), &headers).to_string()
    }

    const XFF: &str = "x-forwarded-for";

    #[test]
    fn only_a_named_proxy_is_believed() {
        let forged = [(XFF, "192.0.2.1"), ("forwarded", "for=192.0.2.1")];
        assert_eq!(client(&[], "10.0.0.1", &forged), "10.0.0.1");
        assert_eq!(client(&["10.0.0.2"], "10.0.0.1", &forged), "10.0.0.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &forged), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "10.9.9.9", &forged), "192.0.2.1");
        assert_eq!(client(&["10.0.0.1"], "::ffff:10.0.0.1", &forged), "192.0.2.1");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn what_a_client_wrote_itself_is_passed_over() {
        let proxies = ["10.0.0.0/8"];
        for (sent, who) in [
            ("1.1.1.1, 192.0.2.7", "192.0.2.7"),
            ("1.1.1.1, 192.0.2.7, 10.0.0.5", "192.0.2.7"),
            ("10.0.0.6, 10.0.0.5", "10.0.0.6"),
            ("10.0.0.9, 192.0.2.7", "192.0.2.7"),
        ] {
            assert_eq!(client(&proxies, "10.0.0.1", &[(XFF, sent)]), who, "{sent}");
            let elements: Vec<String> = sent.split(", ").map(|part| format!("for={part}")).collect();
            let elements = elements.join(", ");
            assert_eq!(
                client(&proxies, "10.0.0.1", &[("forwarded", &elements)]),
                who,
                "{elements}"
            );
        }
        let lines = [(XFF, "1.1.1.1"), (XFF, "192.0.2.7, 10.0.0.5")];
        assert_eq!(client(&proxies, "10.0.0.1", &lines), "192.0.2.7");
    }

    #[test]
    fn where_both_headers_differ_neither_is_believed() {
        let differ = [(XFF, "192.0.2.7"), ("forwarded", "for=1.1.1.1")];
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &differ), "10.0.0.1");
        let agree = [(XFF, "192.0.2.7"), ("forwarded", "for=192.0.2.7")];
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &agree), "192.0.2.7");
    }

    #[test]
    fn addresses_stand_in_every_form() {
        for (sent, who) in [
            ("for=192.0.2.7", "192.0.2.7"),
            ("FOR=\"192.0.2.7:4711\";proto=https", "192.0.2.7"),
            ("by=10.0.0.1;for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
            ("for=\"[2001:db8::7]\"", "2001:db8::7"),
            ("for=\"[::ffff:192.0.2.7]\"", "192.0.2.7"),
        ] {
            assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &[("forwarded", sent)]), who, "{sent}");
        }
        for (sent, who) in [
            ("192.0.2.7:80", "192.0.2.7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]:80", "2001:db8::7"),
        ] {
            assert_eq!(client(&["10.0.0.1"], "10.0.0.1", &[(XFF, sent)]), who, "{sent}");
        }
        assert_eq!(
            client(&["2001:db8:1::/48"], "2001:db8:1:2::3", &[(XFF, "192.0.2.7")]),
            "192.0.2.7"
        );
        assert_eq!(
            client(&["2001:db8:1::/48"], "2001:db8:2::3", &[(XFF, "192.0.2.7")]),
            "2001:db8:2::3"
        );
    }

    #[test]
    fn what_cannot_be_read_counts_as_the_proxy_that_said_it() {
        let proxies = ["10.0.0.0/8"];
        for sent in [
            "",
            "unknown",
            "_hidden",
            "192.0.2.7, unknown",
            "192.0.2.7,",
            "300.1.1.1",
            "192.0.2.7 192.0.2.8",
        ] {
            assert_eq!(client(&proxies, "10.0.0.1", &[(XFF, sent)]), "10.0.0.1", "{sent}");
        }
        for sent in [
            "",
            "for",
            "for=",
            "for=unknown",
            "proto=https",
            "for=\"192.0.2.7",
            "for=192.0.2.7;for=192.0.2.8",
            "for=192.0.2.7,",
            // What a client wrote itself ends in a quote that takes in what the proxy wrote.
            "for=1.1.1.1;by=\", for=192.0.2.7",
            "for=1.1.1.1;by=\", for=\"[2001:db8::7]:4711\"",
        ] {
            assert_eq!(
                client(&proxies, "10.0.0.1", &[("forwarded", sent)]),
                "10.0.0.1",
                "{sent}"
            );
        }
        assert_eq!(
            client(&proxies, "10.0.0.1", &[(XFF, "192.0.2.7, unknown, 10.0.0.3")]),
            "10.0.0.3"
        );
    }

    #[test]
    fn a_chain_has_an_end() {
        let long = |hops: usize| {
            let mut chain = vec!["192.0.2.7"];
            chain.extend(std::iter::repeat_n("10.0.0.2", hops - 1));
            client(&["10.0.0.0/8"], "10.0.0.1", &[(XFF, &chain.join(","))])
        };
        assert_eq!(
            (long(1), long(HOPS_MAX)),
            ("192.0.2.7".to_owned(), "192.0.2.7".to_owned())
        );
        assert_eq!(long(HOPS_MAX + 1), "10.0.0.2");
    }

    #[test]
    fn a_network_is_an_address_or_a_block() {
        for wrong in [
            "",
            "10.0.0",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "proxy.example",
            "10.0.0.0/-1",
            "/8",
        ] {
            assert!(Proxies::from_networks(&[wrong]).is_err(), "{wrong}");
        }
        assert_eq!(
            client(&["0.0.0.0/0"], "203.0.113.9", &[(XFF, "192.0.2.7")]),
            "192.0.2.7"
        );
        assert_eq!(client(&["::/0"], "203.0.113.9", &[(XFF, "192.0.2.7")]), "203.0.113.9");
        assert_eq!(
            client(&["::ffff:10.0.0.0/104"], "10.1.1.1", &[(XFF, "192.0.2.7")]),
            "192.0.2.7"
        );
    }
}
