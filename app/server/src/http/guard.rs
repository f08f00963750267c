//! Writes over HTTP: this port has no credentials of its own, so a page of another site
//! that a user has open must not be able to write with that user's browser.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who may write over HTTP.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Why nobody may: this port must be no way around the credentials of the other.
    pub orders: Result<(), String>,
    /// Names by which browsers may reach this port, beside `localhost` and addresses: a
    /// site may have its own name lead here.
    pub names: Vec<String>,
}

/// Why a write was refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Forbidden {
    /// A browser sends it for a page of another site.
    CrossSite,
    Nobody(String),
}

impl Guard {
    /// Refuses writes of pages of other sites, and all of them where nobody may.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Forbidden> {
        self.refuse_other_sites(headers)?;
        self.orders.clone().map_err(Forbidden::Nobody)
    }

    /// Refuses what a browser sends for a page of another origin. Scripts send neither
    /// of the two headers, and what they say no page can change.
    pub(super) fn refuse_other_sites(&self, headers: &HeaderMap) -> Result<(), Forbidden> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        if text(SEC_FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Forbidden::CrossSite);
        }
        let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
        let origin = origin.split_once("://").map(|(_, host)| host);
        match (origin, text(header::HOST)) {
            (Some(origin), Some(host))
                if origin.eq_ignore_ascii_case(host) && self.is_ours(host) =>
            {
                Ok(())
            }
            _ => Err(Forbidden::CrossSite),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => host,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let is_named = |ours: &str| ours.eq_ignore_ascii_case(name);
        address.parse::<IpAddr>().is_ok()
            || is_named("localhost")
            || self.names.iter().any(|ours| is_named(ours))
    }
}

impl IntoResponse for Forbidden {
    fn into_response(self) -> Response {
        let why = match self {
            Self::CrossSite => {
                "a page of another site may not write here: use the server's address, or a name \
                 of http.names\n"
                    .to_owned()
            }
            Self::Nobody(why) => why + "\n",
        };
        (StatusCode::FORBIDDEN, why).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard { orders: Ok(()), names: vec!["ops.example".to_owned()] }
    }

    fn checked(headers: &[(&'static str, &'static str)]) -> Result<(), Forbidden> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a header")));
        guard().check(&headers.collect())
    }

    #[test]
    fn scripts_and_our_own_pages_may_write() {
        let host = ("host", "127.0.0.1:7944");
        assert_eq!(checked(&[host]), Ok(()));
        assert_eq!(checked(&[host, ("origin", "http://127.0.0.1:7944")]), Ok(()));
        let site = ("sec-fetch-site", "same-origin");
        assert_eq!(checked(&[host, ("origin", "https://127.0.0.1:7944"), site]), Ok(()));
    }

    #[test]
    fn a_site_that_has_its_name_lead_here_may_not() {
        for (host, origin, may) in [
            ("evil.example:7944", "http://evil.example:7944", false),
            ("ops.example:7944", "http://ops.example:7944", true),
            ("localhost:7944", "http://localhost:7944", true),
            ("[::1]:7944", "http://[::1]:7944", true),
        ] {
            assert_eq!(checked(&[("host", host), ("origin", origin)]).is_ok(), may, "{host}");
        }
    }

    #[test]
    fn where_nobody_may_it_is_said_why() {
        let guard = Guard { orders: Err("no".to_owned()), ..guard() };
        assert_eq!(guard.check(&HeaderMap::new()), Err(Forbidden::Nobody("no".to_owned())));
        assert_eq!(guard.refuse_other_sites(&HeaderMap::new()), Ok(()));
    }

    #[test]
    fn pages_of_other_sites_may_not() {
        let host = ("host", "127.0.0.1:7944");
        for origin in ["http://evil.example", "http://127.0.0.1:8000", "null", "http://"] {
            assert_eq!(checked(&[host, ("origin", origin)]), Err(Forbidden::CrossSite), "{origin}");
        }
        assert_eq!(checked(&[host, ("sec-fetch-site", "cross-site")]), Err(Forbidden::CrossSite));
        assert_eq!(checked(&[host, ("sec-fetch-site", "same-site")]), Err(Forbidden::CrossSite));
    }
}
