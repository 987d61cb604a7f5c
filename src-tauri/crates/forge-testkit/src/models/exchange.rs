//! A request from its arrival to the end of its answer.

use std::{
    io,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request as Incoming, State as Shared},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{
    answer::{Answer, Frame, cut, middle},
    choose::choose,
    dialects::{Endpoint, endpoint},
    request::{Asked, Dialect, Request},
    scenario::{Failure, Hold, Turn},
    state::{KEY, State},
};

/// Whole conversations with much output in them.
const LONGEST_BODY: usize = 256 * 1024 * 1024;

type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// Every request, whatever its path.
pub(super) async fn answer(Shared(state): Shared<Arc<State>>, request: Incoming) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let refuse = |status: u16, why: &str, dialect: Dialect| {
        state.note(|seen| seen.refused.push(format!("{} {path}: {why}", parts.method)));
        reply(status, &dialect.refusal(status, why))
    };
    if parts.method == Method::HEAD {
        return reply(200, &Value::Null);
    }
    if parts.method == Method::GET && path.ends_with("/models") {
        return reply(200, &json!({ "object": "list", "data": [], "models": [] }));
    }
    let Some(endpoint) = endpoint(path).filter(|_| parts.method == Method::POST) else {
        return refuse(404, "there is nothing here", Dialect::Chat);
    };
    let Endpoint::Answer { dialect, model, streamed } = endpoint else {
        return reply(200, &json!({ "input_tokens": 100, "totalTokens": 100 }));
    };
    if !has_key(&parts.headers) {
        return refuse(401, "the key is not the tests' key", dialect);
    }
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        return refuse(400, "the body did not come whole", dialect);
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refuse(400, "the body is not JSON", dialect);
    };
    let model = model.unwrap_or_else(|| body["model"].as_str().unwrap_or_default().to_owned());
    let streamed = streamed.unwrap_or_else(|| body["stream"] == true);
    let Asked { messages, tools, schema } = dialect.read(&body);
    let mut request = Request {
        number: 0,
        dialect,
        model,
        messages,
        tools: tools.iter().map(shown).collect(),
        plays: None,
        attempt: 0,
        body,
    };
    if tools.is_empty() {
        let number = keep(&state, request.clone());
        let said = Answer::aside(number, &request.model, schema.as_ref());
        return play(&state, dialect, streamed, &Turn::new(), said, None).await;
    }
    let scripts = state.scripts().clone();
    let choice = match choose(&scripts, &request.messages) {
        Ok(choice) => choice,
        Err(error) => return refuse(400, &format!("{error:#}"), dialect),
    };
    let turn = choice.scenario.turns.get(choice.turn);
    let place = (choice.scenario.name.clone(), choice.turn);
    request.attempt = state.seen().attempts.get(&place).copied().unwrap_or_default();
    *state.seen().attempts.entry(place.clone()).or_default() += 1;
    // A second try is another answer than the one whose beginning the program may have seen.
    let again = if request.attempt == 0 { String::new() } else { format!("r{}", request.attempt) };
    let id = format!("{}_{}{again}", place.0, choice.before);
    request.plays = Some(place);
    let said = Answer::of_turn(turn, id, &request.model, &request.messages, &tools);
    let failure = turn.and_then(|turn| turn.failure(request.attempt));
    keep(&state, request);
    let silent = Turn::new();
    play(&state, dialect, streamed, turn.unwrap_or(&silent), said, failure).await
}

fn shown(tool: &super::request::Offered) -> String {
    match &tool.namespace {
        Some(namespace) => format!("{namespace}/{}", tool.name),
        None => tool.name.clone(),
    }
}

fn keep(state: &State, mut request: Request) -> usize {
    let mut number = 0;
    state.note(|seen| {
        number = seen.requests.0.len() + 1;
        request.number = number;
        seen.requests.0.push(Arc::new(request));
    });
    number
}

fn has_key(headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = value("authorization").and_then(|it| it.strip_prefix("Bearer "));
    [bearer, value("x-api-key"), value("x-goog-api-key")].into_iter().flatten().any(|key| key == KEY)
}

