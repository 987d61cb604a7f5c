//! JavaScript and TypeScript, by oxc: its parser, and its check of what needs scopes.

use std::borrow::Cow;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Program, TSConstructorType, TSFunctionType, TSInterfaceBody, TSSignature, TSTypeLiteral};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan as _, SourceType};

use super::verdict::{Syntax, SyntaxError};
use crate::files;

/// The text of a script, as its engines decode it.
pub(crate) fn read(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// What a file may be, the likeliest first: a `.js` file's kind is not in its name.
pub(crate) fn source_types(path: &str) -> Vec<SourceType> {
    let name = files::name(path).to_ascii_lowercase();
    let Ok(named) = SourceType::from_path(&name) else { return Vec::new() };
    match files::ending(path).as_str() {
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
                return Syntax::Refused { reason: "it uses Flow, which is not supported".to_owned() };
            }
            // A module stays one: only a text without module syntax may be CommonJS.
            Attempt { broken: Some(error), module: true, .. } => return Syntax::Broken(error),
            Attempt { broken: Some(error), .. } => first = Some(error),
        }
    }
    match first {
        Some(error) => Syntax::Broken(error),
        None => Syntax::Refused { reason: "its file extension is not that of a script".to_owned() },
    }
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
    if broken.is_none() && kind.is_typescript() {
        broken = forgiven(text, &parsed.program);
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

/// What the parser forgives in types: members that nothing parts (`{ a: b c: d }`), another sign than `=>`.
fn forgiven(text: &str, program: &Program<'_>) -> Option<SyntaxError> {
    let mut members = Members { text, found: None };
    members.visit_program(program);
    members.found.map(|(offset, message)| SyntaxError::at(text, offset, message))
}

struct Members<'t> {
    text: &'t str,
    found: Option<(usize, &'static str)>,
}

impl Members<'_> {
    fn found(&mut self, offset: usize, message: &'static str) {
        if self.found.is_none_or(|(found, _)| offset < found) {
            self.found = Some((offset, message));
        }
    }

    /// What stands between the parameters and the result of a function's type.
    fn arrow(&mut self, start: u32, end: u32) {
        let between = self.text.get(start as usize..end as usize);
        if between.is_some_and(|text| !text.contains("=>")) {
            self.found(start as usize, "Expected `=>` behind the parameters of a function's type");
        }
    }

    fn check(&mut self, members: &[TSSignature<'_>]) {
        for pair in members.windows(2) {
            let (start, next) = (pair[0].span().start as usize, pair[1].span().start as usize);
            let end = pair[0].span().end as usize;
            let parted = self.text.get(start..next).is_none_or(|text| text.trim_end().ends_with([';', ',']))
                || self
                    .text
                    .get(end..next)
                    .is_none_or(|gap| gap.contains([';', ',', '\n', '\r', '\u{2028}', '\u{2029}']));
            if !parted {
                self.found(next, "Expected `;` or `,` between the members of a type");
            }
        }
    }
}

impl<'a> Visit<'a> for Members<'_> {
    fn visit_ts_function_type(&mut self, function: &TSFunctionType<'a>) {
        let (start, end) = (function.params.span.end, function.return_type.type_annotation.span().start);
        self.arrow(start, end);
        walk::walk_ts_function_type(self, function);
    }

    fn visit_ts_constructor_type(&mut self, constructor: &TSConstructorType<'a>) {
        let (start, end) =
            (constructor.params.span.end, constructor.return_type.type_annotation.span().start);
        self.arrow(start, end);
        walk::walk_ts_constructor_type(self, constructor);
    }

    fn visit_ts_type_literal(&mut self, literal: &TSTypeLiteral<'a>) {
        self.check(&literal.members);
        walk::walk_ts_type_literal(self, literal);
    }

    fn visit_ts_interface_body(&mut self, body: &TSInterfaceBody<'a>) {
        self.check(&body.body);
        walk::walk_ts_interface_body(self, body);
    }
}
