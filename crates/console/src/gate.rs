//! Which requests are looked at: from this page alone, to this machine by its own name, through nobody who was not named.
//!
//! A page elsewhere may send requests here: its browser says where it is from (`Origin`, `Sec-Fetch-Site`). A name elsewhere may lead
//! here, so that a foreign page has the same origin (DNS rebinding): `Host` says under which name. A tunnel may lead the world here:
//! what it adds to a request tells.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use singlet_http::ConsoleRequest;

/// What the page may load: itself, and nothing from elsewhere; no script and no style in it, and no text becomes markup.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html",
);

/// Drawings have their style within; they are shown as images, which run nothing.
const DRAWING_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");

/// What a proxy adds to a request.
const FORWARDING: [&str; 9] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "x-original-host",
];

/// Why a request is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// It came through a proxy that was not named.
    Forwarded,
    /// It names another machine.
    Host,
    /// A page elsewhere sent it.
    Origin,
}

impl Turned {
    /// In a word and a sentence.
    pub fn told_as(self) -> (&'static str, &'static str) {
        match self {
            Turned::Forwarded => (
                "forwarded",
                "this came through a proxy that the service does not know; start it with `--proxy`",
            ),
            Turned::Host => (
                "wrong_host",
                "the console is not reached under this name; start the service with `--console-host`",
            ),
            Turned::Origin => ("wrong_origin", "a page of another origin may not ask this"),
        }
    }
}

/// Whether a request is looked at at all.
pub(crate) fn check_gate(request: &ConsoleRequest, hosts: &[String]) -> Result<(), Turned> {
    let headers = &request.parts.headers;
    if !request.by_named_proxy && FORWARDING.iter().any(|name| headers.contains_key(*name)) {
        return Err(Turned::Forwarded);
    }
    let host = only(headers, &header::HOST)
        .and_then(|host| host.parse::<Authority>().ok())
        .ok_or(Turned::Host)?;
    if !is_own_host(&host, request.address, hosts) {
        return Err(Turned::Host);
    }
    check_origin(&request.parts, &host, request.over_tls, request.by_named_proxy)
}

fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    }
}

/// A name that somebody else can point here is none of ours, unless it was said. An address is nobody's to point.
fn is_own_host(host: &Authority, address: Option<SocketAddr>, hosts: &[String]) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    if hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return true;
    }
    let Some(address) = address else { return false };
    let own = address.ip().to_canonical();
    if host.port_u16().unwrap_or(80) != address.port() && host.port_u16().unwrap_or(443) != address.port() {
        return false;
    }
    match name.parse::<IpAddr>() {
        Ok(named) if own.is_unspecified() => !named.is_unspecified(),
        Ok(named) => named.to_canonical() == own,
        Err(_) => name.eq_ignore_ascii_case("localhost") && (own.is_loopback() || own.is_unspecified()),
    }
}

fn check_origin(parts: &Parts, host: &Authority, over_tls: bool, by_named_proxy: bool) -> Result<(), Turned> {
    let headers = &parts.headers;
    let is_page = !parts.uri.path().starts_with("/console/api/");
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_foreign = site.is_some_and(|site| site != b"same-origin" && site != b"none");
    // The page itself may be come to from anywhere: there is nothing of the service in it.
    let is_visit = is_page && parts.method == Method::GET;
    if is_foreign && !is_visit {
        return Err(Turned::Origin);
    }
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    if !headers.contains_key(header::ORIGIN) {
        return if reads { Ok(()) } else { Err(Turned::Origin) };
    }
    let origin = only(headers, &header::ORIGIN).ok_or(Turned::Origin)?;
    let (scheme, authority) = origin.split_once("://").ok_or(Turned::Origin)?;
    let fits = match scheme {
        "https" => over_tls || by_named_proxy,
        "http" => !over_tls,
        _ => false,
    };
    match fits && authority.eq_ignore_ascii_case(host.as_str()) {
        true => Ok(()),
        false => Err(Turned::Origin),
    }
}

/// What a browser is told of everything that the console answers.
pub(crate) fn add_headers(response: &mut Response, over_tls: bool) {
    let headers = response.headers_mut();
    let is_drawing = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|media| media.as_bytes().starts_with(b"image/svg"));
    let policy = if is_drawing { DRAWING_POLICY } else { POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("same-origin"));
    }
    if !over_tls {
        return;
    }
    for cookie in headers.get_all(header::SET_COOKIE).iter().cloned().collect::<Vec<_>>() {
        if let Ok(text) = cookie.to_str()
            && let Ok(value) = HeaderValue::from_str(&format!("{text}; Secure"))
        {
            headers.insert(header::SET_COOKIE, value);
        }
    }
}

/// The name of the session's cookie. Cookies know no ports: services beside each other have names of their own.
pub(crate) fn cookie_name(address: Option<SocketAddr>) -> String {
    format!("singlet-console-{}", address.map_or(0, |address| address.port()))
}

/// The session's token, as the cookie has it.
pub(crate) fn session_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut values = pairs.filter_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then(|| value.to_owned())
    });
    values.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(host: &str, address: &str, hosts: &[&str]) -> bool {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        host.parse::<Authority>()
            .is_ok_and(|host| is_own_host(&host, address.parse().ok(), &hosts))
    }

    #[test]
    fn only_its_own_names_lead_to_it() {
        let loopback = "127.0.0.1:8080";
        for (host, expected) in [
            ("127.0.0.1:8080", true),
            ("localhost:8080", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1", false),
            ("127.0.0.1:8081", false),
            ("127.0.0.2:8080", false),
            ("localhost.evil.example:8080", false),
            ("evil.example:8080", false),
            ("0.0.0.0:8080", false),
            ("[::1]:8080", false),
        ] {
            assert_eq!(own(host, loopback, &[]), expected, "{host}");
        }
        assert!(own("[::1]:8080", "[::1]:8080", &[]));
        assert!(own("192.0.2.7:8080", "0.0.0.0:8080", &[]));
        assert!(!own("rebound.example:8080", "0.0.0.0:8080", &[]));
        assert!(own("console.example", "0.0.0.0:8080", &["console.example"]));
        assert!(own("Console.Example:443", "0.0.0.0:8080", &["console.example"]));
        assert!(!own("a.console.example", "0.0.0.0:8080", &["console.example"]));
        assert!(own("localhost", "127.0.0.1:80", &[]));
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("a=1; singlet-console-80=x; b=2"),
        );
        assert_eq!(session_cookie(&headers, "singlet-console-80").as_deref(), Some("x"));
        assert_eq!(session_cookie(&headers, "singlet-console-8"), None);
    }
}
