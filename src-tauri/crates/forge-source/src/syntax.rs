//! Whether a text is well formed in the language that its path's ending names.
//!
//! "Well formed" is what the language's own compiler or loader says before it runs anything: for scripts and
//! Python this includes errors that need scopes, like a name declared twice or `return` outside a function.

mod data;
#[cfg(feature = "go")]
mod go;
mod json;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "script")]
mod script;
mod utf8;
mod verdict;

use std::borrow::Cow;

use serde::Serialize;

use crate::{
    bounds::{MAX_BYTES, on_large_stack},
    files, nesting,
};

use utf8::strict;
pub use verdict::{Syntax, SyntaxError};

#[cfg(feature = "python")]
pub(crate) use python::read as python_text;
#[cfg(feature = "script")]
pub(crate) use script::{read as script_text, source_types};

/// What a path's ending says about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// JavaScript and TypeScript, with or without JSX.
    Script,
    /// Python 3.
    Python,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// JSON; with comments where the file's name says that its tools allow them.
    Json,
    /// TOML.
    Toml,
    /// YAML, one document or more.
    Yaml,
}

impl Language {
    /// The language of a path; `None` if its ending is none that is read here.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (stem, _) = files::name(path).rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Some(match files::ending(path).as_str() {
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "cts" => Self::Script,
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "json" | "jsonc" => Self::Json,
            "toml" => Self::Toml,
            "yaml" | "yml" => Self::Yaml,
            _ => return None,
        })
    }
}

/// Judges a text by its path's ending; `None` for an ending that is not known.
///
/// Blocks for as long as parsing takes, which [`MAX_BYTES`] bounds; [`within`](crate::within) runs it beside an
/// async runtime and gives up on it.
#[must_use]
pub fn syntax(path: &str, bytes: &[u8]) -> Option<Syntax> {
    let language = Language::of(path)?;
    Some(judge(language, path, bytes))
}

fn judge(language: Language, path: &str, bytes: &[u8]) -> Syntax {
    if bytes.len() > MAX_BYTES {
        return Syntax::Refused { reason: format!("it is larger than {} MB", MAX_BYTES / (1024 * 1024)) };
    }
    let text = match decoded(language, bytes) {
        Ok(text) => text,
        Err(verdict) => return verdict,
    };
    // The others are read without recursion, or by parsers that stop by themselves.
    let descends = matches!(language, Language::Script | Language::Python | Language::Rust);
    if descends && let Some(reason) = nesting::refusal(text.as_bytes(), has_markup(path)) {
        return Syntax::Refused { reason };
    }
    let parse = || match language {
        #[cfg(feature = "script")]
        Language::Script => script::check(path, &text),
        #[cfg(feature = "python")]
        Language::Python => python::check(&text),
        #[cfg(feature = "rust")]
        Language::Rust => rust::check(&text),
        #[cfg(feature = "go")]
        Language::Go => go::check(&text),
        Language::Json => {
            json::check(&text, json::comments_allowed(path)).map_or(Syntax::Sound, Syntax::Broken)
        }
        Language::Toml => data::toml(&text),
        Language::Yaml => data::yaml(&text),
        #[cfg(not(all(feature = "go", feature = "python", feature = "rust", feature = "script")))]
        _ => without_parser(),
    };
    on_large_stack(parse).unwrap_or_else(|error| Syntax::Refused { reason: error.to_string() })
}

/// Whether a script may hold elements; what is typed and not `.tsx` may not.
pub(crate) fn has_markup(path: &str) -> bool {
    matches!(files::ending(path).as_str(), "js" | "jsx" | "tsx")
}

/// The text of a file, without a byte order mark.
fn decoded(language: Language, bytes: &[u8]) -> Result<Cow<'_, str>, Syntax> {
    match language {
        #[cfg(feature = "script")]
        // As Node and browsers do: what is no UTF-8 becomes a replacement character.
        Language::Script => Ok(script::read(bytes)),
        #[cfg(feature = "python")]
        Language::Python => python::read(bytes),
        Language::Rust | Language::Go | Language::Json | Language::Toml | Language::Yaml => {
            strict(bytes).map_err(Syntax::Broken)
        }
        #[cfg(not(all(feature = "python", feature = "script")))]
        _ => Err(without_parser()),
    }
}

#[cfg(not(all(feature = "go", feature = "python", feature = "rust", feature = "script")))]
fn without_parser() -> Syntax {
    Syntax::Refused { reason: "this build has no parser for its language".to_owned() }
}
