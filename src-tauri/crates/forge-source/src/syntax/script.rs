//! JavaScript and TypeScript, by oxc: its parser, and its check of what needs scopes.

use std::borrow::Cow;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use super::{Syntax, SyntaxError};

/// The text of a script, as its engines decode it.
pub(crate) fn read(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// What a file may be, the likeliest first: a `.js` file's kind is not in its name.
pub(crate) fn source_types(path: &str) -> Vec<SourceType> {
    let Ok(named) = SourceType::from_path(path) else { return Vec::new() };
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "js" | "jsx" => {
            let named = named.with_jsx(true);
            vec![named.with_unambiguous(true), named.with_commonjs(true)]
        }
        "ts" | "tsx" => vec![named.with_unambiguous(true)],
        _ => vec![named],
    }
}

pub(super) fn check(path: &str, text: &str) -> Syntax {
    let mut first = None;
    for kind in source_types(path) {
        match attempt(text, kind) {
            Attempt { broken: None, .. } => return Syntax::Sound,
            Attempt { flow: true, .. } => {
                return Syntax::Refused {
                    reason: "it is written in Flow, which is not read here".to_owned(),
                };
            }
            // A module stays one: only a text without module syntax may be CommonJS.
            Attempt { broken: Some(error), module: true, .. } => return Syntax::Broken(error),
            Attempt { broken: Some(error), .. } => first = Some(error),
        }
    }
    first.map_or(Syntax::Sound, Syntax::Broken)
}

struct Attempt {
    broken: Option<SyntaxError>,
    module: bool,
    flow: bool,
}

fn attempt(text: &str, kind: SourceType) -> Attempt {
    let allocator = Allocator::default();
    let options = ParseOptions { parse_regular_expression: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, kind).with_options(options).parse();
    let module = parsed.module_record.has_module_syntax;
    let mut broken = first(text, &parsed.diagnostics);
    if broken.is_none() && !parsed.panicked {
        let checked = SemanticBuilder::new_compiler().build(&parsed.program);
        broken = first(text, &checked.diagnostics);
    }
    if broken.is_none() && parsed.panicked {
        broken = Some(SyntaxError::at(text, 0, "not readable as a script"));
    }
    Attempt { broken, module, flow: parsed.is_flow_language }
}

/// The error that stands first in the text.
fn first(text: &str, diagnostics: &oxc_diagnostics::Diagnostics) -> Option<SyntaxError> {
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == oxc_diagnostics::Severity::Error)
        .map(|diagnostic| (diagnostic.labels.first().map_or(0, |label| label.offset()), diagnostic))
        .min_by_key(|(offset, _)| *offset)
        .map(|(offset, diagnostic)| SyntaxError::at(text, offset as usize, diagnostic.message.to_string()))
}
