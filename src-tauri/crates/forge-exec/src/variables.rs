//! Environment variables by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::marker::MARKER_VARIABLE;

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// The environment that a process was started with, as the programs that it starts may inherit it: without the mark of
/// the run that the process itself belongs to.
#[must_use]
pub fn variables_of(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Arc<Variables> {
    let mut variables: Variables = environment.into_iter().collect();
    variables.remove(OsStr::new(MARKER_VARIABLE));
    Arc::new(variables)
}