async fn play(
    state: &Arc<State>,
    dialect: Dialect,
    streamed: bool,
    turn: &Turn,
    said: Answer,
    failure: Option<Failure>,
) -> Response<Body> {
    let refused = |status| reply(status, &dialect.refusal(status, &format!("the script says {status}")));
    match failure {
        Some(Failure::RateLimited { seconds }) => {
            let mut reply = refused(429);
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return reply;
        }
        Some(Failure::UsedUp { seconds }) => return used_up(dialect, seconds),
        Some(Failure::Status(status)) => return refused(status),
        Some(Failure::Cut | Failure::Dropped) | None => {}
    }
    let frames = if streamed {
        dialect.frames(&said)
    } else {
        vec![Frame { text: dialect.whole(&said).to_string(), piece_of: Some(0) }]
    };
    let (pieces, body) = mpsc::channel(1);
    let (state, turn) = (state.clone(), turn.clone());
    tokio::spawn(async move {
        if speak(&state, &turn, frames, failure, &pieces).await.is_err() {
            state.note(|seen| seen.hung_up += 1);
        }
    });
    let mut reply = Response::new(Body::from_stream(ReceiverStream::new(body)));
    let kind = if streamed { "text/event-stream" } else { "application/json" };
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    without_keeping(reply)
}

/// Nobody listens any more.
struct HungUp;

async fn speak(
    state: &State,
    turn: &Turn,
    frames: Vec<Frame>,
    failure: Option<Failure>,
    pieces: &Pieces,
) -> Result<(), HungUp> {
    let half = middle(&frames);
    let stop = match failure {
        Some(Failure::Dropped) => Some(0),
        Some(_) => Some(half),
        None => None,
    };
    let hold = turn.hold.as_ref().map(|hold| (if hold.midway { half } else { 0 }, hold));
    let count = frames.len();
    for (index, frame) in frames.into_iter().enumerate() {
        if stop == Some(index) {
            break;
        }
        if let Some((_, hold)) = hold.filter(|(at, _)| *at == index) {
            wait(state, hold, pieces).await?;
        }
        let grows = frame.piece_of.is_some();
        pieces.send(Ok(Bytes::from(frame.text))).await.map_err(|_| HungUp)?;
        if let Some(pace) = turn.pace.filter(|_| grows) {
            tokio::select! {
                () = tokio::time::sleep(pace.pause) => {}
                () = pieces.closed() => return Err(HungUp),
            }
        }
    }
    if let Some((_, hold)) = hold.filter(|(at, _)| *at == count) {
        wait(state, hold, pieces).await?;
    }
    if stop.is_some() {
        pieces.send(Err(cut())).await.map_err(|_| HungUp)?;
    }
    Ok(())
}

async fn wait(state: &State, hold: &Hold, pieces: &Pieces) -> Result<(), HungUp> {
    let mut open = state.open.subscribe();
    tokio::select! {
        // The sender lives as long as the server's state, which is here.
        _ = open.wait_for(|open| open.contains(&hold.gate)) => Ok(()),
        () = pieces.closed() => Err(HungUp),
    }
}

/// What an account is told whose allowance is used up, in the words of both services: each program reads its own.
fn used_up(dialect: Dialect, seconds: u32) -> Response<Body> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let resets = now + u64::from(seconds);
    let mut body = dialect.refusal(429, "the allowance is used up");
    if dialect == Dialect::Responses {
        body["error"]["type"] = json!("usage_limit_reached");
        body["error"]["resets_at"] = json!(resets);
    }
    let mut reply = reply(429, &body);
    for (name, value) in [
        ("x-codex-primary-used-percent", 100),
        ("x-codex-primary-window-minutes", 300),
        ("x-codex-primary-reset-at", resets),
        ("anthropic-ratelimit-unified-reset", resets),
        ("retry-after", u64::from(seconds)),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from(value));
    }
    for (name, value) in [
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    reply
}

fn reply(status: u16, body: &Value) -> Response<Body> {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let mut reply = Response::new(Body::from(text));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    without_keeping(reply)
}

/// A connection that is kept would outlive [`super::ModelServer::go_offline`].
fn without_keeping(mut reply: Response<Body>) -> Response<Body> {
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}
