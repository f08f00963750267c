//! Fields that are meant for the next hop only.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
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
    // It overrides the length (RFC 9112, 6.3), which would cut the body once it is gone.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(name).collect();
    for field in &named {
        headers.remove(field);
    }
    for field in &ALWAYS {
        headers.remove(field);
    }
}

/// Whether the body is coded in a way that only the next hop can undo: whoever is
/// behind it would take what is coded for what is meant.
pub(super) fn is_coded(headers: &HeaderMap) -> bool {
    let mut codings = tokens(headers, &TRANSFER_ENCODING);
    match (codings.next(), codings.next()) {
        (None, _) => headers.contains_key(TRANSFER_ENCODING),
        (Some(only), None) => !only.eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => true,
    }
}

/// Whether the sender can take trailers: gRPC always says so.
pub(super) fn accepts_trailers(headers: &HeaderMap) -> bool {
    let is_trailers = |token: &[u8]| {
        let coding = token.split(|&byte| byte == b';').next().unwrap_or_default();
        coding.trim_ascii_end().eq_ignore_ascii_case(b"trailers")
    };
    tokens(headers, &TE).any(is_trailers)
}

/// The protocol that is asked for, if one is and it may pass. HTTP/2 may not: what
/// came after it would pass by every rule of this proxy.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case(b"upgrade"));
    let is_http = |token: &[u8]| {
        let token = token.to_ascii_lowercase();
        token.starts_with(b"h2") || token.starts_with(b"http/")
    };
    let hidden = tokens(headers, &UPGRADE).any(is_http);
    headers.get(UPGRADE).filter(|_| asked && !hidden).cloned()
}

/// The members of a list field, over all its lines: bytes, for one that is no text
/// must not hide the others.
fn tokens<'a>(headers: &'a HeaderMap, field: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(field).into_iter().map(HeaderValue::as_bytes);
    let members = lines.flat_map(|line| line.split(|&byte| byte == b','));
    members.map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn name(token: &[u8]) -> Option<HeaderName> {
    HeaderName::from_bytes(token).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(HeaderName, &'static [u8])]) -> HeaderMap {
        let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).unwrap();
        fields.iter().map(|(name, bytes)| (name.clone(), value(bytes))).collect()
    }

    #[test]
    fn a_byte_that_is_no_text_hides_no_other_member() {
        let secret = HeaderName::from_static("x-secret");
        let mut headers = headers(&[(CONNECTION, b"x-secret, \xff"), (secret, b"1")]);
        remove(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn a_length_beside_a_coding_goes_with_it() {
        let both = [(CONTENT_LENGTH, &b"3"[..]), (TRANSFER_ENCODING, b"chunked")];
        let mut headers = headers(&both);
        remove(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn chunked_alone_is_no_coding() {
        for (field, coded) in [
            (&b"chunked"[..], false),
            (b"Chunked", false),
            (b"gzip, chunked", true),
            (b"gzip", true),
            (b"chunked, chunked", true),
            (b"\xff, chunked", true),
            (b"", true),
        ] {
            assert_eq!(is_coded(&headers(&[(TRANSFER_ENCODING, field)])), coded, "{field:?}");
        }
        let lines = headers(&[(TRANSFER_ENCODING, b"gzip"), (TRANSFER_ENCODING, b"chunked")]);
        assert!(is_coded(&lines) && !is_coded(&HeaderMap::new()));
    }
}
