//! Operations as types, and the client that calls them by their types.
//!
//! [`crate::operations`] has a type for each row of the table. A [`Client`] carries a name and JSON to an engine, in
//! this process or another one; [`Client::call`] makes them from the types, so that a wrong name, field or type does
//! not compile. Names that are known only while the program runs go through [`Client::send`].
//!
//! Deliberately absent: transports, events and files.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize as _, Serialize, de::DeserializeOwned};
use serde_json::Value;
use specta::Type;

/// An operation as a type.
pub trait Call {
    /// What it takes: the fields of its path, its query and its body.
    type Input: Serialize + DeserializeOwned + JsonSchema + Type + Send + 'static;
    /// What it answers.
    type Output: Serialize + DeserializeOwned + JsonSchema + Type + Send + 'static;
    /// Its name in the table.
    const NAME: &'static str;
}

/// An answer, as its type and as it was sent.
#[derive(Debug, Clone)]
pub struct Reply<T> {
    /// As its type.
    pub value: T,
    /// As it was sent: all fields in their order, also those of a newer engine, which the type does not have.
    pub json: Value,
}

impl<T> Deref for Reply<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// An input or an answer that is not of the contract.
#[derive(Debug, thiserror::Error)]
pub enum MisfitError {
    /// The input has no JSON form.
    #[error("Could not write the input of `{operation}`: {source}.")]
    Input {
        /// The operation.
        operation: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// The answer is not of the operation's type.
    #[error("Could not read the answer of `{operation}`: {source}.")]
    Output {
        /// The operation.
        operation: &'static str,
        /// Why.
        source: serde_json::Error,
    },
}

/// What carries calls to an engine.
pub trait Client: Sync {
    /// Why a call fails: refused, or not carried.
    type Error: From<MisfitError>;

    /// Does the operation of a name that is known only while the program runs.
    fn send(&self, operation: &str, input: Value) -> impl Future<Output = Result<Value, Self::Error>> + Send;

    /// Does one operation.
    fn call<C: Call>(
        &self,
        _: C,
        input: C::Input,
    ) -> impl Future<Output = Result<Reply<C::Output>, Self::Error>> + Send {
        async move {
            let operation = C::NAME;
            let input =
                serde_json::to_value(input).map_err(|source| MisfitError::Input { operation, source })?;
            let json = self.send(operation, input).await?;
            let value =
                C::Output::deserialize(&json).map_err(|source| MisfitError::Output { operation, source })?;
            Ok(Reply { value, json })
        }
    }
}
