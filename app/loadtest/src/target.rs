//! Where the load goes: an address that was checked once.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, PathAndQuery};

/// An `http` or `https` URL with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    is_tls: bool,
    authority: Authority,
    path: PathAndQuery,
}

impl Target {
    /// Whether it is reached over TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Host and port as written.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The path and query of the URL; `/` if there is none.
    pub fn path(&self) -> &PathAndQuery {
        &self.path
    }

    /// `http://host:port`.
    pub fn origin(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// For connecting: the host without brackets, and the port or the scheme's own.
    pub(crate) fn address(&self) -> (&str, u16) {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let usual = if self.is_tls { 443 } else { 80 };
        (host, self.authority.port_u16().unwrap_or(usual))
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let say = |why: &str| format!("{text:?}: {why}; write it as in http://127.0.0.1:8080/path");
        let uri: Uri = text.parse().map_err(|why| say(&format!("{why}")))?;
        let parts = uri.into_parts();
        let is_tls = match parts.scheme.as_ref().map(|scheme| scheme.as_str()) {
            Some("http") => false,
            Some("https") => true,
            Some(_) => return Err(say("the scheme must be http or https")),
            None => return Err(say("there is no scheme")),
        };
        let authority = parts.authority.filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| say("there is no host"))?;
        if authority.as_str().contains('@') {
            return Err(say("credentials belong in a header (--header)"));
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self { is_tls, authority, path })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path == "/" { "" } else { self.path.as_str() };
        write!(f, "{}{path}", self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_the_port_of_its_scheme() {
        assert_eq!(target("http://a.example").address(), ("a.example", 80));
        assert_eq!(target("https://a.example/x").address(), ("a.example", 443));
        assert_eq!(target("http://[::1]:8080").address(), ("::1", 8080));
    }

    #[test]
    fn it_prints_as_it_was_written() {
        for text in ["http://127.0.0.1:8080", "https://a.example/x?y=1"] {
            assert_eq!(target(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        for (text, why) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("localhost:8080", "there is no"),
            ("ftp://a.example", "the scheme must be"),
            ("http://", "http://"),
            ("/path", "there is no scheme"),
            ("http://me:secret@a.example", "credentials belong in a header"),
        ] {
            let said = text.parse::<Target>().unwrap_err();
            assert!(said.contains(why) && said.contains("as in http://"), "{said}");
        }
    }
}
