//! Reading columns into the model's types, with errors that name table and column.

use std::fmt::Display;

use forge_model::time::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use crate::StoreError;

/// One row, with typed access.
pub(crate) struct Columns<'a>(pub &'a SqliteRow);

fn corrupt(column: &str, source: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Corrupt { what: format!("column `{column}`"), source: Box::new(source) }
}

impl Columns<'_> {
    pub fn text<T: From<String>>(&self, column: &str) -> Result<T, StoreError> {
        Ok(self.0.try_get::<String, _>(column)?.into())
    }

    pub fn text_opt<T: From<String>>(&self, column: &str) -> Result<Option<T>, StoreError> {
        Ok(self.0.try_get::<Option<String>, _>(column)?.map(Into::into))
    }

    /// An integer of any width; one that does not fit is a damaged row, not a wrapped number.
    pub fn int<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError>
    where
        T::Error: std::error::Error + Send + Sync + 'static,
    {
        T::try_from(self.0.try_get::<i64, _>(column)?).map_err(|source| corrupt(column, source))
    }

    pub fn int_opt<T: TryFrom<i64>>(&self, column: &str) -> Result<Option<T>, StoreError>
    where
        T::Error: std::error::Error + Send + Sync + 'static,
    {
        let value: Option<i64> = self.0.try_get(column)?;
        value.map(T::try_from).transpose().map_err(|source| corrupt(column, source))
    }

    pub fn real_opt(&self, column: &str) -> Result<Option<f64>, StoreError> {
        Ok(self.0.try_get(column)?)
    }

    pub fn real(&self, column: &str) -> Result<f64, StoreError> {
        Ok(self.0.try_get(column)?)
    }

    pub fn flag(&self, column: &str) -> Result<bool, StoreError> {
        Ok(self.0.try_get::<i64, _>(column)? != 0)
    }

    pub fn time(&self, column: &str) -> Result<Timestamp, StoreError> {
        Ok(Timestamp(self.0.try_get(column)?))
    }

    pub fn time_opt(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.0.try_get::<Option<i64>, _>(column)?.map(Timestamp))
    }

    /// A name of a closed set.
    pub fn name<T: std::str::FromStr>(&self, column: &str) -> Result<T, StoreError>
    where
        T::Err: std::error::Error + Send + Sync + 'static,
    {
        self.0.try_get::<String, _>(column)?.parse().map_err(|source| corrupt(column, source))
    }

    pub fn name_opt<T: std::str::FromStr>(&self, column: &str) -> Result<Option<T>, StoreError>
    where
        T::Err: std::error::Error + Send + Sync + 'static,
    {
        let text: Option<String> = self.0.try_get(column)?;
        text.map(|text| text.parse()).transpose().map_err(|source| corrupt(column, source))
    }

    pub fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        let text: String = self.0.try_get(column)?;
        serde_json::from_str(&text).map_err(|source| corrupt(column, source))
    }

    pub fn json_opt<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text: Option<String> = self.0.try_get(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|source| corrupt(column, source))
    }
}

/// A value as the text of a JSON column.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| corrupt("value to store", source))
}

/// An optional value as the text of a JSON column.
pub(crate) fn json_opt<T: Serialize>(value: Option<&T>) -> Result<Option<String>, StoreError> {
    value.map(json).transpose()
}

/// An optional name as text.
pub(crate) fn text_opt(value: Option<impl Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Appends a list to search in, after `IN`.
///
/// The list is one parameter: a statement with a parameter per item would be another statement for each length, and
/// every connection keeps the statements that it has prepared.
pub(crate) fn push_list<T: Serialize>(
    query: &mut QueryBuilder<Sqlite>,
    items: &[T],
) -> Result<(), StoreError> {
    query.push("(SELECT value FROM json_each(").push_bind(json(items)?).push("))");
    Ok(())
}
