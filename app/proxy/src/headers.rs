//! Header fields that change on the way: hop-by-hop ones go (RFC 9110, section
//! 7.6.1), `Host` and `:authority` follow the rule, and the client is named if
//! asked for. Everything else passes as it is, in its order.

mod forwarded;
mod hop;
mod host;

use std::net::SocketAddr;

use http::header::{CONNECTION, COOKIE, HOST, TE, UPGRADE, VIA};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderValue, Version, response};

use crate::failure::{Failure, Malformed};
use crate::settings::{Forwarded, HostRule, Settings};
use crate::target::{Speaks, Target};

/// Where a request came from; the accept loop puts it among its extensions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Peer(pub SocketAddr);

/// How heads are rewritten.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    target: Target,
    host: HostRule,
    via: bool,
    forwarded: Forwarded,
}

// === impl Rules ===

impl Rules {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            target: settings.upstream.clone(),
            host: settings.host.clone(),
            via: settings.via,
            forwarded: settings.forwarded,
        }
    }

    /// Turns the head that came in into the one that goes out. Says whether it asks
    /// for another protocol that can be passed on.
    ///
    /// # Errors
    /// The head cannot be passed on without guessing what it means.
    pub(crate) fn request(&self, head: &mut Parts) -> Result<bool, Failure> {
        if head.method == http::Method::CONNECT {
            return Err(Failure::Connect);
        }
        if hop::is_coded(&head.headers) {
            return Err(Failure::Coding);
        }
        let came_for = host::of(head)?;
        let came_in = head.version;
        let upgrade = self.upgrade(head);
        let trailers = hop::accepts_trailers(&head.headers);
        hop::remove(&mut head.headers);
        head.version = self.target.version(came_in);
        self.address(head, came_for.as_ref())?;
        restore_options(head, trailers, upgrade.clone());
        if head.version != Version::HTTP_2 {
            join_cookies(&mut head.headers);
        }
        self.name_client(head, came_in, came_for.as_ref());
        Ok(upgrade.is_some())
    }

    /// Turns the head of an answer into the one that the client gets.
    ///
    /// # Errors
    /// Its body is coded for this hop, which did not ask for it.
    pub(crate) fn answer(&self, head: &mut response::Parts) -> Result<(), Failure> {
        if hop::is_coded(&head.headers) {
            return Err(Failure::AnswerCoding);
        }
        let came_in = head.version;
        hop::remove(&mut head.headers);
        if self.via {
            head.headers.append(VIA, via(came_in));
        }
        // What the client speaks is for its connection to know.
        head.version = Version::default();
        Ok(())
    }

    fn upgrade(&self, head: &Parts) -> Option<HeaderValue> {
        let can = head.version == Version::HTTP_11 && self.target.speaks != Speaks::Http2;
        hop::upgrade(&head.headers).filter(|_| can)
    }

    /// Sets the URI, which for the HTTP/1.1 pool says where to connect and for
    /// HTTP/2 is `:authority`, and `Host`.
    fn address(&self, head: &mut Parts, came_for: Option<&Authority>) -> Result<(), Failure> {
        let upstream = &self.target.authority;
        let authority = match &self.host {
            HostRule::Keep => came_for.unwrap_or(upstream),
            HostRule::Upstream => upstream,
            HostRule::Named(name) => name,
        };
        let path = head.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let at = if head.version == Version::HTTP_2 {
            head.headers.remove(HOST);
            authority
        } else {
            head.headers.insert(HOST, host::value(authority)?);
            upstream
        };
        head.uri = Target::uri(at.clone(), path).map_err(|_| Malformed::Path)?;
        Ok(())
    }

    fn name_client(&self, head: &mut Parts, came_in: Version, came_for: Option<&Authority>) {
        if self.via {
            head.headers.append(VIA, via(came_in));
        }
        let peer = head.extensions.get::<Peer>().map(|peer| peer.0);
        forwarded::apply(self.forwarded, &mut head.headers, peer, came_for);
    }
}

/// Says again, for the next hop, what only held for the last one.
fn restore_options(head: &mut Parts, trailers: bool, upgrade: Option<HeaderValue>) {
    let mut options: Vec<&str> = Vec::new();
    if trailers {
        head.headers.insert(TE, HeaderValue::from_static("trailers"));
        options.push("te");
    }
    if let Some(protocol) = upgrade {
        head.headers.insert(UPGRADE, protocol);
        options.push("upgrade");
    }
    // HTTP/2 has no such field.
    if head.version != Version::HTTP_2 && !options.is_empty() {
        let named = HeaderValue::from_str(&options.join(", "));
        named.into_iter().for_each(|value| drop(head.headers.insert(CONNECTION, value)));
    }
}

/// HTTP/2 may send a cookie in pieces, HTTP/1.1 has one field (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let pieces: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if pieces.len() < 2 {
        return;
    }
    // Values joined by "; " are a value again.
    if let Ok(joined) = HeaderValue::from_bytes(&pieces.join(&b"; "[..])) {
        headers.insert(COOKIE, joined);
    }
}

