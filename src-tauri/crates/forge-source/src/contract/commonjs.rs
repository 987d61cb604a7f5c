//! `module.exports`, `exports` and `require`, and `import()`, which both kinds of modules know.
//!
//! Every use of `module` and `exports` is looked at: what is none of the known forms may export anything, and is
//! a reason why the names are not all known.

use std::collections::BTreeSet;

use oxc_ast::{
    AstKind,
    ast::{
        Argument, AssignmentTarget, BindingPattern, CallExpression, Class, ClassElement, Expression,
        ObjectExpression, ObjectPropertyKind, TSImportTypeQualifier,
    },
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan as _;

use super::{
    module::{Kind, Module, Request, Take, Via},
    uses::Uses,
};

/// Reads what a file exports by `module` and `exports`.
pub(super) fn read_exports(module: &mut Module, semantic: &Semantic<'_>) {
    let mut reader = Exports { module, semantic, seen: BTreeSet::new() };
    for node in semantic.nodes().iter() {
        let AstKind::IdentifierReference(name) = node.kind() else { continue };
        if !semantic.is_reference_to_global_variable(name) {
            continue;
        }
        match name.name.as_str() {
            "exports" => {
                reader.module.kind = Kind::Common;
                reader.place(node.id());
            }
            "module" => reader.module_object(node.id()),
            _ => {}
        }
    }
}

/// Reads what a value offers that stands for the whole module.
pub(super) fn read_value<'a>(module: &mut Module, semantic: &Semantic<'a>, value: &Expression<'a>) {
    Exports { module, semantic, seen: BTreeSet::new() }.value(value);
}

struct Exports<'r, 's, 'a> {
    module: &'r mut Module,
    semantic: &'s Semantic<'a>,
    seen: BTreeSet<SymbolId>,
}

