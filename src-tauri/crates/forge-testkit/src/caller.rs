//! Calls of the contract as a test makes them: of an engine in another process over HTTP, or of one in the test's own.

use std::{fmt::Debug, time::Duration};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use forge_api::{Api, ApiError, Client, DEFAULT_LIMIT, Operation, operations};
use forge_engine::Engine;
use forge_model::actor::Via;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::Instant};

use crate::{Repository, program};

/// How long a test waits for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The interval of polling for changes without an event.
const UNTOLD: Duration = Duration::from_millis(200);
/// Events come in bursts; what is looked at after each costs more than what it is about.
const BURST: Duration = Duration::from_millis(10);
/// The interval between attempts to reach an engine that does not answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What a route is put behind to be read as a URL.
const ANY_HOST: &str = "http://localhost";
/// How many events are read at once.
const BATCH: u32 = 500;

/// A client of an engine.
#[derive(Clone)]
pub struct Caller {
    way: Way,
}

#[derive(Clone)]
enum Way {
    Http {
        http: Http,
    },
    /// Within this process. A route stands for its operation; no request is made.
    Local(Api),
}

/// A client of a server.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    url: String,
    token: Option<String>,
}

impl Http {
    pub(crate) fn new(url: String, token: Option<String>) -> Result<Self> {
        Ok(Self { client: reqwest::Client::builder().no_proxy().build()?, url, token })
    }

    /// A request without a token, at the root.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// A request with the token, below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.bare(method, &format!("/api/v1{path}"));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

impl Caller {
    /// A client of an engine that serves in another process.
    pub(crate) const fn http(http: Http) -> Self {
        Self { way: Way::Http { http } }
    }

    /// A client of an engine in this process.
    #[must_use]
    pub const fn local(api: Api) -> Self {
        Self { way: Way::Local(api) }
    }

    /// A call of a route below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RouteCall {
        RouteCall { caller: self.clone(), method, path: path.to_owned(), query: Vec::new(), body: None }
    }

    /// Calls a route below `/api/v1` and returns status and body, also of a refusal.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn answer(&self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, Value)> {
        let api = match &self.way {
            Way::Local(api) => api,
            Way::Http { http } => {
                let mut request = http.request(method, path);
                if let Some(body) = body {
                    request = request.json(&body);
                }
                let answer = request.send().await?;
                let status = answer.status().as_u16();
                let body = answer.bytes().await?;
                let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
                return Ok((status, body));
            }
        };
        let (operation, mut input) = routed(&method, path)?;
        match body {
            Some(Value::Object(body)) => input.extend(body),
            Some(other) => bail!("{path}: the body is no object: {other}"),
            None => {}
        }
        if operation.paged {
            input.entry("limit").or_insert(DEFAULT_LIMIT.into());
        }
        match operation.run(api.clone(), Via::Api, Value::Object(input)).await {
            Ok(answer) => Ok((operation.status, answer)),
            Err(refusal) => Ok((refusal.status, serde_json::to_value(refusal)?)),
        }
    }

    /// Calls a route below `/api/v1`; the error is the engine's refusal, or that the server is gone.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn call_route(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let (status, value) = self.answer(method, path, body).await?;
        ensure!((200..300).contains(&status), "{status}: {value}");
        Ok(value)
    }

    /// Reads a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.call_route(Method::GET, path, None).await
    }

    /// Posts to a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.call_route(Method::POST, path, Some(body)).await
    }

    /// Puts to a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn put(&self, path: &str, body: Value) -> Result<Value> {
        self.call_route(Method::PUT, path, Some(body)).await
    }

    /// Patches what a route names.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn patch(&self, path: &str, body: Value) -> Result<Value> {
        self.call_route(Method::PATCH, path, Some(body)).await
    }

    /// Deletes what a route names.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.call_route(Method::DELETE, path, None).await
    }

    /// The items of the first page of a list.
    ///
    /// # Errors
    /// When it is refused, or no list.
    pub async fn items(&self, path: &str) -> Result<Vec<Value>> {
        Ok(self.get(path).await?["items"].as_array().context("no items")?.clone())
    }

    /// Waits until a task satisfies a condition.
    ///
    /// # Errors
    /// When the condition is not met, or the server is gone.
    pub async fn wait(&self, task: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let path = format!("/tasks/{task}");
        let found = self.watch(async || Ok(Some(self.get(&path).await?).filter(&wanted))).await?;
        match found {
            Some(task) => Ok(task),
            None => {
                let now = self.get(&path).await?;
                let history = self.get(&format!("{path}/transitions")).await?;
                bail!("the task is not {what}: {now:#}\nhistory: {history:#}")
            }
        }
    }

    /// Posts to a task's route with its version as it is then, and again where the task changed meanwhile.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn act(&self, task: &Value, route: &str, mut body: Value) -> Result<Value> {
        let path = format!("/tasks/{}", id(task)?);
        for _ in 0..20 {
            body["version"] = self.get(&path).await?["version"].clone();
            let route = format!("{path}/{route}");
            let (status, value) = self.answer(Method::POST, &route, Some(body.clone())).await?;
            if value["code"] != "version_conflict" {
                ensure!((200..300).contains(&status), "{status}: {value}");
                return Ok(value);
            }
        }
        bail!("the task's version changed at each of 20 attempts")
    }

    /// Waits until a task, given as an answer, satisfies a condition.
    ///
    /// # Errors
    /// When the condition is not met, or the server is gone.
    pub async fn until(&self, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.wait(&id(task)?, "as wanted", wanted).await
    }

    /// Creates a project on a repository and a scripted agent, and returns their ids.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn project(&self, repo: &Repository, settings: Value) -> Result<(String, String)> {
        let project =
            self.post("/projects", json!({ "repo_path": repo.path(), "settings": settings })).await?;
        let args = ["--prompt-file", "{prompt_file}"];
        let config = json!({ "command": program("forge-scripted-agent")?, "args": args });
        let agent =
            self.post("/agents", json!({ "name": "Bot", "adapter": "shell", "config": config })).await?;
        Ok((id(&project)?, id(&agent)?))
    }

    /// Creates a task of a project, with a default title.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn task(&self, project: &str, mut new: Value) -> Result<Value> {
        if new["title"].is_null() {
            new["title"] = "Do it".into();
        }
        self.post(&format!("/projects/{project}/tasks"), new).await
    }

    /// Polls now and after each event of the engine until `look` finds something; none after [`PATIENCE`].
    ///
    /// # Errors
    /// When `look` fails.
    pub async fn watch<T, Look, Found>(&self, mut look: Look) -> Result<Option<T>>
    where
        Look: FnMut() -> Found,
        Found: Future<Output = Result<Option<T>>>,
    {
        let deadline = Instant::now() + PATIENCE;
        let mut news = match &self.way {
            Way::Http { http } => EventSignal::Http { http, stream: None },
            Way::Local(api) => EventSignal::Local(api.engine().events()),
        };
        loop {
            let found = look().await?;
            if found.is_some() || Instant::now() > deadline {
                return Ok(found);
            }
            news.next().await;
        }
    }

    /// All events from the first one on until `enough` accepts them.
    ///
    /// # Errors
    /// When they do not come, or the server is gone.
    pub async fn events_until(&self, enough: impl Fn(&[Value]) -> bool, what: &str) -> Result<Vec<Value>> {
        let mut events = match &self.way {
            Way::Http { http } => {
                let asked = http.request(Method::GET, "/events").header("Last-Event-ID", "0");
                Events::Http { stream: asked.send().await?, text: String::new() }
            }
            Way::Local(api) => Events::Local { engine: api.engine(), committed: api.engine().events() },
        };
        let mut all = Vec::new();
        while !enough(&all) {
            let next = tokio::time::timeout(PATIENCE, events.next(&all)).await;
            all.extend(next.with_context(|| format!("{what}, not {all:#?}"))??);
        }
        Ok(all)
    }
}

