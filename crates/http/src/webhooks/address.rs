//! Where webhooks go: which addresses are taken, and which machines are called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::Uri;

/// The longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 2_048;

/// Who may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By `https://`, machines that anybody on the internet can reach.
    Public,
    /// Everybody, by `http://` too: for tests and development.
    Anywhere,
}

/// Why an address is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It is none.
    Form,
    /// It is not `https://`.
    Scheme,
    /// It names a user.
    User,
    /// It is a machine that not everybody can reach.
    Private,
}

impl fmt::Display for AddressError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            AddressError::Form => "this is no address such as `https://example.com/hook`",
            AddressError::Scheme => "webhooks are sent by `https://`",
            AddressError::User => "an address of a webhook has no user and password: what is sent is signed",
            AddressError::Private => "webhooks are not sent to this machine or a private network",
        })
    }
}

impl std::error::Error for AddressError {}

/// An address that was looked at.
#[derive(Clone, Debug)]
pub struct WebhookAddress {
    uri: Uri,
    /// Whether by TLS.
    pub(super) is_secure: bool,
}

impl WebhookAddress {
    /// Looks at an address; which machine its name means is decided when it is called.
    ///
    /// # Errors
    ///
    /// Where it is none, or none that is taken.
    pub fn parse(text: &str, reach: Reach) -> Result<Self, AddressError> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(AddressError::Form);
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::Form)?;
        let is_secure = match (uri.scheme_str(), reach) {
            (Some("https"), _) => true,
            (Some("http"), Reach::Anywhere) => false,
            (Some("http"), Reach::Public) => return Err(AddressError::Scheme),
            _ => return Err(AddressError::Form),
        };
        let authority = uri.authority().ok_or(AddressError::Form)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::User);
        }
        let address = WebhookAddress { uri, is_secure };
        if address.host().is_empty() {
            return Err(AddressError::Form);
        }
        match address.host().parse::<IpAddr>() {
            Ok(ip) if !reach.takes(ip) => Err(AddressError::Private),
            _ => Ok(address),
        }
    }

    /// The name of the machine, or its number without brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(super) fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.is_secure { 443 } else { 80 })
    }

    /// What stands in the `Host` header.
    pub fn host_authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Path and query.
    pub(super) fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }
}

impl Reach {
    /// Whether a machine is called.
    pub(super) fn takes(self, ip: IpAddr) -> bool {
        match self {
            Reach::Anywhere => true,
            Reach::Public => is_public(ip),
        }
    }
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Everything but what IANA keeps for special purposes.
fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(a == 0
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        // Between a provider and its customers.
        || a == 100 && (64..128).contains(&b)
        || (a, b, c) == (192, 0, 0)
        // Relays from IPv6, and measurements.
        || (a, b, c) == (192, 88, 99)
        || a == 198 && (18..20).contains(&b)
        // Many at once, and what is reserved.
        || a >= 224)
}

/// Of what is given out (2000::/3), all but special purposes; an address that stands for one of IPv4 is as that one.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    let v4_at = |at: usize| {
        let high = segments.get(at).copied().unwrap_or_default().to_be_bytes();
        let low = segments.get(at + 1).copied().unwrap_or_default().to_be_bytes();
        Ipv4Addr::new(high[0], high[1], low[0], low[1])
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, ..] => is_public_v4(v4_at(6)),
        // As IPv4 is reached from networks that have none.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(v4_at(6)),
        [0x2002, ..] => is_public_v4(v4_at(1)),
        // Tunnels, identifiers, measurements; documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_not_everybody_reaches_are_not_called() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            let ip: IpAddr = private.parse().unwrap();
            assert!(!Reach::Public.takes(ip), "{private}");
            assert!(Reach::Anywhere.takes(ip));
        }
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.1.1",
            "172.15.1.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "3fff:1000::1",
        ] {
            assert!(Reach::Public.takes(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn addresses_are_those_of_machines_on_the_internet_by_tls() {
        let parse = |text: &str| WebhookAddress::parse(text, Reach::Public).map(|_| ());
        assert_eq!(parse("https://example.com/hook?x=1"), Ok(()));
        assert_eq!(parse("https://example.com:8443"), Ok(()));
        assert_eq!(parse("http://example.com/"), Err(AddressError::Scheme));
        assert_eq!(parse("https://ada:secret@example.com/"), Err(AddressError::User));
        assert_eq!(parse("https://127.0.0.1/"), Err(AddressError::Private));
        assert_eq!(parse("https://[::1]:8443/"), Err(AddressError::Private));
        for none in [
            "",
            "example.com/hook",
            "/hook",
            "ftp://example.com/",
            "file:///etc/passwd",
            "https://",
        ] {
            assert_eq!(parse(none), Err(AddressError::Form), "{none}");
        }
        let length = |bytes: usize| format!("https://example.com/{}", "x".repeat(bytes - 20));
        assert_eq!(parse(&length(ADDRESS_BYTES_MAX)), Ok(()));
        assert_eq!(parse(&length(ADDRESS_BYTES_MAX + 1)), Err(AddressError::Form));
        assert!(WebhookAddress::parse("http://127.0.0.1:1/", Reach::Anywhere).is_ok());
    }
}