impl<'a> Exports<'_, '_, 'a> {
    fn module_object(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::StaticMemberExpression(member) if member.property.name == "exports" => {
                self.module.kind = Kind::Common;
                self.place(parent);
            }
            AstKind::ComputedMemberExpression(member) if matches!(&member.expression, Expression::StringLiteral(name) if name.value == "exports") =>
            {
                self.module.kind = Kind::Common;
                self.place(parent);
            }
            AstKind::StaticMemberExpression(_)
            | AstKind::UnaryExpression(_)
            | AstKind::BinaryExpression(_)
            | AstKind::LogicalExpression(_)
            | AstKind::IfStatement(_) => {}
            _ => self.module.opened("its `module` object is handed on"),
        }
    }

    /// Looks at what is done with the object whose properties are the names.
    fn place(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(node).span();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::ParenthesizedExpression(_) | AstKind::TSAsExpression(_) => self.place(parent),
            AstKind::StaticMemberExpression(member) => {
                if self.is_written(parent) {
                    self.module.define(member.property.name.as_str());
                }
            }
            AstKind::ComputedMemberExpression(member) if member.object.span() == span => {
                match (&member.expression, self.is_written(parent)) {
                    (_, false) => {}
                    (Expression::StringLiteral(name), true) => self.module.define(name.value.as_str()),
                    (_, true) => self.module.opened("it exports a computed name"),
                }
            }
            AstKind::AssignmentExpression(assignment) if assignment.left.span() == span => {
                // `exports = ..` alone only renames what `exports` means here.
                if !matches!(assignment.left, AssignmentTarget::AssignmentTargetIdentifier(_)) {
                    self.module.whole = true;
                    self.value(&assignment.right);
                    self.alias(parent);
                }
            }
            AstKind::AssignmentExpression(_) | AstKind::VariableDeclarator(_) => self.alias(node),
            AstKind::CallExpression(call) if call.callee.span() != span => self.handed(call, span),
            AstKind::ExpressionStatement(_)
            | AstKind::UnaryExpression(_)
            | AstKind::BinaryExpression(_)
            | AstKind::IfStatement(_)
            | AstKind::CallExpression(_)
            | AstKind::NewExpression(_)
            | AstKind::ComputedMemberExpression(_)
            | AstKind::ExportSpecifier(_)
            | AstKind::TSExportAssignment(_)
            | AstKind::TSTypeQuery(_)
            | AstKind::TSTypeReference(_)
            | AstKind::SpreadElement(_) => {}
            _ => self.module.opened("what it exports is handed on within it"),
        }
    }

    /// Whether a member is set; reading one exports nothing.
    fn is_written(&self, member: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(member).span();
        match nodes.parent_kind(member) {
            AstKind::AssignmentExpression(assignment) => assignment.left.span() == span,
            AstKind::AssignmentTargetWithDefault(_)
            | AstKind::AssignmentTargetPropertyProperty(_)
            | AstKind::ArrayAssignmentTarget(_)
            | AstKind::AssignmentTargetRest(_)
            | AstKind::ForInStatement(_)
            | AstKind::ForOfStatement(_) => true,
            _ => false,
        }
    }

    /// `var api = module.exports = {}`: the variable's properties are exported, too.
    fn alias(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        match nodes.parent_kind(node) {
            AstKind::VariableDeclarator(declarator) => match &declarator.id {
                BindingPattern::BindingIdentifier(name) => {
                    if let Some(symbol) = name.symbol_id.get() {
                        self.symbol_places(symbol);
                    }
                }
                BindingPattern::ObjectPattern(_)
                | BindingPattern::ArrayPattern(_)
                | BindingPattern::AssignmentPattern(_) => {}
            },
            AstKind::AssignmentExpression(assignment) => {
                if let AssignmentTarget::AssignmentTargetIdentifier(name) = &assignment.left {
                    let reference = name.reference_id.get();
                    let symbol =
                        reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id());
                    if let Some(symbol) = symbol {
                        self.symbol_places(symbol);
                    }
                } else if !matches!(&assignment.left, AssignmentTarget::StaticMemberExpression(_)) {
                    self.module.opened("what it exports is handed on within it");
                }
            }
            _ => {}
        }
    }

    fn symbol_places(&mut self, symbol: SymbolId) {
        if !self.seen.insert(symbol) {
            return;
        }
        for reference in self.semantic.symbol_references(symbol) {
            if reference.is_read() {
                self.place(reference.node_id());
            }
        }
    }

    /// The object is an argument of a call.
    fn handed(&mut self, call: &CallExpression<'a>, span: oxc_span::Span) {
        let first = call.arguments.first();
        let is_first = first.is_some_and(|argument| argument.span() == span);
        let callee = called(&call.callee);
        match (callee, is_first) {
            ("Object.defineProperty" | "__defProp", true) => match call.arguments.get(1) {
                Some(Argument::StringLiteral(name)) => self.module.define(name.value.as_str()),
                // A symbol is no name that somebody could take.
                Some(Argument::StaticMemberExpression(member)) if matches!(&member.object, Expression::Identifier(object) if object.name == "Symbol") =>
                    {}
                _ => self.module.opened("it exports a computed name"),
            },
            ("Object.defineProperties", true) => match call.arguments.get(1) {
                Some(Argument::ObjectExpression(object)) => self.object(object),
                _ => self.module.opened("it exports computed names"),
            },
            ("Object.assign", true) => {
                for argument in call.arguments.iter().skip(1) {
                    match argument.as_expression() {
                        Some(value) => self.value(value),
                        None => self.module.opened("it exports computed names"),
                    }
                }
            }
            ("Object.freeze" | "Object.seal" | "Object.keys" | "Object.setPrototypeOf", true) => {}
            // What TypeScript makes of `export *`.
            (name, false) if name.ends_with("__exportStar") => {
                match first.and_then(|first| first.as_expression()) {
                    Some(Expression::CallExpression(inner)) if required(inner, self.semantic).is_some() => {
                        self.module.stars.extend(required(inner, self.semantic).map(str::to_owned));
                    }
                    _ => self.module.opened("it exports all of a file that is computed"),
                }
            }
            _ => self.module.opened("what it exports is handed to a function"),
        }
    }

    fn object(&mut self, object: &ObjectExpression<'a>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => match property.key.static_name() {
                    Some(name) => self.module.define(name),
                    None => self.module.opened("it exports a computed name"),
                },
                ObjectPropertyKind::SpreadProperty(spread) => self.value(&spread.argument),
            }
        }
    }

    /// The names that a value offers.
    fn value(&mut self, value: &Expression<'a>) {
        match value.get_inner_expression() {
            Expression::AssignmentExpression(inner) => self.value(&inner.right),
            Expression::ObjectExpression(object) => self.object(object),
            Expression::ClassExpression(class) => self.class(class),
            Expression::Identifier(name) => {
                let reference = name.reference_id.get();
                match reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id()) {
                    Some(symbol) => self.symbol(symbol),
                    None if matches!(name.name.as_str(), "undefined" | "exports") => {}
                    None => self.module.opened("it exports a global value"),
                }
            }
            Expression::ConditionalExpression(inner) => {
                self.value(&inner.consequent);
                self.value(&inner.alternate);
            }
            Expression::LogicalExpression(inner) => {
                self.value(&inner.left);
                self.value(&inner.right);
            }
            Expression::SequenceExpression(inner) => {
                if let Some(last) = inner.expressions.last() {
                    self.value(last);
                }
            }
            Expression::CallExpression(call) => self.call(call),
            Expression::FunctionExpression(_)
            | Expression::ArrowFunctionExpression(_)
            | Expression::StringLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::ArrayExpression(_)
            | Expression::RegExpLiteral(_) => {}
            Expression::StaticMemberExpression(member) if self.is_exports(member) => {}
            _ => self.module.opened("what it exports is computed"),
        }
    }

    fn is_exports(&self, member: &oxc_ast::ast::StaticMemberExpression<'_>) -> bool {
        member.property.name == "exports"
            && matches!(&member.object, Expression::Identifier(name)
                if name.name == "module" && self.semantic.is_reference_to_global_variable(name))
    }

    fn call(&mut self, call: &CallExpression<'a>) {
        if let Some(specifier) = required(call, self.semantic) {
            return self.module.stars.push(specifier.to_owned());
        }
        let all = match called(&call.callee) {
            "Object.freeze" | "Object.seal" => call.arguments.iter().take(1),
            "Object.assign" => call.arguments.iter().take(usize::MAX),
            _ => return self.module.opened("what it exports is the result of a call"),
        };
        for argument in all {
            match argument.as_expression() {
                Some(value) => self.value(value),
                None => self.module.opened("what it exports is computed"),
            }
        }
    }

    fn class(&mut self, class: &Class<'a>) {
        if class.heritage.is_some() {
            self.module.opened("it exports a class that inherits");
        }
        for element in &class.body.body {
            let key = match element {
                ClassElement::MethodDefinition(one) if one.r#static => &one.key,
                ClassElement::PropertyDefinition(one) if one.r#static => &one.key,
                ClassElement::AccessorProperty(one) if one.r#static => &one.key,
                ClassElement::StaticBlock(_) => {
                    self.module.opened("it exports a class that sets its own properties");
                    continue;
                }
                _ => continue,
            };
            match key.static_name() {
                Some(name) => self.module.define(name),
                None => self.module.opened("it exports a computed name"),
            }
        }
    }

    fn symbol(&mut self, symbol: SymbolId) {
        let known = !self.seen.contains(&symbol);
        self.symbol_places(symbol);
        if !known {
            return;
        }
        match self.semantic.symbol_declaration(symbol).kind() {
            AstKind::VariableDeclarator(declarator) => {
                match (&declarator.id, &declarator.init) {
                    (BindingPattern::BindingIdentifier(_), Some(init)) => self.value(init),
                    (BindingPattern::BindingIdentifier(_), None) => {}
                    _ => self.module.opened("what it exports is computed"),
                }
                self.later_values(symbol);
            }
            AstKind::Function(_) => {}
            AstKind::Class(class) => self.class(class),
            _ => self.module.opened("what it exports is computed"),
        }
    }

    /// Values that a variable is given after it was declared.
    fn later_values(&mut self, symbol: SymbolId) {
        let nodes = self.semantic.nodes();
        for reference in self.semantic.symbol_references(symbol).filter(|reference| reference.is_write()) {
            match nodes.parent_kind(reference.node_id()) {
                AstKind::AssignmentExpression(assignment) => self.value(&assignment.right),
                _ => self.module.opened("what it exports is computed"),
            }
        }
    }
}

/// The name of what is called, of at most two parts.
fn called<'c>(callee: &'c Expression<'_>) -> &'c str {
    match callee.get_inner_expression() {
        Expression::Identifier(name) => name.name.as_str(),
        Expression::StaticMemberExpression(member) => match (&member.object, member.property.name.as_str()) {
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
fn required<'c>(call: &'c CallExpression<'_>, semantic: &Semantic<'_>) -> Option<&'c str> {
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
                    None => Take::Opaque("its type is taken as a whole".to_owned()),
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
