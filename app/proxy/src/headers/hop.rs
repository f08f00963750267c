//! Fields that are meant for the next hop only.

use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};

/// Fields of a connection whether `Connection` names them or not. `Trailer` is
/// not among them: it is for whoever reads the trailers.
const ALWAYS: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes what `Connection` names, and what is for one hop in any case.
pub(super) fn remove(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(name).collect();
    for field in &named {
        headers.remove(field);
    }
    for field in &ALWAYS {
        headers.remove(field);
    }
}

/// Whether the sender can take trailers: gRPC always says so.
pub(super) fn accepts_trailers(headers: &HeaderMap) -> bool {
    let coding = |token: &str| token.split(';').next().unwrap_or_default().trim_end().to_owned();
    tokens(headers, &TE).any(|token| coding(token).eq_ignore_ascii_case("trailers"))
}

/// The protocol that is asked for, if one is and it may pass. HTTP/2 may not: what
/// came after it would pass by every rule of this proxy.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    let is_http = |token: &str| {
        let token = token.to_ascii_lowercase();
        token.starts_with("h2") || token.starts_with("http/")
    };
    let hidden = tokens(headers, &UPGRADE).any(is_http);
    headers.get(UPGRADE).filter(|_| asked && !hidden).cloned()
}

/// The members of a list field, over all its lines.
fn tokens<'a>(headers: &'a HeaderMap, field: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(field).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

fn name(token: &str) -> Option<HeaderName> {
    HeaderName::from_bytes(token.as_bytes()).ok()
}
