//! Orders: a page that says what one would do and asks for a name and a reason, and
//! the answer to its form. Given through the services, as `smctl` gives them.

use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use plimsoll_wire::sharddistributor::DrainedHost;
use plimsoll_wire::v1;
use serde::Deserialize;

use crate::app::App;
use crate::fleet::{Seen, look_at};
use crate::guard;
use crate::layout::{self, Page, Section, sentence};
use crate::parts;
use crate::problem::Problem;
use crate::text;
use crate::wire::Orderer;

use super::seen;

/// A name and a reason are stored and shown: no more than the server takes.
const LONGEST: usize = 1024;

/// Something that an operator may want.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Order {
    DrainHost(String),
    UndrainHost(String),
    DrainShard(String),
    UndrainShard(String),
    Freeze,
    Resume,
}

/// What the address of the form says.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default, rename = "do")]
    what: String,
    #[serde(default)]
    target: String,
}

/// The form, filled in.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Given {
    #[serde(default, rename = "do")]
    what: String,
    #[serde(default)]
    target: String,
    #[serde(default)]
    who: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    token: String,
}

/// The page that asks for an order.
pub(super) fn link(namespace: &str, order: &Order) -> String {
    let path = format!("{}/order?do={}", text::namespace_path(namespace), order.name());
    match order.target() {
        "" => path,
        target => format!("{path}&target={}", text::encoded(target)),
    }
}

/// That an order was given, from the address of the page that follows it.
pub(super) fn notice(done: &str, target: &str) -> Markup {
    html! {
        @if let Some(order) = Order::parse(done, target) {
            div.notice.good role="status" { p { (order.done()) } }
        }
    }
}

impl Order {
    fn parse(what: &str, target: &str) -> Option<Self> {
        let target = target.to_owned();
        match what {
            "freeze" => Some(Self::Freeze),
            "resume" => Some(Self::Resume),
            _ if target.is_empty() => None,
            "drain-host" => Some(Self::DrainHost(target)),
            "undrain-host" => Some(Self::UndrainHost(target)),
            "drain-shard" => Some(Self::DrainShard(target)),
            "undrain-shard" => Some(Self::UndrainShard(target)),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::DrainHost(_) => "drain-host",
            Self::UndrainHost(_) => "undrain-host",
            Self::DrainShard(_) => "drain-shard",
            Self::UndrainShard(_) => "undrain-shard",
            Self::Freeze => "freeze",
            Self::Resume => "resume",
        }
    }

    fn target(&self) -> &str {
        match self {
            Self::DrainHost(target)
            | Self::UndrainHost(target)
            | Self::DrainShard(target)
            | Self::UndrainShard(target) => target,
            Self::Freeze | Self::Resume => "",
        }
    }

    /// What its button says.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::DrainHost(_) | Self::DrainShard(_) => "Drain",
            Self::UndrainHost(_) | Self::UndrainShard(_) => "Undrain",
            Self::Freeze => "Freeze",
            Self::Resume => "Resume",
        }
    }

    fn title(&self) -> String {
        let verb = self.verb();
        match self {
            Self::DrainHost(target) | Self::UndrainHost(target) => format!("{verb} host {target}"),
            Self::DrainShard(target) | Self::UndrainShard(target) => {
                format!("{verb} shard {target}")
            }
            Self::Freeze | Self::Resume => format!("{verb} balance"),
        }
    }

    /// What follows from it.
    fn meaning(&self) -> &'static str {
        match self {
            Self::DrainHost(_) => {
                "Every shard of the host moves to others at once, and it is given none until it \
                 is undrained."
            }
            Self::UndrainHost(_) => "The host may carry shards again; it is filled by balance.",
            Self::DrainShard(_) => {
                "The shard stops and runs nowhere until it is undrained. Whoever asks for it is \
                 told that it is drained."
            }
            Self::UndrainShard(_) => {
                "The shard is placed again at once; an ephemeral one, when it is next asked for."
            }
            Self::Freeze => {
                "Nothing moves for balance until it is resumed. Shards that are lost or drained \
                 still move."
            }
            Self::Resume => "Shards move for balance again, from the next cycle on.",
        }
    }

    /// What becomes of the name and the reason.
    fn remembered(&self) -> &'static str {
        match self {
            Self::DrainHost(_) | Self::DrainShard(_) => {
                "Both are kept with the drain and stand in the history."
            }
            Self::UndrainHost(_) | Self::UndrainShard(_) | Self::Freeze | Self::Resume => {
                "Both stand in the history."
            }
        }
    }

    fn done(&self) -> String {
        match self {
            Self::DrainHost(host) => format!("{host} is drained: its shards are leaving it."),
            Self::UndrainHost(host) => format!("{host} may carry shards again."),
            Self::DrainShard(key) => format!("Shard {key} is drained: it runs nowhere."),
            Self::UndrainShard(key) => format!("Shard {key} may run again."),
            Self::Freeze => "Balance is frozen.".to_owned(),
            Self::Resume => "Balance goes on.".to_owned(),
        }
    }

    /// Where to go when it is given.
    fn back(&self, namespace: &str) -> String {
        match self {
            Self::DrainShard(key) | Self::UndrainShard(key) => text::shard_path(namespace, key),
            _ => text::namespace_path(namespace),
        }
    }

    fn back_with_notice(&self, namespace: &str) -> String {
        let back = self.back(namespace);
        let mark = if back.contains('?') { '&' } else { '?' };
        let target = text::encoded(self.target());
        format!("{back}{mark}done={}&target={target}", self.name())
    }

    async fn give(&self, app: &App, namespace: &str, by: Orderer) -> Result<(), Problem> {
        let name = namespace.to_owned();
        match self {
            Self::DrainHost(host) => {
                let host = DrainedHost {
                    hostname: host.clone(),
                    drained_at: None,
                    drained_by: by.who,
                    reason: by.why,
                };
                app.wire.drain_host(namespace, host).await
            }
            Self::UndrainHost(host) => app.wire.undrain_host(namespace, host, &by).await,
            Self::DrainShard(key) => {
                app.wire
                    .drain_shard(v1::DrainShardsRequest {
                        namespace: name,
                        shard_keys: vec![key.clone()],
                        reason: by.why,
                        drained_by: by.who,
                    })
                    .await
            }
            Self::UndrainShard(key) => {
                let shard_keys = vec![key.clone()];
                let request = v1::UndrainShardsRequest { namespace: name, shard_keys };
                app.wire.undrain_shard(request, &by).await
            }
            Self::Freeze => {
                app.wire.freeze(v1::FreezeBalanceRequest { namespace: name }, &by).await
            }
            Self::Resume => {
                app.wire.resume(v1::ResumeBalanceRequest { namespace: name }, &by).await
            }
        }
    }
}

