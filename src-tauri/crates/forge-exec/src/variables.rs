//! Environment variables by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::marker::MARKER_VARIABLE;

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// This process's own environment, without what shells and Forge set for themselves.
#[must_use]
pub fn own_variables() -> Arc<Variables> {
    let mut own: Variables = std::env::vars_os().collect();
    own.remove(OsStr::new(MARKER_VARIABLE));
    Arc::new(own)
}
