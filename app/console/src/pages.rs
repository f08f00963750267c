//! The pages, one module each: what is asked for, what it needs, and how it is drawn.
//! What draws is a pure function of what was seen.

mod events;
mod hosts;
mod namespace;
mod order;
mod overview;
mod plan;
mod settings;
mod shard;
mod walk_through;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::FutureExt;
use serde::Deserialize;

use crate::app::App;
use crate::fleet::Seen;
use crate::layout::{Page, Section};
use crate::live::{Asked, answer};
use crate::problem::Problem;
use crate::text;

pub(crate) use walk_through::Shelf;

/// All of them.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(root))
        .route("/namespaces/{name}", get(one_namespace))
        .route("/namespaces/{name}/plan", get(one_plan))
        .route("/namespaces/{name}/events", get(some_events))
        .route("/namespaces/{name}/settings", get(all_settings))
        .route("/namespaces/{name}/order", get(order::form).post(order::give))
        .route("/namespaces/{name}/shards", get(find_shard))
        .route("/namespaces/{name}/shards/{key}", get(one_shard))
        .merge(walk_through::routes())
        .fallback(nothing)
}

/// Scripts that ask for "/" get text, as they always did.
async fn root(State(app): State<App>, headers: HeaderMap, asked: Asked) -> Response {
    if !wants_html(&headers) {
        return app.options.index.into_response();
    }
    answer(app, asked, |app| async move { overview::page(&app) }.boxed()).await
}

async fn one_namespace(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<namespace::Query>,
    asked: Asked,
) -> Response {
    let draw = move |app: App| {
        let (name, query) = (name.clone(), query.clone());
        async move { namespace::page(&app, &name, &query).await }.boxed()
    };
    answer(app, asked, draw).await
}

async fn one_plan(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<plan::Query>,
    asked: Asked,
) -> Response {
    let draw = move |app: App| {
        let (name, query) = (name.clone(), query.clone());
        async move { plan::page(&app, &name, &query).await }.boxed()
    };
    answer(app, asked, draw).await
}

async fn some_events(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<events::Query>,
    asked: Asked,
) -> Response {
    let draw = move |app: App| {
        let (name, query) = (name.clone(), query.clone());
        async move { events::page(&app, &name, &query).await }.boxed()
    };
    answer(app, asked, draw).await
}

async fn all_settings(State(app): State<App>, Path(name): Path<String>, asked: Asked) -> Response {
    let draw = move |app: App| {
        let name = name.clone();
        async move { settings::page(&app, &name) }.boxed()
    };
    answer(app, asked, draw).await
}

async fn one_shard(
    State(app): State<App>,
    Path((name, key)): Path<(String, String)>,
    Query(query): Query<shard::Query>,
    asked: Asked,
) -> Response {
    shard_page(app, name, key, query, asked).await
}

async fn shard_page(
    app: App,
    name: String,
    key: String,
    query: shard::Query,
    asked: Asked,
) -> Response {
    let draw = move |app: App| {
        let (name, key, query) = (name.clone(), key.clone(), query.clone());
        async move { shard::page(&app, &name, &key, &query).await }.boxed()
    };
    answer(app, asked, draw).await
}

#[derive(Debug, Deserialize)]
struct Find {
    #[serde(default)]
    key: String,
}

/// From the field on the page of a namespace. Keys that no path can hold are shown here.
async fn find_shard(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(Find { key }): Query<Find>,
    asked: Asked,
) -> Response {
    match key.as_str() {
        "" => Redirect::to(&text::namespace_path(&name)).into_response(),
        "." | ".." => shard_page(app, name, key, shard::Query::default(), asked).await,
        key => Redirect::to(&text::shard_path(&name, key)).into_response(),
    }
}

fn wants_html(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepts.is_some_and(|it| it.contains("text/html"))
}

async fn nothing(State(app): State<App>, headers: HeaderMap, asked: Asked) -> Response {
    if !wants_html(&headers) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let path = asked.address.clone();
    let draw = move |_| {
        let problem = Problem::Missing(format!("there is no page {path}"));
        async move { Page::problem(Section::Overview, &problem) }.boxed()
    };
    answer(app, asked, draw).await
}

/// What was seen of a namespace. Where nothing was yet, it is looked at now.
async fn seen(app: &App, name: &str) -> Result<Seen, Problem> {
    let is_known =
        app.fleet.seen(name).is_some_and(|it| it.picture.is_some() || it.trouble.is_some());
    if !is_known {
        let looked = crate::fleet::look_at(app, name).await;
        if let (Err(problem), None) = (looked, app.fleet.seen(name)) {
            return Err(problem);
        }
    }
    let missing = || Problem::Missing(format!("there is no namespace {name:?}"));
    app.fleet.seen(name).ok_or_else(missing)
}
