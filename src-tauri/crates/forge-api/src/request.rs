//! An operation as a request over HTTP: what goes into the address and what into the body. The server reads it back
//! by the same row of the table.

use serde_json::{Map, Value};

use crate::{ApiError, Method, Operation};

/// A request, relative to where an engine serves.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// Its method.
    pub method: Method,
    /// The segments of its path, not yet escaped.
    pub path: Vec<String>,
    /// Its query, not yet escaped.
    pub query: Vec<(String, String)>,
    /// Its body, a JSON object; none where the method has none.
    pub body: Option<Map<String, Value>>,
}

impl Operation {
    /// The request for an input.
    ///
    /// # Errors
    /// `invalid` when a field of the path is missing, or would make another path.
    pub fn request(&self, mut input: Map<String, Value>) -> Result<HttpRequest, ApiError> {
        let parts = self.path.split('/').filter(|part| !part.is_empty()).map(|part| {
            let field = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            field.map_or_else(|| Ok(part.to_owned()), |field| in_path(field, input.remove(field)))
        });
        let base = ["api", "v1"].map(|part| Ok(part.to_owned()));
        let path = base.into_iter().chain(parts).collect::<Result<Vec<String>, ApiError>>()?;
        let (query, body) = if matches!(self.method, Method::Get | Method::Delete) {
            let given = input.iter().filter(|(_, value)| !value.is_null());
            (given.map(|(name, value)| (name.clone(), text(value))).collect(), None)
        } else {
            (Vec::new(), Some(input))
        };
        Ok(HttpRequest { method: self.method, path, query, body })
    }
}

/// A field as a part of the address. Without it, the address would be another one.
fn in_path(field: &str, given: Option<Value>) -> Result<String, ApiError> {
    let wrong = |message: &str| Err(ApiError::invalid(field, message));
    match given.unwrap_or_default() {
        Value::Null => wrong(&format!("missing field `{field}`")),
        Value::Array(_) | Value::Object(_) => wrong("must be text"),
        given => match text(&given) {
            empty if empty.is_empty() => wrong("must not be empty"),
            // As parts of an address these mean other places.
            dots if dots == "." || dots == ".." => wrong("must be a name"),
            text => Ok(text),
        },
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operations;

    fn request(name: &str, input: &Value) -> Result<HttpRequest, String> {
        let operation = operations().iter().find(|operation| operation.name == name).unwrap();
        operation.request(input.as_object().cloned().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn fields_of_the_path_leave_the_rest_to_query_or_body() {
        let read =
            request("task_list", &json!({ "project_id": "p/1", "status": ["a", "b"], "q": null })).unwrap();
        assert_eq!(read.path, ["api", "v1", "projects", "p/1", "tasks"]);
        assert_eq!((read.query, read.body), (vec![("status".to_owned(), "a,b".to_owned())], None));
        let made = request("comment_update", &json!({ "comment_id": 7, "resolved": true })).unwrap();
        assert_eq!(made.path, ["api", "v1", "comments", "7"]);
        assert_eq!(made.body, json!({ "resolved": true }).as_object().cloned());
    }

    #[test]
    fn fields_of_the_path_that_make_another_path_are_refused() {
        let refusal = |id: Value| request("task_get", &json!({ "task_id": id })).unwrap_err();
        assert_eq!(refusal(Value::Null), "task_id: missing field `task_id`");
        assert_eq!(refusal(json!([1])), "task_id: must be text");
        assert_eq!(refusal(json!("")), "task_id: must not be empty");
        assert_eq!(refusal(json!("..")), "task_id: must be a name");
    }
}
