//! `require`, and `import()`, which both kinds of modules know.

use std::collections::BTreeSet;

use oxc_ast::{
    AstKind,
    ast::{Argument, CallExpression, Expression, TSImportTypeQualifier},
};
use oxc_semantic::Semantic;

use super::{
    module::{Module, Request, Take, Via},
    uses::Uses,
};

/// The name of what is called, of at most two parts.
pub(super) fn called<'c>(callee: &'c Expression<'_>) -> &'c str {
    match callee.get_inner_expression() {
        Expression::Identifier(name) => name.name.as_str(),
        Expression::StaticMemberExpression(member) => match (&member.object, member.property.name.as_str()) {
            (Expression::Identifier(object), "defineProperty") if object.name == "Reflect" => {
                "Object.defineProperty"
            }
            (Expression::Identifier(object), name) if object.name == "Object" => match name {
                "defineProperty" => "Object.defineProperty",
                "defineProperties" => "Object.defineProperties",
                "assign" => "Object.assign",
                "freeze" => "Object.freeze",
                "seal" => "Object.seal",
                "keys" => "Object.keys",
                "setPrototypeOf" => "Object.setPrototypeOf",
                _ => "",
            },
            (_, "__exportStar") => "__exportStar",
            _ => "",
        },
        _ => "",
    }
}

/// The file that a call asks for, if it is `require("..")`.
pub(super) fn required<'c>(call: &'c CallExpression<'_>, semantic: &Semantic<'_>) -> Option<&'c str> {
    let Expression::Identifier(name) = &call.callee else { return None };
    if name.name != "require" || !semantic.is_reference_to_global_variable(name) {
        return None;
    }
    match call.arguments.first()? {
        Argument::StringLiteral(specifier) => Some(specifier.value.as_str()),
        Argument::TemplateLiteral(template) => template.single_quasi().map(|text| text.as_str()),
        _ => None,
    }
}

/// Reads every `require("..")`, `import("..")` and `import("..").Type`.
pub(super) fn read_requests(module: &mut Module, semantic: &Semantic<'_>) {
    for node in semantic.nodes().iter() {
        match node.kind() {
            AstKind::CallExpression(call) => {
                if let Some(specifier) = required(call, semantic) {
                    let mut uses = Uses::new(semantic);
                    uses.value(node.id());
                    push(module, specifier, Via::Require, uses.takes);
                } else if called(&call.callee) == "require" && !call.arguments.is_empty() {
                    module.computed_requests = true;
                }
            }
            AstKind::ImportExpression(import) => {
                let specifier = match &import.source {
                    Expression::StringLiteral(literal) => Some(literal.value.as_str()),
                    Expression::TemplateLiteral(template) => {
                        template.single_quasi().map(|text| text.as_str())
                    }
                    _ => None,
                };
                let Some(specifier) = specifier else {
                    module.computed_requests = true;
                    continue;
                };
                let mut uses = Uses::of_promise(semantic);
                uses.value(node.id());
                push(module, specifier, Via::Import, uses.takes);
            }
            AstKind::TSImportType(import) => {
                let take = match &import.qualifier {
                    Some(qualifier) => Take::Name { name: leftmost(qualifier), type_only: true },
                    None => Take::Opaque("its type is used as a whole".to_owned()),
                };
                push(module, import.source.value.as_str(), Via::Import, [take].into());
            }
            _ => {}
        }
    }
}

fn push(module: &mut Module, specifier: &str, via: Via, mut takes: BTreeSet<Take>) {
    if takes.is_empty() {
        takes.insert(Take::Nothing);
    }
    module.requests.push(Request { specifier: specifier.to_owned(), via, takes });
}

fn leftmost(qualifier: &TSImportTypeQualifier<'_>) -> String {
    match qualifier {
        TSImportTypeQualifier::Identifier(name) => name.name.to_string(),
        TSImportTypeQualifier::QualifiedName(name) => leftmost(&name.left),
    }
}
