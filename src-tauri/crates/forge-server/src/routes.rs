//! Routes, made from the contract's table.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderValue, StatusCode},
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, any, get},
};
use forge_api::{
    Api, ApiError, COSTS_CSV, DEFAULT_LIMIT, MCP_PATH, Method, Operation, openapi_document, operations,
};
use forge_model::actor::Via;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{self, Refusal},
    body,
    connections::Limits,
    csv, events,
    gate::{self, Gate},
    repeats::{self, Repeats, Turn},
    shared::Shared,
};

const BASE: &str = "/api/v1";
/// The `forge` program says with this header that it is the one who asks.
const CLIENT_HEADER: &str = "x-forge-client";
/// The largest message of an MCP client, in bytes.
pub(crate) const MAX_MCP_BODY: usize = 2 * 1024 * 1024;
/// How long an answer that is under way may still take once the server stops.
const LAST_CALL: Duration = Duration::from_secs(1);

/// Said to whoever waits for what changes something when the server stops.
const GOES_ON: &str = "Forge is stopping; pending work resumes at the next start";
/// Said to whoever waits for what ends with them.
const ENDED: &str = "Forge is stopping; send the request again after the next start";

/// Everything that is served, to whoever may ask.
pub(crate) fn routes(api: Api, stopping: CancellationToken, limits: Limits) -> Router {
    let mut paths: BTreeMap<&str, MethodRouter<Shared>> = BTreeMap::new();
    for operation in operations() {
        let methods = paths.remove(operation.path).unwrap_or_default();
        paths.insert(operation.path, add(methods, operation));
    }
    let mut router = Router::new()
        .route(gate::HEALTH, get(health))
        .route(&format!("{BASE}/openapi.json"), get(async || Json(openapi_document())))
        .route(&format!("{BASE}/events"), get(events::stream))
        .route(&format!("{BASE}{}", COSTS_CSV.path), get(csv::ledger));
    for (path, methods) in paths {
        router = router.route(&format!("{BASE}{path}"), methods);
    }
    let mcp = forge_mcp::service(&api, MAX_MCP_BODY, stopping.child_token());
    router = router.route(
        MCP_PATH,
        any(async move |State(shared): State<Shared>, request: Request| {
            if shared.api.access().serves_mcp() {
                let (head, content) = request.into_parts();
                let content = Body::from(body::read(content, MAX_MCP_BODY, shared.limits.body).await?);
                Ok(mcp.handle(Request::from_parts(head, content)).await.map(Body::new))
            } else {
                let message = "MCP is off";
                Err(Refusal::new(StatusCode::NOT_FOUND, "mcp_off", message).hint(
                    "Turn it on in the settings. If Forge was started with --no-mcp, restart it without.",
                ))
            }
        }),
    );
    router
        .fallback(async |request: Request| {
            let message = format!("no route {}", request.uri().path());
            Refusal::new(StatusCode::NOT_FOUND, "not_found", message)
        })
        .method_not_allowed_fallback(async |request: Request| {
            let message = format!("{} is not allowed at {}", request.method(), request.uri().path());
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        })
        .with_state(Shared {
            api,
            stopping,
            streams: Arc::new(Semaphore::new(events::MAX_STREAMS)),
            repeats: Repeats::default(),
            limits,
        })
}

/// The routes behind a gate.
pub(crate) fn guarded(routes: Router, gate: Gate) -> Router {
    routes
        .layer(middleware::from_fn_with_state(gate, gate::ask))
        .layer(middleware::from_fn(answer::survive))
        .layer(middleware::from_fn(answer::finish))
}

/// Whether the engine can do its work: it writes a probe. Needs no token, so it says nothing of the data.
async fn health(State(shared): State<Shared>) -> (StatusCode, Json<Value>) {
    let (health, space) = shared.api.engine().probe_storage().await;
    let (writable, free) = (health.failure.is_none(), space.map(|space| space.free));
    let (status, word) =
        if writable { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "degraded") };
    (status, Json(json!({ "status": word, "storage": { "writable": writable, "free_bytes": free } })))
}

type PathParams = Result<RawPathParams, RawPathParamsRejection>;

const fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    }
}

fn add(methods: MethodRouter<Shared>, operation: &'static Operation) -> MethodRouter<Shared> {
    methods.on(
        filter(operation.method),
        async move |State(shared): State<Shared>, path: PathParams, request: Request| {
            let path = path.map_err(|error| ApiError::invalid("", &error.body_text()))?;
            answer(operation, shared, &path, request).await
        },
    )
}

async fn answer(
    operation: &'static Operation,
    shared: Shared,
    path: &RawPathParams,
    request: Request,
) -> Result<Response, Refusal> {
    let path: Vec<(String, String)> =
        path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (head, content) = request.into_parts();
    let mut input = body::input(operation, &path, &head, content, shared.limits.body).await?;
    if operation.paged && input["limit"].is_null() {
        // Whoever is on the other side may not know how long the list is.
        input["limit"] = DEFAULT_LIMIT.into();
    }
    let key = repeats::key_of(&head.headers)?.filter(|_| operation.method != Method::Get);
    let turn = match key.filter(|_| !operation.ends_with_caller) {
        Some(key) => Some(shared.repeats.turn(key, operation.name, &input)?),
        None => None,
    };
    let run = operation.run(shared.api.clone(), via(&head.headers), input);
    let answer = if operation.ends_with_caller {
        // Nothing is lost when its caller goes away.
        until_stopped(&shared.stopping, ENDED, run).await?
    } else if let Some(turn) = turn {
        let answered = match turn {
            Turn::Again(answered) => answered,
            Turn::First(answered) => {
                let told = Arc::clone(&answered);
                tokio::spawn(async move {
                    // Nobody else sets it.
                    let _ = told.set(to_its_end(run).await);
                });
                answered
            }
        };
        until_stopped(&shared.stopping, GOES_ON, async { answered.wait().await.clone() }).await?
    } else {
        until_stopped(&shared.stopping, GOES_ON, to_its_end(run)).await?
    };
    let status = StatusCode::from_u16(operation.status).unwrap_or(StatusCode::OK);
    Ok((status, Json(answer)).into_response())
}

/// Runs an operation to its end, whether or not somebody still waits for the answer.
fn to_its_end(
    run: impl Future<Output = Result<Value, ApiError>> + Send + 'static,
) -> impl Future<Output = Result<Value, ApiError>> + Send {
    let run = tokio::spawn(run);
    async {
        run.await.unwrap_or_else(|error| {
            let message = format!("the operation failed: {error}");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message).0)
        })
    }
}

/// The answer, unless the server stops: then whoever waits for a task to settle would keep it from ending.
async fn until_stopped(
    stopping: &CancellationToken,
    message: &str,
    run: impl Future<Output = Result<Value, ApiError>>,
) -> Result<Value, Refusal> {
    let last_call = async {
        stopping.cancelled().await;
        tokio::time::sleep(LAST_CALL).await;
    };
    tokio::select! {
        answer = run => Ok(answer?),
        () = last_call => {
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message))
        }
    }
}

fn via(headers: &HeaderMap) -> Via {
    match headers.get(CLIENT_HEADER).map(HeaderValue::as_bytes) {
        Some(b"cli") => Via::Cli,
        Some(b"mcp") => Via::Mcp,
        _ => Via::Api,
    }
}
