//! Who the client is, said to the service: `Forwarded` (RFC 7239) or the older
//! `X-Forwarded-*`. What a client says there about itself is believed only if
//! the settings say so, since anybody can write anything there.

use std::net::{IpAddr, SocketAddr};

use http::header::{FORWARDED, HeaderName};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue};

use crate::settings::{Forwarded, ForwardedStyle};

const X_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// What a client could still be taken for.
const CLAIMS: [HeaderName; 4] = [FORWARDED, X_FOR, X_HOST, X_PROTO];

/// Adds what `rule` asks for.
pub(super) fn apply(
    rule: Forwarded,
    headers: &mut HeaderMap,
    peer: Option<SocketAddr>,
    host: Option<&Authority>,
) {
    if rule.style == ForwardedStyle::Off {
        return;
    }
    if !rule.trust_client {
        CLAIMS.iter().for_each(|claim| drop(headers.remove(claim)));
    }
    match rule.style {
        ForwardedStyle::Off => {}
        ForwardedStyle::Standard => add(headers, FORWARDED, &element(peer, host)),
        ForwardedStyle::X => add_x(headers, peer, host),
    }
}

fn add_x(headers: &mut HeaderMap, peer: Option<SocketAddr>, host: Option<&Authority>) {
    if let Some(peer) = peer {
        add(headers, X_FOR, &peer.ip().to_string());
    }
    // The first proxy on the way knows best what the client asked for.
    if let Some(host) = host.filter(|_| !headers.contains_key(X_HOST)) {
        add(headers, X_HOST, host.as_str());
    }
    if !headers.contains_key(X_PROTO) {
        add(headers, X_PROTO, "http");
    }
}

/// One element of `Forwarded`.
fn element(peer: Option<SocketAddr>, host: Option<&Authority>) -> String {
    let by = match peer.map(|peer| peer.ip()) {
        None => "for=unknown".to_owned(),
        Some(IpAddr::V4(ip)) => format!("for={ip}"),
        Some(IpAddr::V6(ip)) => format!("for=\"[{ip}]\""),
    };
    // Quoted always: a port or an IPv6 address is no token.
    let host = host.map_or_else(String::new, |host| format!(";host=\"{host}\""));
    format!("{by}{host};proto=http")
}

/// Adds a member to a list field, on one line, as most readers expect it.
fn add(headers: &mut HeaderMap, field: HeaderName, member: &str) {
    let lines = headers.get_all(&field).into_iter().map(HeaderValue::as_bytes);
    let list = lines.chain([member.as_bytes()]).collect::<Vec<_>>().join(&b", "[..]);
    // Values joined by a comma are a value again, and the member is one too.
    if let Ok(value) = HeaderValue::from_bytes(&list) {
        headers.insert(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(style: ForwardedStyle, trust_client: bool, peer: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, HeaderValue::from_static("for=192.0.2.9"));
        headers.insert(X_FOR, HeaderValue::from_static("192.0.2.9"));
        headers.insert(X_PROTO, HeaderValue::from_static("https"));
        let host = "shop.example:8443".parse().unwrap();
        let rule = Forwarded { style, trust_client };
        apply(rule, &mut headers, Some(peer.parse().unwrap()), Some(&host));
        headers
    }

    #[test]
    fn claims_of_a_client_are_replaced_unless_it_is_trusted() {
        let distrusted = said(ForwardedStyle::X, false, "198.51.100.7:1");
        assert_eq!(distrusted[X_FOR], "198.51.100.7");
        assert_eq!(distrusted[X_PROTO], "http");
        assert!(!distrusted.contains_key(FORWARDED));
        let trusted = said(ForwardedStyle::X, true, "198.51.100.7:1");
        assert_eq!(trusted[X_FOR], "192.0.2.9, 198.51.100.7");
        assert_eq!(trusted[X_PROTO], "https");
    }

    #[test]
    fn the_standard_field_quotes_what_is_no_token() {
        let said = said(ForwardedStyle::Standard, true, "[2001:db8::1]:1");
        let expected = "for=192.0.2.9, for=\"[2001:db8::1]\";host=\"shop.example:8443\";proto=http";
        assert_eq!(said[FORWARDED], expected);
    }

    #[test]
    fn nothing_is_touched_when_off() {
        let said = said(ForwardedStyle::Off, false, "198.51.100.7:1");
        assert_eq!(said[X_FOR], "192.0.2.9");
        assert!(!said.contains_key(X_HOST));
    }
}
