//! Changes that are sent again: a client whose connection was cut repeats its request with the same key, and is given the
//! answer of the first one.
//!
//! Invariants: of the requests with one key, one is performed; another one waits for its answer. A key that comes with
//! another request is refused. Answers are kept in this process alone, for a while and up to a number: a client learns
//! from the engine's process whether a repetition is safe. What was asked is not kept, only what tells it from something
//! else: it may be what a person typed to a terminal.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use forge_api::ApiError;
use serde_json::Value;
use tokio::sync::SetOnce;

/// Names a request that may come again.
const HEADER: &str = "idempotency-key";
/// The longest key, in bytes.
const MAX_KEY: usize = 128;
/// How long an answer is kept.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// How many requests are known at once.
const MOST: usize = 1024;

type Answer = Arc<SetOnce<Result<Value, ApiError>>>;

/// The requests that may come again.
#[derive(Clone, Default)]
pub(crate) struct Repeats {
    known: Arc<Mutex<HashMap<String, Known>>>,
    /// Its keys are secret: what was asked is not found out from its number.
    numbers: RandomState,
}

struct Known {
    operation: &'static str,
    /// The number of the input.
    input: u64,
    answer: Answer,
    at: Instant,
}

/// What becomes of a request.
pub(crate) enum Turn {
    /// It is performed; whoever repeats it waits for this.
    First(Answer),
    /// It was sent before.
    Again(Answer),
}

/// The key of a request, if it has one.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= MAX_KEY => Ok(Some(key.to_owned())),
        _ => {
            Err(ApiError::invalid("Idempotency-Key", &format!("must have 1 to {MAX_KEY} visible characters")))
        }
    }
}

impl Repeats {
    /// Whether a request is the first of its key.
    pub(crate) fn turn(&self, key: String, operation: &'static str, input: &Value) -> Result<Turn, ApiError> {
        self.turn_at(key, operation, input, Instant::now())
    }

    fn turn_at(
        &self,
        key: String,
        operation: &'static str,
        input: &Value,
        now: Instant,
    ) -> Result<Turn, ApiError> {
        let input = self.numbers.hash_one(input.to_string());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, it| it.answer.get().is_none() || now.duration_since(it.at) < KEPT_FOR);
        if let Some(before) = known.get(&key) {
            if before.operation != operation || before.input != input {
                return Err(ApiError::invalid("Idempotency-Key", "was used for another request"));
            }
            return Ok(Turn::Again(Arc::clone(&before.answer)));
        }
        if known.len() >= MOST {
            let oldest = known.iter().filter(|(_, it)| it.answer.get().is_some()).min_by_key(|(_, it)| it.at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                known.remove(&oldest);
            }
        }
        let answer = Answer::default();
        let first = Known { operation, input, answer: Arc::clone(&answer), at: now };
        known.insert(key, first);
        Ok(Turn::First(answer))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_first(turn: &Turn) -> bool {
        matches!(turn, Turn::First(_))
    }

    #[tokio::test]
    async fn repetition_is_given_the_answer_of_the_first_request() {
        let repeats = Repeats::default();
        let input = json!({ "task_id": "t" });
        let Ok(Turn::First(answer)) = repeats.turn("k".to_owned(), "task_move", &input) else {
            panic!("first")
        };
        let Ok(Turn::Again(again)) = repeats.turn("k".to_owned(), "task_move", &input) else {
            panic!("again")
        };
        assert!(answer.set(Ok(json!(1))).is_ok());
        assert_eq!(again.wait().await.as_ref().unwrap(), &json!(1));
        assert!(is_first(&repeats.turn("other".to_owned(), "task_move", &input).unwrap()));
        let misused = repeats.turn("k".to_owned(), "task_move", &json!({})).err().unwrap();
        assert_eq!(misused.code, "invalid");
    }

    #[test]
    fn answers_are_forgotten_after_a_while_and_open_requests_are_not() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        let turn = |key: &str, at| repeats.turn_at(key.to_owned(), "x", &json!({}), at).unwrap();
        let Turn::First(answer) = turn("done", now) else { panic!("first") };
        assert!(answer.set(Ok(Value::Null)).is_ok());
        assert!(is_first(&turn("open", now)));
        let later = now + KEPT_FOR;
        assert!(is_first(&turn("done", later)));
        assert!(!is_first(&turn("open", later)));
    }

    #[test]
    fn key_that_is_empty_or_long_is_refused() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, value.parse().unwrap());
            key_of(&headers).map_err(|error| error.code)
        };
        assert_eq!(of("0190-ab"), Ok(Some("0190-ab".to_owned())));
        assert_eq!(of(""), Err("invalid".to_owned()));
        assert_eq!(of(&"k".repeat(129)), Err("invalid".to_owned()));
    }
}
