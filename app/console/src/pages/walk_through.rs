//! How placement works, move by move: a snapshot balanced by any planner, two side by
//! side if wanted. The address holds the state, so that Back, bookmarks and browsers
//! without JavaScript work.

mod draw;
mod shelf;

use axum::Router;
use axum::extract::{Multipart, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::FutureExt;
use plimsoll_placement::policy::Mode;
use plimsoll_placement::snapshot::{Shard, Snapshot};
use plimsoll_wire::v1::{GetLoadsRequest, GetLoadsResponse};
use serde::Deserialize;

use crate::app::App;
use crate::guard;
use crate::layout::{Page, Section};
use crate::live::{Asked, answer};
use crate::problem::Problem;
use crate::text;

use draw::View;

pub(crate) use shelf::Shelf;

/// The demonstration that comes first.
const SEED: &str = "seed";

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/walk-through", get(walk_through).post(upload))
        .route("/walk-through/live", get(take))
}

/// What the address says.
#[derive(Clone, Debug, Deserialize)]
struct Where {
    #[serde(default = "seed")]
    source: String,
    /// A mode.
    #[serde(default = "greedy")]
    left: String,
    /// A mode, or empty: one alone.
    #[serde(default)]
    right: String,
    #[serde(default)]
    step: usize,
    /// It goes on by itself.
    #[serde(default)]
    play: String,
}

fn seed() -> String {
    SEED.to_owned()
}

fn greedy() -> String {
    Mode::Greedy.as_str().to_owned()
}

impl Where {
    /// The same at another step.
    fn at(&self, step: usize, play: bool) -> String {
        let Self { source, left, right, .. } = self;
        let [source, left, right] = [source, left, right].map(|it| text::encoded(it));
        let play = if play { "&play=1" } else { "" };
        format!("/walk-through?source={source}&left={left}&right={right}&step={step}{play}")
    }

    fn modes(&self) -> Result<Vec<Mode>, Problem> {
        let names = [self.left.as_str(), self.right.as_str()];
        let named = names.into_iter().filter(|name| !name.is_empty());
        let parse = |name: &str| {
            let unknown = || Problem::Invalid(format!("there is no mode {name:?}"));
            Mode::parse(name).ok_or_else(unknown)
        };
        let modes: Vec<_> = named.map(parse).collect::<Result<_, _>>()?;
        Ok(if modes.is_empty() { vec![Mode::Greedy] } else { modes })
    }
}

