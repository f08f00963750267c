//! One page in three ways: whole, as its live part alone, or as a stream of that part
//! whenever the fleet was looked at. All three are drawn by the same function, so that
//! a page without JavaScript shows what one with it does.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures::Stream;
use futures::future::BoxFuture;
use maud::Markup;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::app::App;
use crate::layout::{self, Page};

/// A tab that hears nothing for longer takes the server for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The parameter that asks for a part or for a stream.
const LIVE: &str = "live";

/// What is asked for, and where.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Path and query, without the parameter that says how.
    pub(crate) address: String,
    how: How,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    Whole,
    Part,
    Stream,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.path(), parts.uri.query().unwrap_or_default()))
    }
}

impl Asked {
    fn of(path: &str, query: &str) -> Self {
        let is_how = |pair: &&str| pair.split('=').next() == Some(LIVE);
        let how = match query.split('&').find(is_how) {
            Some("live=stream") => How::Stream,
            Some("live=part") => How::Part,
            Some(_) | None => How::Whole,
        };
        let rest: Vec<_> =
            query.split('&').filter(|pair| !pair.is_empty() && !is_how(pair)).collect();
        let address = match rest.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", rest.join("&")),
        };
        Self { address, how }
    }
}

/// The address of the same page as a stream, and as a part.
pub(crate) fn live_addresses(address: &str) -> (String, String) {
    let mark = if address.contains('?') { '&' } else { '?' };
    (format!("{address}{mark}{LIVE}=stream"), format!("{address}{mark}{LIVE}=part"))
}

/// Draws a page as it is asked for.
pub(crate) async fn answer<F>(app: App, asked: Asked, draw: F) -> Response
where
    F: Fn(App) -> BoxFuture<'static, Page> + Send + Sync + 'static,
{
    match asked.how {
        How::Stream => stream(app, draw),
        How::Part => {
            let page = draw(app).await;
            (page.status, uncached(), Html(page.main.into_string())).into_response()
        }
        How::Whole => {
            let page = draw(app).await;
            let status = page.status;
            (status, uncached(), Html(layout::whole(&asked.address, &page).into_string()))
                .into_response()
        }
    }
}

fn uncached() -> [(header::HeaderName, &'static str); 1] {
    [(header::CACHE_CONTROL, "no-store")]
}

/// One tab that follows a page.
struct Following<F> {
    app: App,
    draw: F,
    looks: watch::Receiver<u64>,
    has_begun: bool,
    _place: OwnedSemaphorePermit,
}

fn stream<F>(app: App, draw: F) -> Response
where
    F: Fn(App) -> BoxFuture<'static, Page> + Send + Sync + 'static,
{
    let Ok(place) = app.streams.clone().try_acquire_owned() else {
        // The tab asks for parts instead; nothing is swapped for no content.
        return StatusCode::NO_CONTENT.into_response();
    };
    let looks = app.fleet.looks();
    let following = Following { app, draw, looks, has_begun: false, _place: place };
    let stream = Sse::new(events(following));
    stream.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// The part at once, since the tab may come back after long, then after every look.
fn events<F>(following: Following<F>) -> impl Stream<Item = Result<Event, Infallible>>
where
    F: Fn(App) -> BoxFuture<'static, Page> + Send + Sync + 'static,
{
    futures::stream::unfold(following, async |mut following| {
        let app = following.app.clone();
        let _watching = app.fleet.watch();
        if following.has_begun {
            tokio::select! {
                looked = following.looks.changed() => looked.ok()?,
                () = app.options.shutdown.cancelled() => return None,
            }
        }
        following.has_begun = true;
        following.looks.mark_unchanged();
        let page = (following.draw)(app.clone()).await;
        Some((Ok(event(page.main)), following))
    })
}

/// A carriage return ends a line of a stream; names may have one in them.
fn event(part: Markup) -> Event {
    Event::default().data(part.into_string().replace('\r', "&#13;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_page_is_asked_for_is_no_part_of_its_address() {
        let asked = Asked::of("/namespaces/a", "sort=load&live=stream");
        assert_eq!((asked.address.as_str(), asked.how), ("/namespaces/a?sort=load", How::Stream));
        let asked = Asked::of("/", "live=part");
        assert_eq!((asked.address.as_str(), asked.how), ("/", How::Part));
        let asked = Asked::of("/", "lively=stream");
        assert_eq!((asked.address.as_str(), asked.how), ("/?lively=stream", How::Whole));
        assert_eq!(live_addresses("/?a=1").0, "/?a=1&live=stream");
        assert_eq!(live_addresses("/").1, "/?live=part");
    }
}
