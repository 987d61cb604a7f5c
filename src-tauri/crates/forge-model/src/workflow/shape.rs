//! What is wrong with the shape of a JSON value, all at once: unknown keys and names, wrong types, missing
//! fields, each with the path of its field and the nearest name that would have been right.
//!
//! The shapes are those of the contract's own types, read from the schema that is derived from them; nothing
//! is declared twice. Deserialisation alone would not do: it stops at the first error, and it takes a list of
//! values for an object that has them in that order.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::contract;

contract! {
    /// Something wrong with a field.
    pub struct Finding {
        /// Where, as `states[2].gate_config.reject_target`; empty for the whole text.
        pub path: String,
        /// The problem, and what would be correct.
        pub message: String,
    }
}

impl Finding {
    /// A finding at a path.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// How alike two names must be for one to be proposed for the other; 1 is equal.
const ALIKE: f64 = 0.6;
/// How many names a message lists.
const MAX_LISTED: usize = 24;

/// Everything that keeps `value` from being a `T`; paths begin with `prefix`.
///
/// When nothing is found, deserialise: flattened fields and `allOf` are not looked into, so an error may be
/// left to say. The schema is made anew at each call (some tenths of a millisecond); values that were checked
/// when they were stored need no walk.
#[must_use]
pub fn shape_findings<T: JsonSchema>(value: &Value, prefix: &str) -> Vec<Finding> {
    let schema =
        SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    let mut walk = Walk { root: schema.as_value(), found: Vec::new() };
    walk.check(walk.shape(schema.as_value()), value, prefix);
    walk.found
}

/// Every text in `value` that holds a NUL: no program, no file and no environment takes one. Paths begin with `prefix`.
#[must_use]
pub fn nul_findings(value: &Value, prefix: &str) -> Vec<Finding> {
    match value {
        Value::String(text) if text.contains('\0') => {
            vec![Finding::new(prefix, "must not contain a NUL character")]
        }
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.flat_map(|(index, item)| nul_findings(item, &format!("{prefix}[{index}]"))).collect()
        }
        Value::Object(map) => {
            map.iter().flat_map(|(key, it)| nul_findings(it, &key_path(prefix, key))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// The path of a key below `path`; a key that is no plain name is quoted.
#[must_use]
pub fn key_path(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{}]", Value::from(key)),
    }
}

/// The known name that is most like `given`, when one is like it at all.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(&given, &name.to_lowercase()), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// `did you mean x?`, or the names there are.
pub(super) fn proposal(given: &str, known: &[&str]) -> String {
    match (nearest(given, known.iter().copied()), known) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, []) => "no value is allowed here".to_owned(),
        (None, [only]) => format!("the only allowed value is `{only}`"),
        (None, _) if known.len() > MAX_LISTED => {
            format!(
                "allowed values: {}, …",
                known.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ")
            )
        }
        (None, _) => format!("allowed values: {}", known.join(", ")),
    }
}

/// `did you mean x?`, or all keys there are: whoever looks for one must see them.
fn key_proposal(given: &str, known: &[&str]) -> String {
    match (nearest(given, known.iter().copied()), known) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, []) => "no key is allowed here".to_owned(),
        (None, [only]) => format!("the only key is `{only}`"),
        (None, _) => format!("the keys are {}", known.join(", ")),
    }
}

/// A schema with its references followed.
#[derive(Clone, Copy)]
struct Shape<'s>(&'s Value);

