//! A call of a tool that a program offers.

use serde_json::{Value, json};

/// A call of a tool that the program offers.
#[derive(Debug)]
pub(super) struct Call {
    pub name: String,
    pub namespace: Option<String>,
    pub input: Input,
}

#[derive(Debug)]
pub(super) enum Input {
    Json(Value),
    Text(String),
}

impl Input {
    /// Where a service has no tools whose input is text.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => json!({ "input": text }),
        }
    }
}
