//! Who may give an order by a form, and what browsers are told about pages.
//!
//! The HTTP port asks nobody for a name. So an order is taken only from a page of
//! the console itself: browsers say where a form was sent from, the form repeats a
//! secret that only such a page could read from its cookie, and the name in the
//! address must be one that cannot be made to resolve to this server by others.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use rand::RngExt;

use crate::Options;
use crate::problem::Problem;

/// The cookie that a form repeats.
const FORM_COOKIE: &str = "plimsoll-form";
/// Who gave the last order, so that it need not be typed again.
const WHO_COOKIE: &str = "plimsoll-who";

/// Nothing from other hosts, no script in a page, no page in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
    data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Tells browsers what a page may do.
pub(crate) async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let told = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Browsers that send no referrer send no origin with a form either.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in told {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A secret for a form, and the cookie that brings it if there is none yet.
pub(crate) fn form_token(headers: &HeaderMap) -> (String, Option<HeaderValue>) {
    if let Some(token) = cookie(headers, FORM_COOKIE).filter(|it| is_token(it)) {
        return (token, None);
    }
    let token = format!("{:032x}", rand::rng().random::<u128>());
    let cookie = format!("{FORM_COOKIE}={token}; Path=/; SameSite=Strict; HttpOnly");
    (token, HeaderValue::from_str(&cookie).ok())
}

fn is_token(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Who gave the last order from this browser.
pub(crate) fn last_who(headers: &HeaderMap) -> String {
    let text = cookie(headers, WHO_COOKIE).unwrap_or_default();
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

/// Has the browser remember who gives orders.
pub(crate) fn remember_who(who: &str) -> Option<HeaderValue> {
    let who = crate::text::encoded(who);
    let year = 365 * 24 * 3600;
    let cookie = format!("{WHO_COOKIE}={who}; Path=/; SameSite=Strict; HttpOnly; Max-Age={year}");
    HeaderValue::from_str(&cookie).ok()
}

/// Whether an order may be taken.
///
/// # Errors
/// Why not, in words for whoever gave it.
pub(crate) fn check(options: &Options, headers: &HeaderMap, token: &str) -> Result<(), Problem> {
    options.orders.clone().map_err(Problem::Refused)?;
    check_form(options, headers, token)
}

/// Whether a form was sent from a page of the console.
///
/// # Errors
/// Why not, in words for whoever sent it.
pub(crate) fn check_form(
    options: &Options,
    headers: &HeaderMap,
    token: &str,
) -> Result<(), Problem> {
    let refused = |why: &str| Err(Problem::Refused(why.to_owned()));
    let site = text(headers, "sec-fetch-site");
    if !matches!(site, None | Some("same-origin")) {
        return refused("the form was sent by a page of another site");
    }
    let Some(host) = text(headers, "host") else {
        return refused("the request does not say which host it is for");
    };
    if !is_ours(host, &options.names) {
        return Err(Problem::Refused(format!(
            "orders are not taken under the name {host:?}: use localhost or an address, or add \
             the name to http.names"
        )));
    }
    if text(headers, "origin").is_some_and(|origin| !is_same(origin, host)) {
        return refused("the form was sent by a page of another site");
    }
    match cookie(headers, FORM_COOKIE) {
        Some(expected) if is_token(&expected) && expected == token => Ok(()),
        _ => refused("the form is not of this browser: open it anew, with cookies allowed"),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// Whether the name in the address cannot be another's.
fn is_ours(host: &str, names: &[String]) -> bool {
    let name = without_port(host).to_ascii_lowercase();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || names.iter().any(|ours| ours.eq_ignore_ascii_case(&name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = all.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    fn options() -> Options {
        Options {
            index: "",
            orders: Ok(()),
            names: vec!["console.example".to_owned()],
            shutdown: CancellationToken::new(),
        }
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn verdict(more: &[(&str, &str)]) -> Result<(), Problem> {
        let cookie = format!("a=b; {FORM_COOKIE}={TOKEN}");
        let mut pairs = vec![("host", "127.0.0.1:7944"), ("cookie", cookie.as_str())];
        pairs.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        pairs.extend(more);
        check(&options(), &headers(&pairs), TOKEN)
    }

    #[test]
    fn a_form_of_the_console_is_taken() {
        assert_eq!(verdict(&[]), Ok(()));
        let browser = [("origin", "http://127.0.0.1:7944"), ("sec-fetch-site", "same-origin")];
        assert_eq!(verdict(&browser), Ok(()));
        assert_eq!(
            verdict(&[("host", "Console.example"), ("origin", "https://console.example")]),
            Ok(())
        );
        assert_eq!(verdict(&[("host", "[::1]:7944"), ("origin", "http://[::1]:7944")]), Ok(()));
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        let foreign: [&[(&str, &str)]; 5] = [
            &[("origin", "http://evil.example")],
            &[("origin", "null")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("origin", "http://127.0.0.1:9999")],
        ];
        for pairs in foreign {
            assert!(matches!(verdict(pairs), Err(Problem::Refused(_))), "{pairs:?}");
        }
    }

    #[test]
    fn a_name_that_others_could_have_resolve_to_this_server_is_refused() {
        let rebound = [("host", "evil.example:7944"), ("origin", "http://evil.example:7944")];
        let Err(Problem::Refused(why)) = verdict(&rebound) else { panic!("it was taken") };
        assert!(why.contains("http.names"), "{why}");
    }

    #[test]
    fn a_form_without_its_cookie_is_refused() {
        assert!(verdict(&[("cookie", "x=y")]).is_err());
        let other = format!("{FORM_COOKIE}=ffffffffffffffffffffffffffffffff");
        assert!(verdict(&[("cookie", &other)]).is_err());
        let empty = headers(&[("host", "localhost"), ("cookie", "plimsoll-form=")]);
        assert!(check(&options(), &empty, "").is_err());
    }

    #[test]
    fn a_console_without_orders_says_why() {
        let options = Options { orders: Err("certificates are asked for".into()), ..options() };
        let cookie = format!("{FORM_COOKIE}={TOKEN}");
        let headers = headers(&[("host", "localhost"), ("cookie", &cookie)]);
        let refused = Problem::Refused("certificates are asked for".to_owned());
        assert_eq!(check(&options, &headers, TOKEN), Err(refused));
    }

    #[test]
    fn a_token_lives_as_long_as_its_cookie() {
        let (token, cookie) = form_token(&HeaderMap::new());
        let cookie = cookie.unwrap();
        let back = headers(&[("cookie", cookie.to_str().unwrap().split(';').next().unwrap())]);
        assert_eq!(form_token(&back), (token, None));
    }

    #[test]
    fn who_gave_the_last_order_is_remembered_whatever_the_name() {
        let cookie = remember_who("Ana; \"ü\"").unwrap();
        let back = headers(&[("cookie", cookie.to_str().unwrap().split(';').next().unwrap())]);
        assert_eq!(last_who(&back), "Ana; \"ü\"");
    }
}
