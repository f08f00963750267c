//! What this process logs, read and changed while it runs: `/api/v1/log-filter`.
//!
//! The port asks nobody for a name, so a change is taken only from the machine itself,
//! and from no browser: every one says where a page that sends PUT came from.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use plimsoll_telemetry::logging;

/// Longer than any filter that a person writes, in bytes.
const LONGEST: usize = 4096;

/// The route; the router must be served with the address of whoever asks.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/api/v1/log-filter", get(read).put(change))
        .layer(DefaultBodyLimit::max(LONGEST))
}

async fn read() -> Response {
    match logging::filter() {
        Ok(filter) => (filter + "\n").into_response(),
        Err(error) => told(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

async fn change(
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    filter: String,
) -> Response {
    if let Err(why) = check(from, &headers) {
        return told(StatusCode::FORBIDDEN, why);
    }
    let before = logging::filter().unwrap_or_default();
    match logging::set_filter(filter.trim()) {
        Ok(()) => {
            // Said whatever the new filter lets through.
            tracing::error!(before, now = filter.trim(), "the log filter was changed");
            read().await
        }
        Err(error @ logging::Error::NotOurs) => told(StatusCode::NOT_FOUND, &error.to_string()),
        Err(error) => told(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn check(from: SocketAddr, headers: &HeaderMap) -> Result<(), &'static str> {
    if !from.ip().to_canonical().is_loopback() {
        return Err("the log filter is changed from the machine itself: log in there, or forward \
                    a port");
    }
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err("the log filter is not changed by a browser: use plimsoll log-filter, or curl");
    }
    Ok(())
}

fn told(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn verdict(from: &str, with: Option<&'static str>) -> Result<(), &'static str> {
        let value = HeaderValue::from_static("http://127.0.0.1:7944");
        let headers = with.map(|name| (name.parse().unwrap(), value)).into_iter().collect();
        check(from.parse().unwrap(), &headers)
    }

    #[test]
    fn only_the_machine_itself_and_no_browser_changes_it() {
        assert!(verdict("127.0.0.1:50000", None).is_ok());
        assert!(verdict("[::1]:50000", None).is_ok());
        assert!(verdict("[::ffff:127.0.0.1]:50000", None).is_ok());
        for elsewhere in ["10.0.0.7:50000", "[::ffff:10.0.0.7]:50000", "[2001:db8::1]:50000"] {
            assert!(verdict(elsewhere, None).unwrap_err().contains("machine itself"));
        }
        for header in ["origin", "sec-fetch-site"] {
            assert!(verdict("127.0.0.1:50000", Some(header)).unwrap_err().contains("browser"));
        }
    }
}