impl<'s> Shape<'s> {
    fn constant(self) -> Option<&'s str> {
        self.0.get("const").and_then(Value::as_str)
    }

    fn types(self) -> Vec<&'s str> {
        match self.0.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    fn properties(self) -> Option<&'s Map<String, Value>> {
        self.0.get("properties").and_then(Value::as_object)
    }

    fn required(self) -> impl Iterator<Item = &'s str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether a value of this JSON type may stand here at all.
    fn takes(self, value: &Value) -> bool {
        let types = self.types();
        types.is_empty() || types.iter().any(|name| is_of(value, name))
    }

    /// What would be right here, in words.
    fn words(self) -> String {
        if let Some(constant) = self.constant() {
            return format!("\"{constant}\"");
        }
        let mut tags = self.required();
        if let (Some(tag), None) = (tags.next(), tags.next())
            && self.properties().is_some_and(|properties| properties.len() == 1)
        {
            return format!("{{\"{tag}\": …}}");
        }
        let words: Vec<&str> =
            self.types().into_iter().filter(|name| *name != "null").map(type_in_words).collect();
        words.join(" or ")
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn type_in_words(name: &str) -> &str {
    match name {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

fn value_in_words(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The key that a path ends with, indexes left aside.
fn last_key(path: &str) -> &str {
    let path = path.trim_end_matches(|c: char| c == ']' || c.is_ascii_digit()).trim_end_matches('[');
    path.rsplit('.').next().filter(|key| !key.is_empty()).unwrap_or("value")
}

struct Walk<'s> {
    root: &'s Value,
    found: Vec<Finding>,
}

impl<'s> Walk<'s> {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.found.push(Finding::new(path, message));
    }

    fn shape(&self, mut schema: &'s Value) -> Shape<'s> {
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or(reference);
            let Some(found) = self.root.get("$defs").and_then(|defs| defs.get(name)) else { break };
            schema = found;
        }
        Shape(schema)
    }

    /// The shapes of which one must fit, nested choices laid flat; empty when there is no choice.
    fn alternatives(&self, shape: Shape<'s>) -> Vec<Shape<'s>> {
        let choice = ["oneOf", "anyOf"].iter().find_map(|key| shape.0.get(key)?.as_array());
        let mut flat = Vec::new();
        for schema in choice.into_iter().flatten() {
            let inner = self.shape(schema);
            match self.alternatives(inner) {
                nested if nested.is_empty() => flat.push(inner),
                nested => flat.extend(nested),
            }
        }
        flat
    }

    fn check(&mut self, shape: Shape<'s>, value: &Value, path: &str) {
        let alternatives = self.alternatives(shape);
        if !alternatives.is_empty() {
            return self.check_choice(&alternatives, value, path);
        }
        if let Some(constant) = shape.constant() {
            if value.as_str() != Some(constant) {
                self.add(path, format!("must be \"{constant}\""));
            }
            return;
        }
        if !shape.takes(value) {
            self.add(path, format!("must be {}, not {}", shape.words(), value_in_words(value)));
            return;
        }
        match value {
            Value::Object(map) => self.check_object(shape, map, path),
            Value::Array(list) => {
                if let Some(items) = shape.0.get("items") {
                    let items = self.shape(items);
                    for (index, item) in list.iter().enumerate() {
                        self.check(items, item, &format!("{path}[{index}]"));
                    }
                }
            }
            Value::Number(_) => self.check_range(shape, value, path),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    fn check_range(&mut self, shape: Shape<'s>, value: &Value, path: &str) {
        let (low, high): (i128, i128) = match shape.0.get("format").and_then(Value::as_str) {
            Some("uint8") => (0, u8::MAX.into()),
            Some("uint16") => (0, u16::MAX.into()),
            Some("uint32") => (0, u32::MAX.into()),
            Some("uint" | "uint64") => (0, u64::MAX.into()),
            Some("int32") => (i32::MIN.into(), i32::MAX.into()),
            _ => return,
        };
        let given = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        if given.is_some_and(|given| given < low || given > high) {
            self.add(path, format!("must be from {low} to {high}"));
        }
    }

    fn check_object(&mut self, shape: Shape<'s>, map: &Map<String, Value>, path: &str) {
        let properties = shape.properties();
        let known: Vec<&str> = properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let closed = shape.0.get("additionalProperties") == Some(&Value::Bool(false));
        let rest = shape.0.get("additionalProperties").filter(|rest| rest.is_object());
        let mut misspelt = Vec::new();
        for (key, value) in map {
            let below = key_path(path, key);
            if let Some(property) = properties.and_then(|all| all.get(key)) {
                self.check(self.shape(property), value, &below);
            } else if let Some(rest) = rest {
                self.check(self.shape(rest), value, &below);
            } else if closed {
                misspelt.extend(nearest(key, known.iter().copied()));
                self.add(below, format!("unknown key `{key}`; {}", key_proposal(key, &known)));
            }
        }
        for name in shape.required() {
            // A key that was only misspelt is said once.
            if !map.contains_key(name) && !misspelt.contains(&name) {
                self.add(key_path(path, name), "is missing");
            }
        }
    }

    fn check_choice(&mut self, alternatives: &[Shape<'s>], value: &Value, path: &str) {
        let constants: Vec<&str> = alternatives.iter().filter_map(|shape| shape.constant()).collect();
        let fitting: Vec<Shape<'s>> =
            alternatives.iter().copied().filter(|s| s.constant().is_none() && s.takes(value)).collect();
        match (value, fitting.as_slice()) {
            (Value::String(text), []) if !constants.is_empty() => {
                if !constants.contains(&text.as_str()) {
                    let kind = last_key(path);
                    self.add(
                        path,
                        format!("`{text}` is not a known `{kind}`; {}", proposal(text, &constants)),
                    );
                }
            }
            (_, []) => {
                let mut words: Vec<String> = Vec::new();
                for shape in alternatives {
                    let said = shape.words();
                    if !said.is_empty() && !words.contains(&said) {
                        words.push(said);
                    }
                }
                self.add(path, format!("must be {}, not {}", words.join(" or "), value_in_words(value)));
            }
            (_, [only]) => self.check(*only, value, path),
            (Value::Object(map), many) => self.check_tagged(many, map, value, path),
            (_, [first, ..]) => self.check(*first, value, path),
        }
    }

    /// Several kinds of object: the one that its tag names, else the one it is most like.
    fn check_tagged(&mut self, many: &[Shape<'s>], map: &Map<String, Value>, value: &Value, path: &str) {
        let tag_of = |shape: &Shape<'s>, key: &str| {
            shape.properties().and_then(|all| all.get(key)?.get("const")?.as_str())
        };
        let tag = many
            .iter()
            .filter_map(|shape| shape.properties())
            .flat_map(Map::keys)
            .find(|key| many.iter().all(|shape| tag_of(shape, key).is_some()));
        let Some(tag) = tag else {
            let like = |shape: &&Shape<'s>| {
                let shared = shape.properties().into_iter().flat_map(Map::keys);
                shared.filter(|key| map.contains_key(*key)).count()
            };
            if let Some(shape) = many.iter().max_by_key(like) {
                self.check(*shape, value, path);
            }
            return;
        };
        let names: Vec<&str> = many.iter().filter_map(|shape| tag_of(shape, tag)).collect();
        let below = key_path(path, tag);
        match map.get(tag) {
            None => self.add(below, format!("is missing: {}", names.join(" or "))),
            Some(Value::String(given)) => {
                match many.iter().find(|shape| tag_of(shape, tag) == Some(given.as_str())) {
                    Some(shape) => self.check(*shape, value, path),
                    None => self
                        .add(below, format!("`{given}` is not a known `{tag}`; {}", proposal(given, &names))),
                }
            }
            Some(other) => self.add(below, format!("must be text, not {}", value_in_words(other))),
        }
    }
}
