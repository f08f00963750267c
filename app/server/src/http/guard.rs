//! Writes over HTTP: this port has no credentials of its own, so a page of another site
//! that a user has open must not be able to write with that user's browser.

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a write was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct CrossSite;

/// Refuses what a browser sends for a page of another origin. Scripts send neither of
/// the two headers, and what they say no page can change.
pub(super) fn refuse_other_sites(headers: &HeaderMap) -> Result<(), CrossSite> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    if text(SEC_FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(CrossSite);
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let origin = origin.split_once("://").map(|(_, host)| host);
    match (origin, text(header::HOST)) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(CrossSite),
    }
}

impl IntoResponse for CrossSite {
    fn into_response(self) -> Response {
        let why = "a page of another site may not write here: use the server's own address\n";
        (StatusCode::FORBIDDEN, why).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(headers: &[(&'static str, &'static str)]) -> Result<(), CrossSite> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a header")));
        refuse_other_sites(&headers.collect())
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
    fn pages_of_other_sites_may_not() {
        let host = ("host", "127.0.0.1:7944");
        for origin in ["http://evil.example", "http://127.0.0.1:8000", "null", "http://"] {
            assert_eq!(checked(&[host, ("origin", origin)]), Err(CrossSite), "{origin}");
        }
        assert_eq!(checked(&[host, ("sec-fetch-site", "cross-site")]), Err(CrossSite));
        assert_eq!(checked(&[host, ("sec-fetch-site", "same-site")]), Err(CrossSite));
    }
}
