//! Reads one script from its text alone.

use oxc_allocator::Allocator;
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::SemanticBuilder;

use super::{
    commonjs, es, exports,
    module::{Kind, Module},
};
use crate::{files, nesting, syntax};

/// Reads a script; the error completes "could not read ...: ".
pub(super) fn read(path: &str, bytes: &[u8]) -> Result<Module, String> {
    let text = syntax::script_text(bytes);
    if let Some(reason) = nesting::refusal(text.as_bytes(), syntax::has_markup(path)) {
        return Err(reason);
    }
    // What the parser could read in spite of an error is judged as well: the error is the syntax check's matter.
    for strict in [true, false] {
        for kind in syntax::source_types(path) {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, &text, kind).parse();
            let errors =
                parsed.diagnostics.iter().any(|one| one.severity == oxc_diagnostics::Severity::Error);
            let usable = !parsed.panicked && (!strict || !errors);
            if usable {
                return Ok(summed_up(path, &parsed));
            }
        }
    }
    Err("syntax error".to_owned())
}

fn summed_up<'a>(path: &str, parsed: &'a ParserReturn<'a>) -> Module {
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    let is_es = parsed.module_record.has_module_syntax || es::has_module_syntax(&parsed.program);
    let mut module = Module::new(if is_es { Kind::Es } else { Kind::Plain });
    if is_es {
        es::read(&mut module, path, &parsed.program, &semantic);
    } else {
        exports::read(&mut module, &parsed.program, &semantic);
    }
    commonjs::read_requests(&mut module, &semantic);
    let wraps = matches!(files::ending(path).as_str(), "cjs" | "cts");
    if module.kind == Kind::Plain && (wraps || !module.requests.is_empty()) {
        module.kind = Kind::Common;
    }
    module
}