fn via(version: Version) -> HeaderValue {
    HeaderValue::from_static(match version {
        Version::HTTP_2 => "2 plimsoll",
        Version::HTTP_10 => "1.0 plimsoll",
        _ => "1.1 plimsoll",
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::settings::ForwardedStyle;

    fn rules(upstream: &str) -> Rules {
        let settings = Settings::new(([127, 0, 0, 1], 1).into(), upstream.parse().unwrap());
        Rules::new(&settings)
    }

    fn head(version: Version, uri: &str, fields: &[(&'static str, &'static str)]) -> Parts {
        let mut request = Request::builder().version(version).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn names(head: &Parts) -> Vec<&str> {
        let mut names: Vec<&str> = head.headers.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_holds_for_one_connection_stays_there() {
        let mut head = head(
            Version::HTTP_11,
            "/a?b=c",
            &[
                ("host", "shop.example"),
                ("connection", "close, X-Only-Here"),
                ("connection", "te"),
                ("x-only-here", "1"),
                ("keep-alive", "timeout=5"),
                ("proxy-connection", "keep-alive"),
                ("te", "gzip, trailers;q=0.5"),
                ("transfer-encoding", "chunked"),
                ("x-stays", "1"),
            ],
        );
        rules("http://127.0.0.1:9").request(&mut head).unwrap();
        assert_eq!(names(&head), ["connection", "host", "te", "x-stays"]);
        assert_eq!(head.headers["connection"], "te");
        assert_eq!(head.headers["te"], "trailers");
        assert_eq!(head.headers["host"], "shop.example");
        assert_eq!(head.uri, "http://127.0.0.1:9/a?b=c");
    }

    #[test]
    fn over_http_2_the_authority_is_kept_and_no_connection_field_appears() {
        let mut head = head(
            Version::HTTP_2,
            "http://shop.example/svc/Method",
            &[("te", "trailers"), ("host", "SHOP.example")],
        );
        rules("127.0.0.1:9").request(&mut head).unwrap();
        assert_eq!(head.uri, "http://shop.example/svc/Method");
        assert_eq!(names(&head), ["te"]);
    }

    #[test]
    fn the_host_is_rewritten_if_asked_for() {
        for (rule, host) in [
            (HostRule::Upstream, "127.0.0.1:9"),
            (HostRule::Named("inner.example".parse().unwrap()), "inner.example"),
        ] {
            let rules = Rules { host: rule, ..rules("http://127.0.0.1:9") };
            let mut head = head(Version::HTTP_11, "/", &[("host", "outer.example")]);
            rules.request(&mut head).unwrap();
            assert_eq!(head.headers["host"], host);
        }
    }

    #[test]
    fn pieces_of_a_cookie_are_one_field_over_http_1() {
        let mut head = head(
            Version::HTTP_2,
            "http://a.example/",
            &[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")],
        );
        rules("http://127.0.0.1:9").request(&mut head).unwrap();
        assert_eq!(head.headers.get_all("cookie").iter().count(), 1);
        assert_eq!(head.headers["cookie"], "a=1; b=2; c=3");
    }

    #[test]
    fn an_upgrade_passes_over_http_1_only() {
        let fields = [("host", "a"), ("connection", "Upgrade"), ("upgrade", "websocket")];
        let mut passed = head(Version::HTTP_11, "/", &fields);
        assert!(rules("127.0.0.1:9").request(&mut passed).unwrap());
        assert_eq!(passed.headers["connection"], "upgrade");
        assert_eq!(passed.headers["upgrade"], "websocket");
        let mut kept_back = head(Version::HTTP_11, "/", &fields);
        assert!(!rules("h2c://127.0.0.1:9").request(&mut kept_back).unwrap());
        assert_eq!(names(&kept_back), [""; 0]);
    }

    #[test]
    fn http_2_cannot_be_smuggled_in_as_an_upgrade() {
        let mut head = head(
            Version::HTTP_11,
            "/",
            &[
                ("host", "a"),
                ("connection", "Upgrade, HTTP2-Settings"),
                ("upgrade", "websocket, h2c"),
                ("http2-settings", "AAMAAABkAARAAAAAAAIAAAAA"),
            ],
        );
        assert!(!rules("127.0.0.1:9").request(&mut head).unwrap());
        assert_eq!(names(&head), ["host"]);
    }

    #[test]
    fn a_request_through_the_proxy_says_so_if_asked_to() {
        let rules = Rules {
            via: true,
            forwarded: Forwarded { style: ForwardedStyle::X, trust_client: true },
            ..rules("http://127.0.0.1:9")
        };
        let mut head = head(
            Version::HTTP_2,
            "http://shop.example/",
            &[("via", "1.0 other"), ("x-forwarded-for", "192.0.2.1")],
        );
        head.extensions.insert(Peer(([198, 51, 100, 7], 5).into()));
        rules.request(&mut head).unwrap();
        let via: Vec<_> = head.headers.get_all("via").iter().collect();
        assert_eq!(via, ["1.0 other", "2 plimsoll"]);
        assert_eq!(head.headers["x-forwarded-for"], "192.0.2.1, 198.51.100.7");
        assert_eq!(head.headers["x-forwarded-host"], "shop.example");
    }

    #[test]
    fn connect_is_refused() {
        let mut head = head(Version::HTTP_11, "/", &[("host", "a")]);
        head.method = http::Method::CONNECT;
        assert!(matches!(rules("127.0.0.1:9").request(&mut head), Err(Failure::Connect)));
    }
}
