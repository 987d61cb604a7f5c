//! Reads one Python module from its text.

use ruff_python_parser::parse_module;

use super::{module::Module, reader, uses};
use crate::{
    nesting,
    syntax::{Syntax, python_text},
};

/// Reads a module, or the stub of one; the error completes "could not read ...: ".
pub(super) fn read(bytes: &[u8], stub: bool) -> Result<Module, String> {
    let text = python_text(bytes).map_err(|verdict| match verdict {
        Syntax::Broken(error) => format!("syntax error ({error})"),
        Syntax::Refused { reason } => reason,
        Syntax::Sound => "it is not text".to_owned(),
    })?;
    if let Some(reason) = nesting::refusal(text.as_bytes(), false) {
        return Err(reason);
    }
    let parsed = parse_module(&text).map_err(|error| format!("syntax error ({})", error.error))?;
    let mut module = reader::read(parsed.suite(), stub);
    uses::read(&mut module, parsed.suite());
    Ok(module)
}
