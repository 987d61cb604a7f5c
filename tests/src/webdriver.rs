//! A small W3C WebDriver client for WebKitWebDriver, which drives the real window without anything between.
//!
//! <https://www.w3.org/TR/webdriver2/>; only what the tests use.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use crate::patience::until;

/// WebDriver's key of an element reference.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a character.
pub mod keys {
    /// Escape.
    pub const ESCAPE: &str = "\u{e00c}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
    /// Tab.
    pub const TAB: &str = "\u{e004}";
    /// Space.
    pub const SPACE: &str = "\u{e00d}";
    /// Home.
    pub const HOME: &str = "\u{e011}";
    /// Control; held until the end of the keys sent.
    pub const CONTROL: &str = "\u{e009}";
    /// Shift; held until the end of the keys sent.
    pub const SHIFT: &str = "\u{e008}";
    /// Arrow left.
    pub const LEFT: &str = "\u{e012}";
    /// Arrow up.
    pub const UP: &str = "\u{e013}";
    /// Arrow right.
    pub const RIGHT: &str = "\u{e014}";
    /// Arrow down.
    pub const DOWN: &str = "\u{e015}";
}

/// A session: one running window.
pub struct Session {
    http: reqwest::Client,
    address: String,
}

/// An element of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element(String);

impl Element {
    /// Reads an element reference from an answer.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        value[ELEMENT].as_str().map(|id| Self(id.to_owned()))
    }

    /// The reference as a script argument.
    pub(crate) fn argument(&self) -> Value {
        json!({ ELEMENT: self.0 })
    }
}

/// How often a lookup is repeated when the page replaced the elements.
const STALE_TRIES: u32 = 20;

