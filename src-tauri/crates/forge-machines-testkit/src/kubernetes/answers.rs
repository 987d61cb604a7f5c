//! What the server answers to `kubectl`: which kinds there are, and Jobs, pods and events.

use std::{
    collections::HashMap,
    net::TcpListener,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    extract::{Query, State},
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Answers, NAMESPACE, objects::Objects};

type Shared = Arc<Mutex<Objects>>;

/// Answers until it is told to stop, which cuts all connections.
pub(super) fn serve(listener: TcpListener, objects: Shared, stopped: oneshot::Receiver<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let app = Router::new().fallback(answer).with_state(objects);
        tokio::select! {
            _ = axum::serve(listener, app) => {}
            _ = stopped => {}
        }
    });
    runtime.shutdown_background();
}

async fn answer(
    State(objects): State<Shared>,
    method: Method,
    uri: Uri,
    Query(query): Query<HashMap<String, String>>,
    body: String,
) -> Response {
    let how = objects.lock().unwrap_or_else(PoisonError::into_inner).how;
    if how == Answers::Never {
        return std::future::pending().await;
    }
    let response = respond(&objects, &method, &uri, &query, &body);
    if how == Answers::Mute && method == Method::POST {
        return std::future::pending().await;
    }
    response
}

fn respond(
    objects: &Shared,
    method: &Method,
    uri: &Uri,
    query: &HashMap<String, String>,
    body: &str,
) -> Response {
    let path: Vec<&str> = uri.path().split('/').skip(1).collect();
    let mut objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
    objects.sent.push(format!("{method} {uri} {body}"));
    if let Some(refused) = refusal(objects.how, &path) {
        return refused;
    }
    if let Some(kinds) = kinds(&path) {
        return told(StatusCode::OK, &kinds);
    }
    match path.as_slice() {
        ["apis", "batch", "v1", "namespaces", NAMESPACE, "jobs", rest @ ..] => {
            of_jobs(&mut objects, method, rest, query, body)
        }
        ["api", "v1", "namespaces", NAMESPACE, "pods", rest @ ..] => {
            of_pods(&mut objects, method, rest, query)
        }
        ["api", "v1", "namespaces", NAMESPACE, "events"] => {
            let wanted = query.get("fieldSelector").map(String::as_str).unwrap_or_default();
            let is_wanted = |event: &&Value| {
                let name = event["involvedObject"]["name"].as_str().unwrap_or_default();
                wanted.split(',').any(|part| part.strip_prefix("involvedObject.name=") == Some(name))
            };
            list("Event", "v1", objects.events.iter().filter(is_wanted))
        }
        [.., "namespaces", other, _] if *method == Method::POST && *other != NAMESPACE => {
            failure(StatusCode::NOT_FOUND, "NotFound", &format!("namespaces \"{other}\" not found"))
        }
        ["apis", "batch", "v1", "namespaces", _, "jobs"] => list("Job", "batch/v1", std::iter::empty()),
        ["api", "v1", "namespaces", _, "pods"] => list("Pod", "v1", std::iter::empty()),
        _ => failure(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource"),
    }
}

fn refusal(how: Answers, path: &[&str]) -> Option<Response> {
    match how {
        Answers::Well | Answers::Never | Answers::Mute => None,
        Answers::Unauthorized => Some(failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")),
        // Which kinds there are is told to all.
        Answers::Forbidden if !path.contains(&"namespaces") => None,
        Answers::Forbidden => {
            let message = format!(
                "jobs.batch is forbidden: User \"me\" cannot list resource \"jobs\" in API group \"batch\" in the namespace \"{NAMESPACE}\""
            );
            Some(failure(StatusCode::FORBIDDEN, "Forbidden", &message))
        }
        Answers::Broken => {
            // Without a reason, as what is behind the server is told.
            Some(failure(StatusCode::INTERNAL_SERVER_ERROR, "", "etcdserver: leader changed"))
        }
    }
}

fn of_jobs(
    objects: &mut Objects,
    method: &Method,
    rest: &[&str],
    query: &HashMap<String, String>,
    body: &str,
) -> Response {
    match (method, rest) {
        (&Method::GET, []) => list("Job", "batch/v1", chosen(objects.jobs.values(), query)),
        (&Method::POST, []) => {
            let Ok(job) = serde_json::from_str::<Value>(body) else {
                return failure(StatusCode::BAD_REQUEST, "BadRequest", "the body is no JSON");
            };
            let name = job["metadata"]["name"].as_str().unwrap_or_default();
            if objects.jobs.contains_key(name) {
                let message = format!("jobs.batch \"{name}\" already exists");
                return failure(StatusCode::CONFLICT, "AlreadyExists", &message);
            }
            if let Some((field, problem)) = invalid(&job) {
                return not_valid(name, field, problem);
            }
            match objects.create(job) {
                Ok(job) => told(StatusCode::CREATED, &job),
                Err(error) => {
                    failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &format!("{error:#}"))
                }
            }
        }
        (&Method::GET, [name]) => found("jobs.batch", name, objects.jobs.get(*name)),
        (&Method::DELETE, [name]) => deleted("jobs.batch", name, objects.delete_job(name)),
        _ => failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "the method is not allowed"),
    }
}

