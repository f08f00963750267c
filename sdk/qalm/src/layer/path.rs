//! A name for a path that nobody described: what looks like an identifier is
//! masked, so that there are as many names as there are handlers.

/// What stands for an identifier.
const MASK: &str = "{id}";
/// A longer segment is an identifier whatever it looks like.
const MAX_SEGMENT_BYTES: usize = 32;
/// More segments than this are not told apart.
const MAX_SEGMENTS: usize = 8;

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
    let plain = segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
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