/// The position of an element in the window, in CSS pixels.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub struct Rect {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl Rect {
    /// The centre.
    pub fn centre(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

impl Session {
    /// Starts the program through a driver that listens at `driver`.
    ///
    /// # Errors
    /// When the driver does not answer or the program does not start.
    pub async fn open(driver: &str, binary: &Path, arguments: &[&str]) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        until("the WebDriver", async || {
            Ok(http.get(format!("{driver}/status")).send().await.is_ok().then_some(()))
        })
        .await?;
        let options = json!({ "binary": binary, "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "webkitgtk:browserOptions": options } } });
        let answer = send(&http, Method::POST, &format!("{driver}/session"), Some(&wanted)).await?;
        let id = answer["sessionId"].as_str().context("failed to read the session's id")?;
        Ok(Self { address: format!("{driver}/session/{id}"), http })
    }

    async fn get(&self, path: &str) -> Result<Value> {
        send(&self.http, Method::GET, &format!("{}{path}", self.address), None).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value> {
        send(&self.http, Method::POST, &format!("{}{path}", self.address), Some(&body)).await
    }

    /// The elements that match a CSS selector now.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn find_all(&self, selector: &str) -> Result<Vec<Element>> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let mut tries = 0;
        let found = loop {
            match self.post("/elements", wanted.clone()).await {
                // The page replaced one of them while the driver took hold of it.
                Err(error)
                    if tries < STALE_TRIES && error.to_string().contains("stale element reference") =>
                {
                    tries += 1;
                }
                found => break found?,
            }
        };
        let found = found.as_array().context("failed to read the elements")?;
        Ok(found.iter().filter_map(Element::read).collect())
    }

    /// Waits for the first matching element.
    ///
    /// # Errors
    /// When none appears.
    pub async fn find(&self, selector: &str) -> Result<Element> {
        until(selector, async || Ok(self.find_all(selector).await?.into_iter().next())).await
    }

    /// Waits for the first matching element whose text contains `text`.
    ///
    /// # Errors
    /// When none appears.
    pub async fn find_with_text(&self, selector: &str, text: &str) -> Result<Element> {
        until(&format!("{selector} with the text {text:?}"), async || {
            for element in self.find_all(selector).await? {
                // It may have gone in the meantime; then it is not the one.
                if self.text(&element).await.is_ok_and(|shown| shown.contains(text)) {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        })
        .await
    }

    /// Waits until nothing matches.
    ///
    /// # Errors
    /// When a match stays.
    pub async fn wait_gone(&self, selector: &str) -> Result<()> {
        until(&format!("the end of {selector}"), async || {
            Ok(self.find_all(selector).await?.is_empty().then_some(()))
        })
        .await
    }

    /// Clicks the centre of an element, as a person would.
    ///
    /// # Errors
    /// When it cannot be clicked: covered, out of sight, gone.
    pub async fn click(&self, element: &Element) -> Result<()> {
        self.post(&format!("/element/{}/click", element.0), json!({})).await.map(drop)
    }

    /// Types into an element.
    ///
    /// # Errors
    /// When it takes no keys.
    pub async fn type_into(&self, element: &Element, text: &str) -> Result<()> {
        self.post(&format!("/element/{}/value", element.0), json!({ "text": text })).await.map(drop)
    }

    /// The visible text of an element.
    ///
    /// # Errors
    /// When it is gone.
    pub async fn text(&self, element: &Element) -> Result<String> {
        // The engine's own reckoning: WebDriver's takes whatever a graph has moved by a transform for hidden.
        const SCRIPT: &str = "return arguments[0].innerText ?? arguments[0].textContent";
        let text = self.execute(SCRIPT, &[element.argument()]).await?;
        text.as_str().map(str::to_owned).context("failed to read a text")
    }

    /// An attribute as the page's source has it.
    ///
    /// # Errors
    /// When the element is gone.
    pub async fn attribute(&self, element: &Element, name: &str) -> Result<Option<String>> {
        Ok(self.get(&format!("/element/{}/attribute/{name}", element.0)).await?.as_str().map(str::to_owned))
    }

    /// The position of an element.
    ///
    /// # Errors
    /// When it is gone.
    pub async fn rect(&self, element: &Element) -> Result<Rect> {
        Ok(serde_json::from_value(self.get(&format!("/element/{}/rect", element.0)).await?)?)
    }

    /// Presses keys wherever the focus is, held together: `press(&[CONTROL, "k"])`.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn press(&self, combination: &[&str]) -> Result<()> {
        let down = combination.iter().map(|key| json!({ "type": "keyDown", "value": key }));
        let up = combination.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
        let actions: Vec<Value> = down.chain(up).collect();
        self.act(json!([{ "type": "key", "id": "keyboard", "actions": actions }])).await
    }

    /// Drags with the pointer in small steps.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn drag(&self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        self.take_up(from, to).await?;
        self.let_go().await
    }

    /// The same without releasing the pointer.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn take_up(&self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        self.drawn().await?;
        let mut actions = steps(from, to);
        actions.insert(1, json!({ "type": "pointerDown", "button": 0 }));
        actions.push(json!({ "type": "pause", "duration": 50 }));
        self.point(&actions).await
    }

    /// Presses, moves once and releases without a pause, faster than a hand.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn flick(&self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        let at = |(x, y): (f64, f64)| json!({ "type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round() });
        let button = |kind: &str| json!({ "type": kind, "button": 0 });
        self.point(&[at(from), button("pointerDown"), at(to), button("pointerUp")]).await
    }

    /// Moves the pointer in small steps.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn glide(&self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        self.point(&steps(from, to)).await
    }

    /// Releases the pointer.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn let_go(&self) -> Result<()> {
        self.point(&[json!({ "type": "pointerUp", "button": 0 })]).await
    }

    async fn point(&self, actions: &[Value]) -> Result<()> {
        let pointer = json!({ "pointerType": "mouse" });
        self.act(json!([{ "type": "pointer", "id": "mouse", "parameters": pointer, "actions": actions }]))
            .await
    }

    async fn act(&self, sources: Value) -> Result<()> {
        self.post("/actions", json!({ "actions": sources })).await.map(drop)
    }

    /// Runs a function body in the page and returns its result.
    ///
    /// # Errors
    /// When it throws.
    pub async fn execute(&self, script: &str, arguments: &[Value]) -> Result<Value> {
        self.post("/execute/sync", json!({ "script": script, "args": arguments })).await
    }

    /// The same for a function that calls its last argument with the result.
    ///
    /// # Errors
    /// When it throws or never answers.
    pub async fn execute_async(&self, script: &str, arguments: &[Value]) -> Result<Value> {
        self.post("/execute/async", json!({ "script": script, "args": arguments })).await
    }

    /// Resizes the page, and the window with it.
    ///
    /// # Errors
    /// When the window does not answer, or never gets this large.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let outer = self.execute("return [outerWidth - innerWidth, outerHeight - innerHeight]", &[]).await?;
        let frame = |value: &Value| value.as_u64().unwrap_or_default();
        let size = json!({
            "width": u64::from(width) + frame(&outer[0]),
            "height": u64::from(height) + frame(&outer[1]),
        });
        self.post("/window/rect", size).await?;
        // The answer comes before the window manager has done it.
        until(&format!("a page of {width} by {height}"), async || {
            let now = self.execute("return [innerWidth, innerHeight]", &[]).await?;
            Ok((now == json!([width, height])).then_some(()))
        })
        .await
    }

    /// Waits until what the page holds now is also what a person sees: drawn, its effects run, what
    /// fades or slides in at its place.
    ///
    /// # Errors
    /// When the window does not answer, or is hidden and so never draws.
    pub async fn drawn(&self) -> Result<()> {
        // What takes longer than a second shows the time, and never comes to rest in that sense.
        const SCRIPT: &str = "const done = arguments[0];
            const passing = (animation) => animation.playState === 'running'
                && animation.effect?.getComputedTiming().endTime <= 1000;
            requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() =>
                Promise.allSettled(document.getAnimations().filter(passing).map(({ finished }) => finished))
                    .then(() => done()))));";
        self.execute_async(SCRIPT, &[]).await.map(drop)
    }

    /// The page as a PNG picture.
    ///
    /// # Errors
    /// When the window does not answer.
    pub async fn screenshot(&self) -> Result<Vec<u8>> {
        self.drawn().await?;
        let picture = self.get("/screenshot").await?;
        let picture = picture.as_str().context("failed to read the picture")?;
        BASE64_STANDARD.decode(picture).context("failed to decode the picture")
    }

    /// Ends the session and with it the program.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub async fn close(self) -> Result<()> {
        send(&self.http, Method::DELETE, &self.address, None).await.map(drop)
    }
}

/// From where it begins to where it ends.
fn steps(from: (f64, f64), to: (f64, f64)) -> Vec<Value> {
    const STEPS: u32 = 8;
    let at = |share: f64| {
        let between = |a: f64, b: f64| (a + (b - a) * share).round();
        json!({ "type": "pointerMove", "duration": 20, "x": between(from.0, to.0), "y": between(from.1, to.1) })
    };
    (0..=STEPS).map(|step| at(f64::from(step) / f64::from(STEPS))).collect()
}

async fn send(http: &reqwest::Client, method: Method, address: &str, body: Option<&Value>) -> Result<Value> {
    let mut request = http.request(method.clone(), address);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request
        .send()
        .await
        .with_context(|| format!("failed to reach the WebDriver for {method} {address}"))?;
    let status = response.status();
    let answer: Value =
        response.json().await.with_context(|| format!("failed to read the answer to {method} {address}"))?;
    let value = answer["value"].clone();
    if !status.is_success() {
        let (error, message) = (&value["error"], &value["message"]);
        bail!("{method} {address} was refused: {error} {message}");
    }
    Ok(value)
}