fn of_pods(
    objects: &mut Objects,
    method: &Method,
    rest: &[&str],
    query: &HashMap<String, String>,
) -> Response {
    match (method, rest) {
        (&Method::GET, []) => {
            let listed = list("Pod", "v1", chosen(objects.pods.values().map(|pod| &pod.object), query));
            objects.forget_taken();
            listed
        }
        (&Method::GET, [name]) => found("pods", name, objects.pods.get(*name).map(|pod| &pod.object)),
        (&Method::DELETE, [name]) => deleted("pods", name, objects.delete_pod(name)),
        _ => failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "the method is not allowed"),
    }
}

/// What a real server refuses of a Job, as far as tests need it: the field, and what is wrong with it.
fn invalid(job: &Value) -> Option<(&'static str, &'static str)> {
    let name = job["metadata"]["name"].as_str().unwrap_or_default();
    let pod = &job["spec"]["template"]["spec"];
    let image = pod["containers"][0]["image"].as_str().unwrap_or_default();
    if name.is_empty() || name.len() > 63 || name.chars().any(|c| c.is_ascii_uppercase()) {
        return Some(("metadata.name", "Invalid value: a lowercase RFC 1123 label is needed"));
    }
    if image.is_empty() {
        return Some(("spec.template.spec.containers[0].image", "Required value"));
    }
    if job["spec"]["backoffLimit"] != 0 || pod["restartPolicy"] != "Never" {
        return Some(("spec", "Invalid value: a Job of these tests is never begun again"));
    }
    None
}

/// The answer to a Job with a field that is not valid.
fn not_valid(name: &str, field: &str, problem: &str) -> Response {
    let cause = json!({ "reason": "FieldValueInvalid", "message": problem, "field": field });
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("Job.batch \"{name}\" is invalid: {field}: {problem}"), "reason": "Invalid",
        "details": { "name": name, "group": "batch", "kind": "Job", "causes": [cause] }, "code": 422 });
    told(StatusCode::UNPROCESSABLE_ENTITY, &status)
}

/// Those that have the labels which are asked for.
fn chosen<'o>(
    all: impl Iterator<Item = &'o Value>,
    query: &HashMap<String, String>,
) -> impl Iterator<Item = &'o Value> {
    let wanted = query.get("labelSelector").cloned().unwrap_or_default();
    all.filter(move |object| {
        wanted.split(',').filter_map(|part| part.split_once('=')).all(|(name, value)| {
            object["metadata"]["labels"].get(name).and_then(Value::as_str) == Some(value)
        })
    })
}

fn list<'o>(kind: &str, version: &str, items: impl Iterator<Item = &'o Value>) -> Response {
    let items: Vec<&Value> = items.collect();
    let list = json!({ "kind": format!("{kind}List"), "apiVersion": version,
        "metadata": { "resourceVersion": "1" }, "items": items });
    told(StatusCode::OK, &list)
}

fn found(kinds: &str, name: &str, object: Option<&Value>) -> Response {
    match object {
        Some(object) => told(StatusCode::OK, object),
        None => failure(StatusCode::NOT_FOUND, "NotFound", &format!("{kinds} \"{name}\" not found")),
    }
}

fn deleted(kinds: &str, name: &str, was_there: bool) -> Response {
    match was_there {
        true => told(
            StatusCode::OK,
            &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": { "name": name, "kind": kinds } }),
        ),
        false => failure(StatusCode::NOT_FOUND, "NotFound", &format!("{kinds} \"{name}\" not found")),
    }
}

fn failure(code: StatusCode, reason: &str, message: &str) -> Response {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": {}, "code": code.as_u16() });
    told(code, &status)
}

fn told(code: StatusCode, body: &Value) -> Response {
    (code, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Which kinds there are.
fn kinds(path: &[&str]) -> Option<Value> {
    let of = |name: &str, kind: &str| {
        json!({ "name": name, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
            "verbs": ["create", "delete", "get", "list"] })
    };
    Some(match path {
        ["version"] => {
            json!({ "major": "1", "minor": "32", "gitVersion": "v1.32.0", "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.23.3", "compiler": "gc", "platform": "linux/amd64" })
        }
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => {
            let version = json!({ "groupVersion": "batch/v1", "version": "v1" });
            let batch = json!({ "name": "batch", "versions": [version], "preferredVersion": version });
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [batch] })
        }
        ["api", "v1"] => json!({ "kind": "APIResourceList", "groupVersion": "v1",
            "resources": [of("pods", "Pod"), of("events", "Event")] }),
        ["apis", "batch", "v1"] => {
            json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1",
            "resources": [of("jobs", "Job")] })
        }
        _ => return None,
    })
}
