//! Paths as the policy and the metrics know them: in one spelling, and, if nobody
//! described them, with what looks like an identifier masked, so that there are as
//! many names as there are handlers.

use std::borrow::Cow;

/// What stands for an identifier.
const MASK: &str = "{id}";
/// A longer segment is an identifier whatever it looks like.
const MAX_SEGMENT_BYTES: usize = 32;
/// More segments than this are not told apart.
const MAX_SEGMENTS: usize = 8;

/// The one spelling of a path: unreserved characters are not encoded (RFC 3986,
/// section 6.2.2.2), dot segments are resolved (5.2.4), slashes are single.
pub(crate) fn normal(path: &str) -> Cow<'_, str> {
    if !path.starts_with('/') || is_normal(path) {
        return Cow::Borrowed(path);
    }
    let decoded = decoded(path);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let is_folder = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end));
    let end = if is_folder && !segments.is_empty() { "/" } else { "" };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

/// There is no other way to read it, whatever its reader decodes.
pub(crate) fn is_plain(path: &str) -> bool {
    normal(path) == path && !path.contains(['%', '\\', ';'])
}

fn is_normal(path: &str) -> bool {
    let suspicious = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    !path.contains('%') && !path.as_bytes().windows(2).any(suspicious)
}

/// Without the encoding of characters that need none.
fn decoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let digits = after.get(..2).filter(|it| it.bytes().all(|c| c.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|&code| is_unreserved(code)) {
            Some(code) => {
                text.push(char::from(code));
                rest = &after[2..];
            }
            None => {
                text.push('%');
                rest = after;
            }
        }
    }
    text + rest
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// `/v1/users/17/orders` becomes `/v1/users/{id}/orders`.
pub(crate) fn masked(path: &str) -> String {
    let mut name = String::with_capacity(path.len().min(MAX_SEGMENT_BYTES * MAX_SEGMENTS));
    for (position, segment) in path.split('/').skip(1).enumerate() {
        name.push('/');
        if position == MAX_SEGMENTS {
            name.push('*');
            break;
        }
        name.push_str(if is_identifier(segment) { MASK } else { segment });
    }
    name
}

/// Numbers, UUIDs, hashes, tokens: no person would give a handler such a name.
fn is_identifier(segment: &str) -> bool {
    let plain = segment.bytes().all(is_unreserved);
    !segment.is_empty() && (!plain || segment.len() > MAX_SEGMENT_BYTES || is_number(segment))
}

/// All digits, or a long mixture of digits and what hexadecimal has.
fn is_number(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let hex = segment.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let long = segment.len() >= 6;
    digits == segment.len() || long && (digits * 2 > segment.len() || hex && digits > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_it_is_spelled_a_path_is_the_same() {
        let cases = [
            ("/low/x", "/low/x"),
            ("/%6cow/x", "/low/x"),
            ("//low///x", "/low/x"),
            ("/a/../low/./x", "/low/x"),
            ("/grpc.health.v1.Health/%2e%2E/low/x", "/low/x"),
            ("/../../low/", "/low/"),
            ("/low/x/..", "/low/"),
            ("/..", "/"),
            ("//", "/"),
            ("/a%2Fb%", "/a%2Fb%"),
            ("/a%2", "/a%2"),
            ("/%+41/%é", "/%+41/%é"),
            ("/.well-known/x", "/.well-known/x"),
            ("*", "*"),
            ("", ""),
        ];
        for (path, same) in cases {
            assert_eq!(normal(path), same, "{path}");
            assert_eq!(normal(same), same, "{path}");
        }
        assert!(is_plain("/healthz") && !is_plain("/healthz/..%2flow") && !is_plain("//healthz"));
    }

    #[test]
    fn identifiers_are_masked_and_words_are_not() {
        let cases = [
            ("/", "/"),
            ("/v1/users", "/v1/users"),
            ("/v12/users", "/v12/users"),
            ("/v1/users/17/orders", "/v1/users/{id}/orders"),
            ("/o/3f2504e0-4f89-41d3-9a0c-0305e82c3301", "/o/{id}"),
            ("/o/deadbeef01", "/o/{id}"),
            ("/facade/decade", "/facade/decade"),
            ("/a%20b/x", "/{id}/x"),
            ("/a//b", "/a//b"),
            ("/1/2/3/4/5/6/7/8/9", "/{id}/{id}/{id}/{id}/{id}/{id}/{id}/{id}/*"),
            ("*", ""),
        ];
        for (path, name) in cases {
            assert_eq!(masked(path), name, "{path}");
        }
    }
}