async fn walk_through(
    State(app): State<App>,
    Query(state): Query<Where>,
    headers: HeaderMap,
    asked: Asked,
) -> Response {
    let (token, cookie) = guard::form_token(&headers);
    let draw = move |app: App| {
        let (state, token) = (state.clone(), token.clone());
        async move {
            match page(&app, state, &token).await {
                Ok(page) => page,
                Err(problem) => Page::problem(Section::WalkThrough, &problem),
            }
        }
        .boxed()
    };
    let mut response = answer(app, asked, draw).await;
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

async fn page(app: &App, mut state: Where, token: &str) -> Result<Page, Problem> {
    let modes = state.modes()?;
    let (title, snapshot) = app.shelf.snapshot(&state.source)?;
    let mut walks = Vec::new();
    for mode in modes {
        walks.push(app.shelf.walk(&state.source, &snapshot, mode).await?);
    }
    let steps = walks.iter().map(|walk| walk.steps()).max().unwrap_or(1);
    state.step = state.step.min(steps - 1);
    // Where the list cannot be had there is nothing to take a snapshot of.
    let listed = app.wire.list().await.unwrap_or_default();
    let namespaces = listed.into_iter().map(|it| it.name).collect();
    let view = View { state: &state, title: &title, walks: &walks, steps, token, namespaces };
    let page = Page::still("Walk-through", Section::WalkThrough, view.draw());
    Ok(Page { goes_on_to: view.next_by_itself(), ..page })
}

#[derive(Debug, Deserialize)]
struct Taken {
    #[serde(default)]
    namespace: String,
}

/// A snapshot of a namespace as it is now.
async fn take(State(app): State<App>, Query(Taken { namespace }): Query<Taken>) -> Response {
    let request = GetLoadsRequest {
        namespace: namespace.clone(),
        all_shards: true,
        ..GetLoadsRequest::default()
    };
    let taken = async {
        let snapshot = of_namespace(app.wire.loads(request).await?);
        let title = format!("{namespace} at {} UTC", text::clock(text::now_ms()));
        app.shelf.put(title, snapshot)
    };
    go_to(taken.await)
}

fn of_namespace(loads: GetLoadsResponse) -> Snapshot {
    let mean = loads.balance.map_or(0.0, |balance| balance.mean);
    let count = loads.shards.len().max(1) as f64;
    let usual = mean * loads.executors.len() as f64 / count;
    let shard = |shard: plimsoll_wire::v1::OwnedLoad| Shard {
        key: shard.shard_key,
        // Nobody has measured it: the planner takes it for the usual one, too.
        load: shard.smoothed_load.unwrap_or(usual),
        host: shard.executor_id,
    };
    let mut hosts: Vec<_> = loads.executors.into_iter().map(|it| it.executor_id).collect();
    hosts.sort_by(|a, b| crate::natural_order::compare(a, b));
    Snapshot { shards: loads.shards.into_iter().map(shard).collect(), hosts }
}

/// A snapshot from a file.
async fn upload(State(app): State<App>, headers: HeaderMap, mut form: Multipart) -> Response {
    let taken = async {
        let (mut token, mut name, mut csv) = (String::new(), String::new(), String::new());
        while let Some(field) = form.next_field().await.map_err(unreadable)? {
            match field.name().unwrap_or_default() {
                "token" => token = field.text().await.map_err(unreadable)?,
                "file" => {
                    name = field.file_name().unwrap_or_default().to_owned();
                    csv = field.text().await.map_err(unreadable)?;
                }
                _ => {}
            }
        }
        guard::check_form(&app.options, &headers, &token)?;
        let snapshot = Snapshot::parse(&csv).map_err(|it| Problem::Invalid(it.to_string()))?;
        app.shelf.put(if name.is_empty() { "a file".to_owned() } else { name }, snapshot)
    };
    go_to(taken.await)
}

/// By value, since it is handed to `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn unreadable(error: axum::extract::multipart::MultipartError) -> Problem {
    Problem::Invalid(format!("the file could not be read: {}", error.body_text()))
}

fn go_to(taken: Result<String, Problem>) -> Response {
    match taken {
        Ok(source) => {
            let source = text::encoded(&source);
            Redirect::to(&format!("/walk-through?source={source}&left=adaptive")).into_response()
        }
        Err(problem) => {
            let page = Page::problem(Section::WalkThrough, &problem);
            let page = Page { is_live: false, ..page };
            let html = crate::layout::whole("/walk-through", &page).into_string();
            (page.status, axum::response::Html(html)).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_holds_the_state() {
        let (source, left, right) = ("a&b".to_owned(), "greedy".to_owned(), "ring".to_owned());
        let state = Where { source, left, right, step: 3, play: String::new() };
        let next = "/walk-through?source=a%26b&left=greedy&right=ring&step=4";
        assert_eq!(state.at(4, false), next);
        assert_eq!(state.at(4, true), format!("{next}&play=1"));
        assert_eq!(state.modes().unwrap(), [Mode::Greedy, Mode::Ring]);
        let odd = Where { left: "odd".to_owned(), ..state };
        assert!(matches!(odd.modes(), Err(Problem::Invalid(_))));
    }

    #[test]
    fn a_shard_that_nobody_measured_counts_as_the_usual_one() {
        let owned = |key: &str, smoothed_load| plimsoll_wire::v1::OwnedLoad {
            shard_key: key.into(),
            executor_id: "host-2".into(),
            smoothed_load,
            ..Default::default()
        };
        let executor = |id: &str| plimsoll_wire::v1::ExecutorLoad {
            executor_id: id.into(),
            ..Default::default()
        };
        let loads = GetLoadsResponse {
            balance: Some(plimsoll_wire::v1::Balance { mean: 4.0, ..Default::default() }),
            executors: vec![executor("host-10"), executor("host-2")],
            shards: vec![owned("a", Some(7.0)), owned("b", None)],
            ..Default::default()
        };
        let snapshot = of_namespace(loads);
        assert_eq!(snapshot.hosts, ["host-2", "host-10"]);
        assert_eq!([snapshot.shards[0].load, snapshot.shards[1].load], [7.0, 4.0]);
    }
}
