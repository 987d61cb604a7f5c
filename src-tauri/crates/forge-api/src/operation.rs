//! One row of the contract.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use forge_engine::guarded;
use forge_model::actor::Actor;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};
use specta::{Type, Types, datatype::DataType};

use crate::{
    Api, ApiError,
    call::Call,
    input::{
        self,
        shape::{refuse_lists, resolve},
    },
    paging::Paged,
    schema,
};

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes or acts.
    Post,
    /// Changes parts.
    Patch,
    /// Replaces.
    Put,
    /// Removes.
    Delete,
}

impl Method {
    /// Its name in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// The largest body of a request that carries no file.
const MAX_BODY: usize = 2 * 1024 * 1024;

type Running = Pin<Box<dyn Future<Output = Result<Value, ApiError>> + Send>>;

/// An operation of the contract.
#[derive(Clone)]
pub struct Operation {
    /// Its name in the window's calls and in OpenAPI.
    pub name: &'static str,
    /// Its method over HTTP.
    pub method: Method,
    /// Its path below `/api/v1`; `{name}` stands for the field of that name.
    pub path: &'static str,
    /// The status of its good answer.
    pub status: u16,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What its answer shows, for caches: `task:{task_id}` with the input's fields; empty for changes.
    pub provides: &'static [&'static str],
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// Whether the handler returns the whole list, of which the caller gets a page.
    pub paged: bool,
    /// Whether what it does ends when its caller goes away; reading always does.
    pub ends_with_caller: bool,
    /// Whether it is refused while the database takes no writes.
    pub needs_database: bool,
    run: Arc<dyn Fn(Api, Actor, Value) -> Running + Send + Sync>,
    pub(crate) schemas: fn(&mut SchemaGenerator) -> (Schema, Schema),
    /// The schema of its input with what it refers to: every call is looked over by it, so it is made once.
    input: Arc<OnceLock<(Schema, Map<String, Value>)>>,
    pub(crate) types: fn(&mut Types) -> (DataType, DataType),
}

impl Operation {
    pub(crate) fn new<C, F, Fut>(
        method: Method,
        path: &'static str,
        summary: &'static str,
        handler: F,
    ) -> Self
    where
        C: Call,
        F: Fn(Api, Actor, C::Input) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<C::Output, ApiError>> + Send + 'static,
    {
        Self {
            name: C::NAME,
            method,
            path,
            status: 200,
            summary,
            provides: &[],
            max_body: MAX_BODY,
            paged: false,
            ends_with_caller: matches!(method, Method::Get),
            needs_database: !matches!(method, Method::Get),
            run: Arc::new(move |api, actor, value| {
                let handler = handler.clone();
                Box::pin(async move {
                    let answer = handler(api, actor, input::read(value)?).await?;
                    serde_json::to_value(answer)
                        .map_err(|error| ApiError::new(500, "internal", error.to_string()))
                })
            }),
            input: Arc::default(),
            schemas: |generator| {
                (generator.subschema_for::<C::Input>(), generator.subschema_for::<C::Output>())
            },
            types: |types| (C::Input::definition(types), C::Output::definition(types)),
        }
    }

    pub(crate) const fn provides(mut self, tags: &'static [&'static str]) -> Self {
        self.provides = tags;
        self
    }

    pub(crate) const fn takes_up_to(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// The handler returns the whole list; `limit` and `cursor` select a page of it.
    pub(crate) const fn paged(mut self) -> Self {
        self.paged = true;
        self
    }

    /// The operation is cancelled when its caller disconnects.
    pub(crate) const fn ends_with_caller(mut self) -> Self {
        self.ends_with_caller = true;
        self
    }

    /// It can be done while the database takes no writes.
    pub(crate) const fn without_database(mut self) -> Self {
        self.needs_database = false;
        self
    }

    pub(crate) const fn created(mut self) -> Self {
        self.status = 201;
        self
    }

    /// Does it for whoever asks.
    ///
    /// # Errors
    /// What it refuses.
    pub async fn run(&self, api: Api, actor: impl Into<Actor>, mut input: Value) -> Result<Value, ApiError> {
        let paged = if self.paged { Some(Paged::asked(&mut input)?) } else { None };
        let (schema, definitions) = self.input_schema();
        refuse_lists(schema.as_value(), definitions, &input, "")?;
        if self.needs_database {
            api.engine().ensure_writable().await?;
        }
        let engine = api.engine().clone();
        // A panic ends this call alone; what it wrote and did not commit never happened.
        let answer = guarded((self.run)(api, actor.into(), input)).await;
        let answer =
            answer.unwrap_or_else(|panic| Err(ApiError::panicked(&panic))).inspect_err(|refused| {
                if refused.is_storage() {
                    engine.suspect_storage();
                }
            })?;
        Ok(match paged {
            Some(paged) => paged.answer(answer),
            None => answer,
        })
    }

    fn input_schema(&self) -> &(Schema, Map<String, Value>) {
        self.input.get_or_init(|| {
            let mut generator = SchemaGenerator::default();
            let (input, _) = (self.schemas)(&mut generator);
            (input, generator.take_definitions(true))
        })
    }

    /// Whether it takes a field of this name.
    #[must_use]
    pub fn takes(&self, field: &str) -> bool {
        let (input, definitions) = self.input_schema();
        resolve(input.as_value(), definitions)["properties"].get(field).is_some()
    }

    /// The JSON schema of its input, whole in itself, and the outline of its answer's.
    #[must_use]
    pub fn json_schemas(&self) -> (Map<String, Value>, Map<String, Value>) {
        let schemas = self.schemas;
        let mut input = schema::whole(SchemaSettings::for_deserialize, |it| schemas(it).0);
        if self.paged {
            schema::add_page_of_a_list(&mut input);
        }
        let output = schema::whole(SchemaSettings::for_serialize, |it| schemas(it).1);
        (input, schema::outline::of(&output))
    }

    /// Names of the parameters in the path.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// A text from a path or a query string as the JSON that the field wants: numbers and booleans where
    /// the schema says so, lists split at commas, else text.
    #[must_use]
    pub fn coerce(&self, field: &str, text: &str) -> Value {
        if self.paged && field == "limit" {
            return text.parse::<u64>().map_or_else(|_| text.into(), Value::from);
        }
        let (input, definitions) = self.input_schema();
        let input = resolve(input.as_value(), definitions);
        let schema = resolve(&input["properties"][field], definitions);
        coerce_to(schema, definitions, text)
    }
}

fn coerce_to(schema: &Value, definitions: &Map<String, Value>, text: &str) -> Value {
    let wants = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => schema["anyOf"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|option| resolve(option, definitions)["type"] == kind),
    };
    let parsed = serde_json::from_str::<Value>(text).ok();
    match parsed {
        Some(number @ Value::Number(_)) if wants("integer") || wants("number") => number,
        Some(flag @ Value::Bool(_)) if wants("boolean") => flag,
        _ if wants("array") => {
            Value::Array(text.split(',').filter(|part| !part.is_empty()).map(Value::from).collect())
        }
        _ => Value::from(text),
    }
}