/// The form, as it was filled in before.
struct Sheet<'a> {
    namespace: &'a str,
    order: &'a Order,
    seen: Option<&'a Seen>,
    who: &'a str,
    why: &'a str,
    token: &'a str,
    problem: Option<&'a Problem>,
}

/// `GET`: what it would do, and the form.
pub(super) async fn form(
    State(app): State<App>,
    Path(namespace): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    let asked = async {
        app.options.orders.clone().map_err(Problem::Refused)?;
        let order = Order::parse(&wanted.what, &wanted.target)
            .ok_or_else(|| Problem::Missing("there is no such order".to_owned()))?;
        Ok((order, seen(&app, &namespace).await?))
    };
    let (order, seen) = match asked.await {
        Ok(asked) => asked,
        Err(problem) => return refusal(&problem),
    };
    let (token, cookie) = guard::form_token(&headers);
    let who = guard::last_who(&headers);
    let sheet = Sheet {
        namespace: &namespace,
        order: &order,
        seen: Some(&seen),
        who: &who,
        why: "",
        token: &token,
        problem: None,
    };
    let mut response = shown(StatusCode::OK, &sheet);
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// `POST`: gives the order.
pub(super) async fn give(
    State(app): State<App>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
    Form(given): Form<Given>,
) -> Response {
    if let Err(problem) = guard::check(&app.options, &headers, &given.token) {
        tracing::warn!(%namespace, order = given.what, why = problem.text(), "an order was refused");
        return refusal(&problem);
    }
    let Some(order) = Order::parse(&given.what, &given.target) else {
        return refusal(&Problem::Missing("there is no such order".to_owned()));
    };
    let (who, why) = (given.who.trim(), given.why.trim());
    let done = match check_words(who, why) {
        Ok(()) => {
            let by = Orderer { who: who.to_owned(), why: why.to_owned() };
            order.give(&app, &namespace, by).await
        }
        Err(problem) => Err(problem),
    };
    if let Err(problem) = done {
        return failed(&app, &namespace, &order, &given, &problem);
    }
    let (name, target) = (order.name(), order.target());
    tracing::info!(%namespace, order = name, target, who, why, "an order was given by the console");
    app.briefs.forget(&namespace);
    // The page that follows shows what has changed, if the leader answers.
    let _ = look_at(&app, &namespace).await;
    let mut response = Redirect::to(&order.back_with_notice(&namespace)).into_response();
    if let Some(cookie) = guard::remember_who(who) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn check_words(who: &str, why: &str) -> Result<(), Problem> {
    let invalid = |text: &str| Err(Problem::Invalid(text.to_owned()));
    if who.is_empty() || why.is_empty() {
        return invalid("say who you are and why: others will want to know");
    }
    if who.len() > LONGEST || why.len() > LONGEST {
        return invalid("name and reason may have 1024 bytes each");
    }
    Ok(())
}

fn failed(app: &App, namespace: &str, order: &Order, given: &Given, problem: &Problem) -> Response {
    let seen = app.fleet.seen(namespace);
    let sheet = Sheet {
        namespace,
        order,
        seen: seen.as_ref(),
        who: &given.who,
        why: &given.why,
        token: &given.token,
        problem: Some(problem),
    };
    match problem {
        Problem::Refused(_) => refusal(problem),
        _ => shown(problem.status(), &sheet),
    }
}

fn refusal(problem: &Problem) -> Response {
    let page = Page::problem(Section::Overview, problem);
    let page = Page { is_live: false, ..page };
    (page.status, Html(layout::whole("/", &page).into_string())).into_response()
}

fn shown(status: StatusCode, sheet: &Sheet<'_>) -> Response {
    let page = Page::still(sheet.order.title(), Section::Overview, sheet.draw());
    let uncached = [(header::CACHE_CONTROL, "no-store")];
    (status, uncached, Html(layout::whole("/", &page).into_string())).into_response()
}

impl Sheet<'_> {
    fn draw(&self) -> Markup {
        let Self { namespace, order, .. } = self;
        let title = order.title();
        let way = [("Namespaces", "/".to_owned()), (namespace, text::namespace_path(namespace))];
        html! {
            (parts::crumbs(&way, &title))
            h1 { (title) }
            @if let Some(problem) = self.problem {
                div.notice.bad role="alert" {
                    p { strong { (problem.heading()) ". " } (sentence(problem.text())) }
                    @if !matches!(problem, Problem::Invalid(_)) { p { (problem.advice()) } }
                }
            }
            p.lead { (order.meaning()) }
            (self.facts())
            (self.form())
        }
    }

    fn form(&self) -> Markup {
        let path = format!("{}/order", text::namespace_path(self.namespace));
        let order = self.order;
        html! {
            form.order method="post" action=(path) {
                input type="hidden" name="token" value=(self.token);
                input type="hidden" name="do" value=(order.name());
                input type="hidden" name="target" value=(order.target());
                p {
                    label for="who" { "Who you are" }
                    input #who name="who" value=(self.who) required maxlength="200" autocomplete="username" spellcheck="false";
                }
                p {
                    label for="why" { "Why" }
                    input #why name="why" value=(self.why) required maxlength="500" autocomplete="off" autofocus[!self.who.is_empty()];
                }
                p.muted { (order.remembered()) }
                p.buttons {
                    button.primary type="submit" { (order.title()) }
                    a href=(order.back(self.namespace)) { "Cancel" }
                }
            }
        }
    }

    /// What stands there now.
    fn facts(&self) -> Markup {
        let picture = self.seen.and_then(|seen| seen.picture.as_ref());
        let Some(picture) = picture else { return html! {} };
        let lines: Vec<String> = match self.order {
            Order::DrainHost(host) | Order::UndrainHost(host) => {
                let here = picture.loads.executors.iter().filter(|it| it.host == *host);
                here.map(|it| {
                    let (shards, load) = (text::counted(it.shards, "shard"), text::load(it.load));
                    format!("{} runs {shards} with a load of {load}.", it.executor_id)
                })
                .collect()
            }
            Order::Freeze => {
                let balance = picture.loads.balance.unwrap_or_default();
                vec![format!("Max/mean is {:.3} now.", balance.max_over_mean)]
            }
            Order::DrainShard(_) | Order::UndrainShard(_) | Order::Resume => Vec::new(),
        };
        html! { @if !lines.is_empty() { ul.notes { @for line in lines { li { (line) } } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet<'a>(order: &'a Order, problem: Option<&'a Problem>) -> Sheet<'a> {
        let (namespace, who, why, token) = ("or/ders", "ana", "<i>", "token");
        Sheet { namespace, order, seen: None, who, why, token, problem }
    }

    #[test]
    fn an_order_is_found_again_in_its_address() {
        let order = Order::DrainHost("a&b".to_owned());
        assert_eq!(link("n", &order), "/namespaces/n/order?do=drain-host&target=a%26b");
        assert_eq!(Order::parse("drain-host", "a&b"), Some(order));
        assert_eq!(Order::parse("drain-host", ""), None);
        assert_eq!(Order::parse("delete", "a"), None);
        assert_eq!(link("n", &Order::Freeze), "/namespaces/n/order?do=freeze");
    }

    #[test]
    fn a_form_says_what_follows_and_keeps_what_was_typed() {
        let order = Order::DrainHost("host-<3>".to_owned());
        let problem = Problem::Away("no leader".to_owned());
        let text = sheet(&order, Some(&problem)).draw().into_string();
        assert!(text.contains("Every shard of the host moves") && text.contains("No leader."));
        assert!(text.contains(r#"value="&lt;i&gt;""#) && text.contains("host-&lt;3&gt;"), "{text}");
        assert!(text.contains(r#"action="/namespaces/or%2Fders/order""#), "{text}");
    }

    #[test]
    fn an_order_wants_a_name_and_a_reason() {
        assert!(check_words("ana", "slow disk").is_ok());
        assert!(check_words("", "slow disk").is_err() && check_words("ana", "").is_err());
        assert!(check_words("ana", &"x".repeat(2000)).is_err());
    }

    #[test]
    fn what_follows_an_order_says_so() {
        let order = Order::DrainShard("..".to_owned());
        assert_eq!(
            order.back_with_notice("n"),
            "/namespaces/n/shards?key=..&done=drain-shard&target=.."
        );
        assert!(notice("drain-shard", "<7>").into_string().contains("Shard &lt;7&gt; is drained"));
        assert_eq!(notice("nonsense", "x").into_string(), "");
    }
}
