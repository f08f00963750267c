//! Where requests go, and in which version of HTTP.

use std::str::FromStr;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Uri, Version};

/// The service behind the proxy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// Host and port to connect to.
    pub authority: Authority,
    /// Which version of HTTP it is spoken to.
    pub speaks: Speaks,
}

/// The version of HTTP that the service is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Speaks {
    /// The one that the request came in: HTTP/2 as HTTP/2 without TLS (h2c, by
    /// prior knowledge), everything else as HTTP/1.1. What gRPC beside REST needs.
    AsAsked,
    /// Always HTTP/1.1.
    Http1,
    /// Always h2c. Upgrades cannot pass.
    Http2,
}

/// Why an upstream cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("{0:?} is not an upstream: write HOST:PORT, http://HOST:PORT or h2c://HOST:PORT")]
    Malformed(String),
    #[error("the upstream {0:?} has no port: write it, e.g. {0}:8080")]
    NoPort(String),
    #[error("the upstream {0:?} has a path: give host and port only, paths pass unchanged")]
    HasPath(String),
    #[error(
        "the upstream {0:?} asks for TLS, which the proxy does not speak: \
         run it on the same host as the service and use http:// or h2c://"
    )]
    Tls(String),
}

impl Target {
    /// The version that a request which came in `asked` goes out in.
    pub fn version(&self, asked: Version) -> Version {
        match self.speaks {
            Speaks::Http2 => Version::HTTP_2,
            Speaks::AsAsked if asked == Version::HTTP_2 => Version::HTTP_2,
            Speaks::AsAsked | Speaks::Http1 => Version::HTTP_11,
        }
    }

    /// Where to connect, as a URI.
    pub(crate) fn dialled(&self) -> Uri {
        // An authority with a scheme and a path is a URI.
        Self::uri(self.authority.clone(), PathAndQuery::from_static("/")).unwrap_or_default()
    }

    /// `path` at `authority`, which is what the request is for, not where it goes.
    pub(crate) fn uri(authority: Authority, path: PathAndQuery) -> Result<Uri, http::Error> {
        let parts = Uri::builder().scheme(Scheme::HTTP).authority(authority);
        parts.path_and_query(path).build()
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (speaks, place) = match text.split_once("://") {
            None => (Speaks::AsAsked, text),
            Some(("http", place)) => (Speaks::Http1, place),
            Some(("h2c", place)) => (Speaks::Http2, place),
            Some(("https" | "h2" | "grpcs", _)) => return Err(Error::Tls(text.to_owned())),
            Some(_) => return Err(Error::Malformed(text.to_owned())),
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '?']) {
            return Err(Error::HasPath(text.to_owned()));
        }
        let authority = place.parse::<Authority>().ok().filter(|it| !it.as_str().contains('@'));
        let authority = authority.ok_or_else(|| Error::Malformed(text.to_owned()))?;
        if authority.port_u16().is_none() || authority.host().is_empty() {
            return Err(Error::NoPort(text.to_owned()));
        }
        Ok(Self { authority, speaks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn the_scheme_says_what_is_spoken() {
        assert_eq!(target("127.0.0.1:80").speaks, Speaks::AsAsked);
        assert_eq!(target("http://localhost:80/").speaks, Speaks::Http1);
        assert_eq!(target("h2c://[::1]:80").speaks, Speaks::Http2);
        assert_eq!(target("h2c://[::1]:80").authority.as_str(), "[::1]:80");
    }

    #[test]
    fn a_request_keeps_its_version_unless_one_is_set() {
        let versions = |text: &str| {
            let target = target(text);
            [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2].map(|it| target.version(it))
        };
        let (one, two) = (Version::HTTP_11, Version::HTTP_2);
        assert_eq!(versions("a:1"), [one, one, two]);
        assert_eq!(versions("http://a:1"), [one, one, one]);
        assert_eq!(versions("h2c://a:1"), [two, two, two]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        type Why = fn(String) -> Error;
        let cases: [(&str, Why); 7] = [
            ("", Error::Malformed),
            ("ftp://a:1", Error::Malformed),
            ("user@a:1", Error::Malformed),
            ("a b:1", Error::Malformed),
            ("localhost", Error::NoPort),
            ("http://a:1/base", Error::HasPath),
            ("https://a:1", Error::Tls),
        ];
        for (text, why) in cases {
            assert_eq!(text.parse::<Target>(), Err(why(text.to_owned())), "{text:?}");
        }
    }
}