impl Client for Caller {
    /// An [`ApiError`] when the engine refuses.
    type Error = anyhow::Error;

    async fn send(&self, operation: &str, input: Value) -> Result<Value> {
        let row = operations().iter().find(|row| row.name == operation);
        let row = row.with_context(|| format!("no operation {operation}"))?;
        let Http { client, url, token } = match &self.way {
            Way::Local(api) => return Ok(row.run(api.clone(), Via::Api, input).await?),
            Way::Http { http } => http,
        };
        let Value::Object(input) = input else { bail!("{operation}: no object: {input}") };
        let asked = row.request(input)?;
        let mut url = Url::parse(url)?;
        url.path_segments_mut().map_err(|()| anyhow!("no path in the URL"))?.clear().extend(asked.path);
        if !asked.query.is_empty() {
            url.query_pairs_mut().extend_pairs(asked.query);
        }
        let mut request = client.request(asked.method.as_str().parse()?, url);
        if let Some(body) = asked.body {
            request = request.json(&body);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        if status.is_success() {
            return Ok(body);
        }
        let refused: ApiError = serde_json::from_value(body)?;
        Err(ApiError { status: status.as_u16(), ..refused }.into())
    }
}

/// A call of a route, made step by step.
#[must_use]
pub struct RouteCall {
    caller: Caller,
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<Value>,
}

/// The answer to a [`RouteCall`].
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl RouteCall {
    /// With a body.
    pub fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.clone());
        self
    }

    /// With fields of the query.
    pub fn query(mut self, fields: &[(&str, &str)]) -> Self {
        self.query.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// When the server is gone; a refusal is an answer.
    pub async fn send(self) -> Result<Answer> {
        let mut path = self.path;
        if !self.query.is_empty() {
            let mut url = Url::parse(ANY_HOST)?.join(&path)?;
            url.query_pairs_mut().extend_pairs(self.query);
            path = format!("{}?{}", url.path(), url.query().unwrap_or_default());
        }
        let (status, body) = self.caller.answer(self.method, &path, self.body).await?;
        Ok(Answer { status, body })
    }
}

