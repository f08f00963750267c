//! The frame around every page.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use crate::assets::address;
use crate::live::live_addresses;
use crate::problem::Problem;

/// For htmx: pages that are in doubt ask again soon; named values only, since
/// expressions would need what the content policy forbids.
const HTMX: &str = r#"{"prefix":"","history":false,"defaultTimeout":8000,"includeIndicatorCSS":false,"extensions":"sse","sse":{"reconnectDelay":500,"reconnectMaxDelay":3000,"connectTimeout":5000}}"#;

/// Which entry of the navigation a page belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Section {
    Overview,
    WalkThrough,
}

/// The entries of the navigation, in order.
const SECTIONS: [(Section, &str, &str); 2] =
    [(Section::Overview, "/", "Overview"), (Section::WalkThrough, "/walk-through", "Walk-through")];

/// A page without its frame.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) section: Section,
    pub(crate) status: StatusCode,
    pub(crate) main: Markup,
    /// Whether it follows what happens.
    pub(crate) is_live: bool,
    /// Where a browser without JavaScript goes on by itself after a second.
    pub(crate) goes_on_to: Option<String>,
}

impl Page {
    /// A page that follows what happens.
    pub(crate) fn live(title: impl Into<String>, section: Section, main: Markup) -> Self {
        let (title, status) = (title.into(), StatusCode::OK);
        Self { title, section, status, main, is_live: true, goes_on_to: None }
    }

    /// A page that stays as it is.
    pub(crate) fn still(title: impl Into<String>, section: Section, main: Markup) -> Self {
        Self { is_live: false, ..Self::live(title, section, main) }
    }

    /// A page that says what is wrong. It follows what happens, if that may end.
    pub(crate) fn problem(section: Section, problem: &Problem) -> Self {
        let main = html! {
            h1 { (problem.heading()) }
            div.notice.bad role="alert" {
                p { (sentence(problem.text())) }
                p { (problem.advice()) }
            }
            p { a href="/" { "All namespaces" } }
        };
        let is_live = matches!(problem, Problem::Away(_));
        Self { status: problem.status(), is_live, ..Self::still(problem.heading(), section, main) }
    }
}

/// With a capital and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let capital = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let rest = letters.as_str();
    let stop = if rest.ends_with(['.', '!', '?']) || text.is_empty() { "" } else { "." };
    format!("{capital}{rest}{stop}")
}

/// A page in its frame; `address` is its own.
pub(crate) fn whole(at: &str, page: &Page) -> Markup {
    let (stream, part) = live_addresses(at);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(page))
            body {
                a.skip href="#main" { "Skip to content" }
                (header(page))
                main #main tabindex="-1" {
                    @if page.is_live {
                        div #live hx-sse:connect=(stream) hx-swap="innerMorph" data-part=(part) {
                            (page.main)
                        }
                    } @else {
                        (page.main)
                    }
                }
            }
        }
    }
}

fn head(page: &Page) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="htmx-config" content=(HTMX);
            title { (page.title) " · Plimsoll" }
            link rel="icon" href=(address("icon.svg")) type="image/svg+xml";
            link rel="stylesheet" href=(address("uplot.css"));
            link rel="stylesheet" href=(address("console.css"));
            @for script in ["htmx.js", "hx-sse.js", "uplot.js", "console.js"] {
                script defer src=(address(script)) {}
            }
            @if let Some(next) = &page.goes_on_to {
                noscript { meta http-equiv="refresh" content=(format!("1;url={next}")); }
            }
        }
    }
}

fn header(page: &Page) -> Markup {
    html! {
        header.top {
            a.brand href="/" {
                svg.mark viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" {
                    circle cx="12" cy="12" r="7.5" fill="none" stroke="currentColor" stroke-width="2" {}
                    path d="M1 12h22" stroke="currentColor" stroke-width="2" {}
                }
                "Plimsoll"
            }
            nav aria-label="Main" {
                ul {
                    @for (section, at, name) in SECTIONS {
                        li {
                            a href=(at) aria-current=[(section == page.section).then_some("page")] {
                                (name)
                            }
                        }
                    }
                }
            }
            @if page.is_live { (contact()) }
        }
    }
}

/// Whether the tab hears of the server; told by the script.
fn contact() -> Markup {
    html! {
        div.contact {
            p #contact role="status" {
                noscript { "Reload to see what has changed" }
            }
            span #contact-age aria-hidden="true" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_name_is_escaped() {
        let main = html! { p { ("<script>alert(1)</script>") } };
        let page = Page::still("\"><img src=x>", Section::Overview, main);
        let text = whole("/?key=\"><script>", &page).into_string();
        assert!(!text.contains("<script>alert") && !text.contains("<img"), "{text}");
    }

    #[test]
    fn no_page_holds_a_script_or_a_style_of_its_own() {
        let page = Page::live("a", Section::Overview, html! {});
        let text = whole("/", &page).into_string();
        for tag in text.split('<').filter(|tag| tag.starts_with("script")) {
            assert!(tag.contains(" src="), "{tag}");
        }
        assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains(" on"));
    }

    #[test]
    fn only_what_may_end_by_itself_is_followed() {
        let away = Page::problem(Section::Overview, &Problem::Away("no leader".into()));
        assert!(away.is_live && away.status == StatusCode::SERVICE_UNAVAILABLE);
        let refused = Page::problem(Section::Overview, &Problem::Refused("not you".into()));
        assert!(!refused.is_live && refused.main.into_string().contains("No permission"));
    }

    #[test]
    fn sentences_begin_and_end() {
        assert_eq!(sentence("no leader"), "No leader.");
        assert_eq!(sentence("Why?"), "Why?");
        assert_eq!(sentence(""), "");
    }
}
