//! The console: what operators look at instead of reading command lines. Server-
//! rendered pages with live updates, served by every server on its HTTP port.
//!
//! It is a client of the server's own gRPC services and holds no truth: what it
//! keeps is the last look at each namespace, so that a page has something to show
//! when a leader is away, and an hour of balance. Pages work without JavaScript;
//! with it they follow what happens.
//!
//! Refuses to decide anything, to know the store or the state machines, and to take
//! an order that was not given on its own pages.

mod app;
mod assets;
mod bars;
mod chart;
mod fleet;
mod guard;
mod layout;
mod live;
mod natural_order;
mod pages;
mod parts;
mod problem;
mod text;
mod walk;
mod wire;

use axum::Router;
use axum::middleware::from_fn;
use tokio_util::sync::CancellationToken;

pub use wire::Wire;

use app::App;

/// How the console behaves here.
#[derive(Clone, Debug)]
pub struct Options {
    /// What "/" says to who does not ask for HTML.
    pub index: &'static str,
    /// Whether orders are taken; if not, why not, as a sentence for operators.
    pub orders: Result<(), String>,
    /// Host names by which browsers may reach it to give orders, beside `localhost`
    /// and addresses: a page of another name that resolves to this server must not.
    pub names: Vec<String>,
    /// Ends what is live.
    pub shutdown: CancellationToken,
}

/// The console's pages. Starts to look at the namespaces, until `options.shutdown`.
/// Must be called within a tokio runtime.
pub fn router(wire: Wire, options: Options) -> Router {
    let app = App::new(wire, options);
    tokio::spawn(fleet::look_on(app.clone()));
    pages::routes().merge(assets::routes()).layer(from_fn(guard::with_headers)).with_state(app)
}
