//! Answers: refusals travel as [`Refusal`] up to the outermost layer, which knows the request's id.

use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use forge_api::ApiError;
use serde_json::{Value, json};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A refusal on its way out.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) ApiError);

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self(ApiError {
            code: code.to_owned(),
            message: message.into(),
            hints: Vec::new(),
            details: Value::Null,
            status: status.as_u16(),
        })
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.0.hints.push(hint.to_owned());
        self
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// A panic while a request is answered ends that answer alone.
pub(crate) async fn survive(request: Request, next: Next) -> Response {
    let answer = forge_engine::guarded(next.run(request)).await;
    answer.unwrap_or_else(|panic| Refusal(ApiError::panicked(&panic)).into_response())
}

/// The outermost layer: gives the request an id, writes refusals out, and sees to the headers that every
/// answer has.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let id = uuid::Uuid::now_v7().to_string();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = next.run(request).await;
    if let Some(Refusal(error)) = response.extensions_mut().remove::<Refusal>() {
        if error.status == StatusCode::REQUEST_TIMEOUT {
            // The rest of the request may still come: it is not read as the next one.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if error.status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(request_id = %id, %method, path, %error, "failed to answer a request");
        }
        response = write(response, &error, &id);
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn write(response: Response, error: &ApiError, id: &str) -> Response {
    let body = json!({
        "code": error.code,
        "message": error.message,
        "hints": error.hints,
        "details": error.details,
        "request_id": id,
    });
    let (mut head, _) = response.into_parts();
    let (json_head, body) = Json(body).into_response().into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.extend(json_head.headers);
    Response::from_parts(head, Body::new(body))
}
