//! One tab.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::connection::Connection;
use crate::eventually;

/// For whatever a page does by itself, on a machine that is busy.
const SOON: Duration = Duration::from_secs(20);

/// What is the same so often, so far apart, is at rest.
const LOOKS: u32 = 5;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Finds what is hard for people who cannot see or use a mouse.
const AXE: &str = include_str!("../../assets/axe.min.js");

/// A screen and what its owner likes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

impl Screen {
    /// A desk's.
    pub const WIDE: Self = Self { width: 1280, height: 900, dark: false };
    /// A telephone's.
    pub const NARROW: Self = Self { width: 390, height: 844, dark: false };

    /// The same at night.
    #[must_use]
    pub fn dark(self) -> Self {
        Self { dark: true, ..self }
    }
}

/// A tab of a browser.
#[derive(Debug)]
pub struct Page {
    connection: Arc<Connection>,
    session: String,
}

impl Page {
    pub(super) async fn new(
        connection: Arc<Connection>,
        session: String,
        screen: Screen,
    ) -> Result<Self> {
        let page = Self { connection, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({})).await?;
        }
        page.resize(screen).await?;
        Ok(page)
    }

    async fn call(&self, method: &str, parameters: Value) -> Result<Value> {
        self.connection.call(Some(&self.session), method, parameters).await
    }

    /// On another screen.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn resize(&self, screen: Screen) -> Result<()> {
        let Screen { width, height, dark } = screen;
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await?;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Whether scripts run.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn allow_scripts(&self, allowed: bool) -> Result<()> {
        let value = json!({"value": !allowed});
        self.call("Emulation.setScriptExecutionDisabled", value).await.map(drop)
    }

    /// Lets nothing through whose address fits, with `*` for anything.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn block(&self, pattern: &str) -> Result<()> {
        self.call("Network.setBlockedURLs", json!({"urls": [pattern]})).await.map(drop)
    }

    /// Goes to an address and waits until all of it is there.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn go(&self, address: &str) -> Result<()> {
        let gone = self.call("Page.navigate", json!({"url": address})).await?;
        if let Some(error) = gone["errorText"].as_str() {
            bail!("{address}: {error}");
        }
        self.until("the page is there", "document.readyState === 'complete'").await;
        Ok(())
    }

    /// The value of an expression; a promise is waited for.
    ///
    /// # Errors
    /// It throws.
    pub async fn eval(&self, expression: &str) -> Result<Value> {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", parameters).await?;
        if !answer["exceptionDetails"].is_null() {
            bail!("{expression}: {}", answer["exceptionDetails"]["exception"]["description"]);
        }
        Ok(answer["result"]["value"].take())
    }

    /// All that can be read on the page.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn text(&self) -> Result<String> {
        let text = self.eval("document.body.innerText").await?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// It did not become true; with what the page shows.
    pub async fn until(&self, what: &str, expression: &str) {
        let is_true = async || {
            // While a page gives way to the next there is nothing to ask.
            let value = self.eval(expression).await.unwrap_or_default();
            (value == Value::Bool(true)).then_some(())
        };
        let waited = tokio::time::timeout(SOON, eventually(SOON * 2, what, is_true)).await;
        if waited.is_err() {
            let text = self.text().await.unwrap_or_default();
            panic!("not within {SOON:?}: {what}: {expression}; the page shows:\n{text}");
        }
    }

    /// Clicks in the middle of the first element that fits, once it has come to rest.
    ///
    /// # Errors
    /// There is none that can be seen.
    pub async fn click(&self, selector: &str) -> Result<()> {
        let place = format!(
            "(() => {{ const it = document.querySelector({}); if (!it) return null; \
             it.scrollIntoView({{block: 'center'}}); const r = it.getBoundingClientRect(); \
             return r.width && r.height ? [r.x + r.width / 2, r.y + r.height / 2] : null; }})()",
            json!(selector)
        );
        let place = self.at_rest(&place).await?;
        let (Some(x), Some(y)) = (place[0].as_f64(), place[1].as_f64()) else {
            bail!("there is no {selector} to click at");
        };
        for kind in ["mousePressed", "mouseReleased"] {
            let parameters =
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", parameters).await?;
        }
        Ok(())
    }

    /// The value of an expression once it has been the same for a moment.
    async fn at_rest(&self, expression: &str) -> Result<Value> {
        let (mut last, mut same) = (self.eval(expression).await?, 0);
        while same < LOOKS {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.eval(expression).await?;
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }

    /// Types into the first element that fits.
    ///
    /// # Errors
    /// There is none.
    pub async fn fill(&self, selector: &str, text: &str) -> Result<()> {
        let focus = format!("document.querySelector({}).select() ?? true", json!(selector));
        self.eval(&focus).await.with_context(|| format!("there is no {selector} to type into"))?;
        self.eval(&format!("document.querySelector({}).focus() ?? true", json!(selector))).await?;
        self.call("Input.insertText", json!({"text": text})).await.map(drop)
    }

    /// Presses a key such as `Tab`, `Enter` or `ArrowRight`.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn press(&self, key: &str) -> Result<()> {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let parameters = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.call("Input.dispatchKeyEvent", parameters).await?;
        }
        Ok(())
    }

    /// Errors that the page has told the console so far, and promises of its own that it
    /// broke.
    pub fn complaints(&self) -> Vec<String> {
        let events = self.connection.take_events(&self.session);
        events.iter().filter_map(complaint).collect()
    }

    /// How much wider than its screen the page is, in pixels.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn overhang(&self) -> Result<i64> {
        let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        Ok(self.eval(wider).await?.as_i64().unwrap_or_default())
    }

    /// What is hard for people who cannot see well or use a mouse: the serious findings
    /// of axe, one line each.
    ///
    /// # Errors
    /// The page cannot be looked at.
    pub async fn barriers(&self) -> Result<Vec<String>> {
        self.eval(&format!("{AXE}; true")).await?;
        let found = self.eval("axe.run(document, {resultTypes: ['violations']})").await?;
        let all = found["violations"].as_array().cloned().unwrap_or_default();
        let is_serious =
            |it: &&Value| matches!(it["impact"].as_str(), Some("serious" | "critical"));
        Ok(all.iter().filter(is_serious).map(barrier).collect())
    }

    /// The page as PNG: as much as the screen shows, or all of it.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn picture(&self, whole: bool) -> Result<Vec<u8>> {
        let mut parameters = json!({"format": "png", "captureBeyondViewport": whole});
        if whole {
            let size =
                "[document.documentElement.clientWidth, document.documentElement.scrollHeight]";
            let size = self.eval(size).await?;
            let clip = json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
            parameters["clip"] = clip;
        }
        let picture = self.call("Page.captureScreenshot", parameters).await?;
        let data = picture["data"].as_str().context("no picture")?;
        Ok(BASE64_STANDARD.decode(data)?)
    }
}

fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
            Some(parameters["args"].to_string())
        }
        "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
            let entry = &parameters["entry"];
            Some(format!("{} {}", entry["text"], entry["url"]))
        }
        _ => None,
    }
}

fn barrier(violation: &Value) -> String {
    let mut line = format!("{} ({}):", violation["id"], violation["help"]);
    for node in violation["nodes"].as_array().into_iter().flatten().take(4) {
        // A string takes whatever is written to it.
        let _ = write!(line, " {} {}", node["html"], node["any"][0]["message"]);
    }
    line
}
