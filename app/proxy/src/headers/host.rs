//! Which host a request is for. Two readers of one request must never differ
//! about it, so what leaves a choice is refused.

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Version};

use crate::failure::Malformed;

/// The host that a request is for; `None` if it is allowed to name none and does.
///
/// # Errors
/// It names several, or none in HTTP/1.1, or something that is no host.
pub(super) fn of(head: &Parts) -> Result<Option<Authority>, Malformed> {
    let field = field(head)?;
    let Some(line) = head.uri.authority() else {
        return match field {
            None if head.version == Version::HTTP_11 => Err(Malformed::NoHost),
            None => Ok(None),
            Some(value) => parse(value),
        };
    };
    // RFC 9113, 8.3.1. In HTTP/1.1 the request line wins (RFC 9112, 3.2.2).
    if head.version == Version::HTTP_2 && field.is_some_and(|value| !same(value, line)) {
        return Err(Malformed::TwoHosts);
    }
    clean(line.clone()).map(Some)
}

/// An authority as a field's value.
pub(super) fn value(authority: &Authority) -> Result<HeaderValue, Malformed> {
    HeaderValue::from_str(authority.as_str()).map_err(|_| Malformed::Host)
}

fn field(head: &Parts) -> Result<Option<&HeaderValue>, Malformed> {
    let mut fields = head.headers.get_all(HOST).into_iter();
    let first = fields.next();
    if fields.next().is_some() { Err(Malformed::TwoHosts) } else { Ok(first) }
}

/// An empty field stands for no host (RFC 9110, 7.2).
fn parse(value: &HeaderValue) -> Result<Option<Authority>, Malformed> {
    if value.is_empty() {
        return Ok(None);
    }
    let authority = Authority::try_from(value.as_bytes()).map_err(|_| Malformed::Host)?;
    clean(authority).map(Some)
}

/// Names and passwords do not belong into a host.
fn clean(authority: Authority) -> Result<Authority, Malformed> {
    if authority.as_str().contains('@') { Err(Malformed::Host) } else { Ok(authority) }
}

fn same(value: &HeaderValue, authority: &Authority) -> bool {
    value.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn host(version: Version, uri: &str, hosts: &[&str]) -> Result<Option<String>, Malformed> {
        let mut request = Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        of(&head).map(|found| found.map(|authority| authority.to_string()))
    }

    #[test]
    fn one_host_is_found_where_each_version_has_it() {
        let some = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(host(Version::HTTP_11, "/", &["a:1"]), some("a:1"));
        assert_eq!(host(Version::HTTP_11, "http://b/", &["a"]), some("b"));
        assert_eq!(host(Version::HTTP_2, "http://a/", &[]), some("a"));
        assert_eq!(host(Version::HTTP_2, "http://a/", &["A"]), some("a"));
    }

    #[test]
    fn old_clients_may_leave_it_out() {
        assert_eq!(host(Version::HTTP_10, "/", &[]), Ok(None));
        assert_eq!(host(Version::HTTP_11, "/", &[""]), Ok(None));
        assert_eq!(host(Version::HTTP_11, "/", &[]), Err(Malformed::NoHost));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        assert_eq!(host(Version::HTTP_11, "/", &["a", "a"]), Err(Malformed::TwoHosts));
        assert_eq!(host(Version::HTTP_2, "http://a/", &["b"]), Err(Malformed::TwoHosts));
        assert_eq!(host(Version::HTTP_11, "/", &["a b"]), Err(Malformed::Host));
        assert_eq!(host(Version::HTTP_11, "/", &["u@a"]), Err(Malformed::Host));
        assert_eq!(host(Version::HTTP_2, "http://u@a/", &[]), Err(Malformed::Host));
    }
}
