//! Style, scripts and the icon: in the binary, addressed by what is in them, so that
//! a browser may keep them for ever.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use xxhash_rust::xxh3::xxh3_64;

use crate::app::App;

/// One file.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Where each came from, and under which licence, stands in `assets/vendor/README.md`.
static ASSETS: [Asset; 7] = [
    Asset {
        name: "console.css",
        media_type: STYLE,
        content: include_bytes!("../assets/console.css"),
    },
    Asset {
        name: "console.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/console.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_bytes!("../assets/icon.svg"),
    },
    Asset {
        name: "htmx.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/vendor/htmx.min.js"),
    },
    Asset {
        name: "hx-sse.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/vendor/hx-sse.min.js"),
    },
    Asset {
        name: "uplot.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/vendor/uPlot.iife.min.js"),
    },
    Asset {
        name: "uplot.css",
        media_type: STYLE,
        content: include_bytes!("../assets/vendor/uPlot.min.css"),
    },
];

/// The tag of every file, in the order of [`ASSETS`].
static TAGS: LazyLock<[String; 7]> =
    LazyLock::new(|| ASSETS.each_ref().map(|asset| format!("{:016x}", xxh3_64(asset.content))));

/// Where a page finds a file.
///
/// # Panics
/// There is no such file: every page would be broken, and every test of one.
pub(crate) fn address(name: &str) -> String {
    let place = ASSETS.iter().position(|asset| asset.name == name);
    let place = place.unwrap_or_else(|| panic!("{name} is no asset of the console"));
    format!("/assets/{}/{name}", TAGS[place])
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/assets/{tag}/{name}", get(asset))
}

async fn asset(Path((_, name)): Path<(String, String)>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let told = [
                (header::CONTENT_TYPE, asset.media_type),
                (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
            ];
            (told, asset.content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_vendored_is_what_was_published() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/vendor");
        let list = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
        let mut checked = 0;
        for line in list.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let content = std::fs::read(folder.join(name)).unwrap();
            let digest = ring::digest::digest(&ring::digest::SHA256, &content);
            let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, sum, "{name}");
            checked += 1;
        }
        let files = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(checked + 2, files, "all but the list and README.md");
    }

    #[test]
    fn an_address_changes_with_the_content() {
        assert_ne!(TAGS[0], TAGS[1]);
        assert_eq!(address("console.css"), format!("/assets/{}/console.css", TAGS[0]));
    }
}
