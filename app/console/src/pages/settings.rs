//! The settings of a namespace, to be read; `smctl namespace settings` changes them.

use maud::{Markup, html};

use crate::app::App;
use crate::fleet::Seen;
use crate::layout::{Page, Section};
use crate::parts;
use crate::text;

use super::namespace::tabs;

pub(super) fn page(app: &App, name: &str) -> Page {
    match app.fleet.seen(name) {
        Some(seen) => Page::live(format!("Settings of {name}"), Section::Overview, draw(&seen)),
        None => {
            let missing = format!("there is no namespace {name:?}");
            Page::problem(Section::Overview, &crate::problem::Problem::Missing(missing))
        }
    }
}

fn draw(seen: &Seen) -> Markup {
    let name = seen.name.as_str();
    let settings = seen.picture.as_ref().map(|picture| &picture.described.settings);
    let mut settings: Vec<_> = settings.into_iter().flatten().collect();
    settings.sort();
    html! {
        (parts::crumbs(&[("Namespaces", "/".to_owned()), (name, text::namespace_path(name))], "Settings"))
        div.title { h1 { "Settings of " (name) } }
        (tabs(name, "Settings"))
        p.lead { "To change one: " code { "smctl --namespace " (name) " namespace settings --set NAME=VALUE" } }
        @if settings.is_empty() {
            p.empty { "They have not been read yet." }
        } @else {
            table.small {
                thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } } }
                tbody {
                    @for (setting, value) in settings {
                        tr { th.key scope="row" { (setting) } td.key { (value) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fleet::Picture;

    #[test]
    fn settings_stand_in_order() {
        let mut picture = Picture::default();
        let settings = [("b", "2"), ("a", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        picture.described.settings = settings.into();
        let seen = Seen { picture: Some(Arc::new(picture)), ..Seen::default() };
        let text = draw(&seen).into_string();
        assert!(text.find(">a<").unwrap() < text.find(">b<").unwrap(), "{text}");
        assert!(draw(&Seen::default()).into_string().contains("not been read yet"));
    }
}