/// The body of an answer that is no refusal.
///
/// # Errors
/// When it is a refusal.
pub fn good(answer: Answer) -> Result<Value> {
    ensure!(answer.status < 400, "{}: {:#}", answer.status, answer.body);
    Ok(answer.body)
}

/// Status and body of a call that must be refused.
///
/// # Errors
/// When it is not refused, or the server is gone.
pub async fn refused(call: RouteCall) -> Result<(u16, Value)> {
    let Answer { status, body } = call.send().await?;
    ensure!(status >= 400, "it was not refused: {status} {body:#}");
    ensure!(body["message"].is_string() && body["hints"].is_array(), "{body:#}");
    Ok((status, body))
}

/// The operation of a route, with the fields of its path and of its query.
fn routed(method: &Method, route: &str) -> Result<(&'static Operation, Map<String, Value>)> {
    let url = Url::parse(ANY_HOST)?.join(route)?;
    let segments: Vec<&str> = url.path().split('/').collect();
    let fits = |row: &&Operation| {
        let pattern: Vec<&str> = row.path.split('/').collect();
        let same = |(part, given): (&&str, &&str)| part.starts_with('{') || part == given;
        row.method.as_str() == method.as_str()
            && pattern.len() == segments.len()
            && pattern.iter().zip(&segments).all(same)
    };
    // Of `/agents/catalogue` and `/agents/{agent_id}` the one without a field is meant.
    let row = operations().iter().filter(fits).min_by_key(|row| row.path_fields().count());
    let row = row.with_context(|| format!("no route {method} {route}"))?;
    let mut input = Map::new();
    for (part, given) in row.path.split('/').zip(&segments) {
        if let Some(field) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            let text = percent_encoding::percent_decode_str(given).decode_utf8()?;
            input.insert(field.to_owned(), row.coerce(field, &text));
        }
    }
    for (field, text) in url.query_pairs() {
        input.insert(field.to_string(), row.coerce(&field, &text));
    }
    Ok((row, input))
}

/// The events of an engine, as a signal of possible changes.
enum EventSignal<'a> {
    Http { http: &'a Http, stream: Option<Response> },
    Local(watch::Receiver<i64>),
}

impl EventSignal<'_> {
    /// Waits for the next event. The first call over HTTP only opens the stream, so that earlier changes are seen.
    async fn next(&mut self) {
        // What an agent does in its worktree has no event; a look now and then sees it.
        match self {
            // The sender lives as long as the engine does.
            Self::Local(events) => {
                if tokio::time::timeout(UNTOLD, events.changed()).await.is_ok() {
                    tokio::time::sleep(BURST).await;
                    events.borrow_and_update();
                }
            }
            Self::Http { http, stream: stream @ None } => {
                match http.request(Method::GET, "/events").send().await {
                    Ok(opened) if opened.status().is_success() => *stream = Some(opened),
                    // An engine that is gone is told by the next look.
                    Ok(_) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
                }
            }
            Self::Http { stream: open @ Some(_), .. } => {
                let Some(stream) = open else { return };
                match tokio::time::timeout(UNTOLD, stream.chunk()).await {
                    Ok(Ok(Some(_))) | Err(_) => {}
                    Ok(Ok(None) | Err(_)) => {
                        *open = None;
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                }
            }
        }
    }
}

/// The events of an engine as data.
enum Events<'a> {
    Http { stream: Response, text: String },
    Local { engine: &'a Engine, committed: watch::Receiver<i64> },
}

impl Events<'_> {
    /// What follows `seen`.
    async fn next(&mut self, seen: &[Value]) -> Result<Vec<Value>> {
        match self {
            Self::Http { stream, text } => {
                let chunk = stream.chunk().await?.context("the events end")?;
                text.push_str(&String::from_utf8_lossy(&chunk));
                let whole = text.rfind('\n').map_or(0, |end| end + 1);
                let lines: String = text.drain(..whole).collect();
                let data = lines.lines().filter_map(|line| line.strip_prefix("data:"));
                Ok(data.map(|data| serde_json::from_str(data.trim())).collect::<Result<_, _>>()?)
            }
            Self::Local { engine, committed } => {
                committed.borrow_and_update();
                let after = seen.last().and_then(|event| event["seq"].as_i64()).unwrap_or_default();
                let events = engine.events_after(after, BATCH).await?.context("the first events are gone")?;
                if events.is_empty() {
                    committed.changed().await?;
                }
                Ok(events.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
            }
        }
    }
}

/// Returns the refusal of a call that must be refused.
///
/// # Errors
/// When it was not refused, or never reached the engine.
pub fn refusal<T: Debug>(called: Result<T>) -> Result<ApiError> {
    match called {
        Ok(answer) => bail!("it was not refused: {answer:?}"),
        Err(error) => Ok(error.downcast()?),
    }
}

/// The id of an answer.
///
/// # Errors
/// When the answer has none.
pub fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}
