//! One tool.

use std::{pin::Pin, sync::Arc};

use forge_api::{
    ApiError, Call, Client, DEFAULT_LIMIT, Operation, input_schema, operations, output_schema, read_input,
};
use forge_model::workflow::{Finding, shape_findings};
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Backend, Caller};

/// What a tool does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// It adds something; again, it adds another.
    Adds,
    /// It adds something; again, nothing more happens.
    AddsOnce,
    /// It changes or ends something; again, nothing more happens.
    Changes,
    /// It changes or ends something, each time.
    Acts,
    /// It runs what it is told to, and ends with whoever asks.
    Runs,
}

/// The contract as one caller may use it.
pub(crate) struct Contract<B> {
    pub backend: B,
    pub caller: Caller,
}

/// What a tool is doing.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Value, ApiError>> + Send>>;

enum Does<B> {
    Operation(&'static str),
    Composed(fn(Contract<B>, Value) -> Running),
}

/// A tool.
pub(crate) struct Tool<B> {
    pub name: &'static str,
    /// The operation whose reach decides whether a run may use it at all.
    pub operation: &'static str,
    pub effect: Effect,
    listed: Listed,
    /// Whether it gives a list that is cut into pages.
    is_cut: bool,
    does: Does<B>,
}

impl<B: Backend> Client for Contract<B> {
    type Error = ApiError;

    async fn send(&self, operation: &str, input: Value) -> Result<Value, ApiError> {
        self.backend.call(&self.caller, operation, input).await
    }
}

impl<B: Backend> Tool<B> {
    /// The tool that is one operation. Its input is passed on as it is.
    pub(crate) fn of<C: Call>(name: &'static str, _: C, effect: Effect, description: &'static str) -> Self {
        let operation = C::NAME;
        let known = operations().iter().find(|known| known.name == operation);
        let (input, output) = known.map(Operation::json_schemas).unwrap_or_default();
        let is_cut = known.is_some_and(|known| known.paged);
        let listed = listed(name, description, effect, input, output);
        Self { name, operation, effect, listed, is_cut, does: Does::Operation(operation) }
    }

    /// A tool that is several operations, the foremost of which is `operation`.
    pub(crate) fn composed<I, O, C: Call>(
        name: &'static str,
        _: C,
        effect: Effect,
        description: &'static str,
        does: fn(Contract<B>, Value) -> Running,
    ) -> Self
    where
        I: JsonSchema,
        O: JsonSchema,
    {
        let listed = listed(name, description, effect, input_schema::<I>(), output_schema::<O>());
        Self { name, operation: C::NAME, effect, listed, is_cut: false, does: Does::Composed(does) }
    }

    /// How clients are told of it.
    pub(crate) fn listed(&self) -> Listed {
        self.listed.clone()
    }

    /// Uses it.
    pub(crate) fn run(&self, contract: Contract<B>, input: Value) -> Running {
        match self.does {
            Does::Operation(op) => {
                let input = if self.is_cut { in_pages(input) } else { input };
                Box::pin(async move { contract.send(op, input).await })
            }
            Does::Composed(does) => does(contract, input),
        }
    }
}

/// Asks for a first page where nothing is said about pages: nobody wants all of a long list unasked.
fn in_pages(mut input: Value) -> Value {
    if input["limit"].is_null() && input["cursor"].is_null() && input.is_object() {
        input["limit"] = Value::from(DEFAULT_LIMIT);
    }
    input
}

/// Reads the input of a composed tool, then does it.
pub(crate) fn typed<I, F>(input: Value, does: impl FnOnce(I) -> F + Send + 'static) -> Running
where
    I: DeserializeOwned + JsonSchema,
    F: Future<Output = Result<Value, ApiError>> + Send + 'static,
{
    // Deserialisation alone takes a list for an object whose fields have that order.
    let input = if input.is_null() { Value::Object(Map::new()) } else { input };
    let input = match shape_findings::<I>(&input, "").into_iter().next() {
        Some(Finding { path, message }) => Err(ApiError::invalid(&path, &message)),
        None => read_input(input),
    };
    match input {
        Ok(input) => Box::pin(does(input)),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

fn listed(
    name: &'static str,
    description: &'static str,
    effect: Effect,
    input: JsonObject,
    output: JsonObject,
) -> Listed {
    let hints = ToolAnnotations::new()
        .read_only(effect == Effect::Reads)
        .destructive(matches!(effect, Effect::Changes | Effect::Acts | Effect::Runs))
        .idempotent(matches!(effect, Effect::Reads | Effect::AddsOnce | Effect::Changes))
        .open_world(effect == Effect::Runs);
    Listed::new(name, description, Arc::new(input))
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(hints)
}
