//! The names that a value offers which a file exports as a whole, and what kind of value it is.

use oxc_ast::{
    AstKind,
    ast::{
        BindingPattern, CallExpression, Class, ClassElement, Expression, LogicalOperator, ObjectExpression,
        ObjectPropertyKind, Statement, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
    },
};
use oxc_semantic::SymbolId;
use oxc_span::GetSpan as _;

use super::{
    bindings::is_module_exports,
    commonjs::{called, required},
    es,
    exports::Exports,
    module::Export,
    natures::Nature,
};

/// How far variables are followed to what they hold.
const MAX_DEPTH: usize = 16;

impl<'a> Exports<'_, '_, 'a> {
    pub(super) fn object(&mut self, object: &ObjectExpression<'a>) {
        for property in &object.properties {
            match property {
                // `{ __proto__: a }` inherits; the other ways to write the name set it.
                ObjectPropertyKind::ObjectProperty(property)
                    if !property.computed
                        && !property.shorthand
                        && !property.method
                        && property.key.static_name().is_some_and(|name| name == "__proto__") =>
                {
                    self.value(&property.value);
                }
                ObjectPropertyKind::ObjectProperty(property) => match property.key.static_name() {
                    Some(name) => self.define(&name, property.span.start),
                    None => self.module.opened("it exports a computed name"),
                },
                ObjectPropertyKind::SpreadProperty(spread) => self.value(&spread.argument),
            }
        }
    }

    /// The names that a value offers.
    pub(super) fn value(&mut self, value: &Expression<'a>) {
        match value.get_inner_expression() {
            Expression::AssignmentExpression(inner) => self.value(&inner.right),
            Expression::ObjectExpression(object) => self.object(object),
            Expression::ClassExpression(class) => self.class(class),
            Expression::Identifier(name) => {
                let reference = name.reference_id.get();
                match reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id()) {
                    Some(symbol) => self.symbol(symbol),
                    None if name.name == "undefined" => {}
                    None if name.name == "exports" => self.carried = true,
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
            Expression::StaticMemberExpression(member) if is_module_exports(member, self.semantic) => {
                self.carried = true;
            }
            _ => self.module.opened("its exports are computed"),
        }
    }

    fn call(&mut self, call: &CallExpression<'a>) {
        if let Some(specifier) = required(call, self.semantic) {
            return self.module.star(specifier);
        }
        let all = match called(&call.callee) {
            "Object.freeze" | "Object.seal" => call.arguments.iter().take(1),
            "Object.assign" => call.arguments.iter().take(usize::MAX),
            _ => return self.module.opened("its export is the result of a call"),
        };
        for argument in all {
            match argument.as_expression() {
                Some(value) => self.value(value),
                None => self.module.opened("its exports are computed"),
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
                Some(name) => self.define(&name, element.span().start),
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
        let scoping = self.semantic.scoping();
        // TypeScript joins a namespace to a function or a class of its name.
        for declaration in scoping.symbol_declarations(symbol) {
            if let AstKind::TSNamespaceDeclaration(namespace) = self.semantic.nodes().kind(declaration) {
                self.namespace(namespace);
            }
        }
        match self.semantic.symbol_declaration(symbol).kind() {
            AstKind::VariableDeclarator(declarator) => {
                match (&declarator.id, &declarator.init) {
                    (BindingPattern::BindingIdentifier(_), Some(init)) => self.value(init),
                    (BindingPattern::BindingIdentifier(_), None) => {}
                    _ => self.module.opened("its exports are computed"),
                }
                self.later_values(symbol);
            }
            AstKind::Function(_) => {}
            AstKind::Class(class) => self.class(class),
            AstKind::TSNamespaceDeclaration(_) => {}
            _ => self.module.opened("its exports are computed"),
        }
    }

    /// Values that a variable is given after it was declared.
    fn later_values(&mut self, symbol: SymbolId) {
        let nodes = self.semantic.nodes();
        for reference in self.semantic.symbol_references(symbol).filter(|reference| reference.is_write()) {
            match nodes.parent_kind(reference.node_id()) {
                AstKind::AssignmentExpression(assignment) => self.value(&assignment.right),
                _ => self.module.opened("its exports are computed"),
            }
        }
    }

    /// What a namespace exports, of which types know a part.
    fn namespace(&mut self, namespace: &TSNamespaceDeclaration<'a>) {
        let TSNamespaceDeclarationBody::TSModuleBlock(block) = &namespace.body else {
            return self.module.opened("it exports a namespace of namespaces");
        };
        for statement in &block.body {
            match statement {
                Statement::ExportDeclaration(export) => {
                    for (name, form) in es::declared(&export.declaration) {
                        self.module.names.entry(name).or_insert(Export::Local { form });
                    }
                }
                Statement::ExportNamedDeclaration(_) => self.module.opened("it exports a namespace"),
                _ => {}
            }
        }
    }

    /// What kind of value it may be; nothing where that cannot be told.
    pub(super) fn nature(&mut self, value: &Expression<'a>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let nature = match value.get_inner_expression() {
            Expression::AssignmentExpression(inner) => return self.nature(&inner.right, depth + 1),
            Expression::ConditionalExpression(inner) => {
                self.nature(&inner.consequent, depth + 1);
                return self.nature(&inner.alternate, depth + 1);
            }
            Expression::LogicalExpression(inner) => {
                // The left of `&&` is exported only where it is nothing.
                if inner.operator != LogicalOperator::And {
                    self.nature(&inner.left, depth + 1);
                }
                return self.nature(&inner.right, depth + 1);
            }
            Expression::SequenceExpression(inner) => {
                return inner.expressions.iter().last().map_or((), |last| self.nature(last, depth + 1));
            }
            Expression::CallExpression(call) => {
                let same = ["Object.freeze", "Object.seal", "Object.assign"].contains(&called(&call.callee));
                let first = call.arguments.first().and_then(|first| first.as_expression());
                return first.filter(|_| same).map_or((), |first| self.nature(first, depth + 1));
            }
            Expression::Identifier(name) => {
                let reference = name.reference_id.get();
                match reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id()) {
                    Some(symbol) => return self.nature_of(symbol, depth),
                    None if name.name == "undefined" => Nature::Nothing,
                    None if name.name == "exports" => Nature::Object,
                    None => return,
                }
            }
            Expression::StaticMemberExpression(member) if is_module_exports(member, self.semantic) => {
                Nature::Object
            }
            Expression::ObjectExpression(_) => Nature::Object,
            Expression::FunctionExpression(one) => {
                Nature::Function { constructs: one.generator || !one.r#async }
            }
            Expression::ClassExpression(_) => Nature::Function { constructs: true },
            Expression::ArrowFunctionExpression(_) => Nature::Function { constructs: false },
            Expression::ArrayExpression(_) => Nature::Array,
            Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => Nature::Text,
            Expression::NumericLiteral(_) => Nature::Number,
            Expression::BooleanLiteral(_) => Nature::Boolean,
            Expression::RegExpLiteral(_) => Nature::Pattern,
            Expression::NullLiteral(_) => Nature::Nothing,
            _ => return,
        };
        self.module.natures.insert(nature);
    }

    fn nature_of(&mut self, symbol: SymbolId, depth: usize) {
        let nodes = self.semantic.nodes();
        for reference in self.semantic.symbol_references(symbol).filter(|reference| reference.is_write()) {
            if let AstKind::AssignmentExpression(assignment) = nodes.parent_kind(reference.node_id()) {
                self.nature(&assignment.right, depth + 1);
            }
        }
        match self.semantic.symbol_declaration(symbol).kind() {
            AstKind::VariableDeclarator(declarator) if declarator.id.is_binding_identifier() => {
                if let Some(init) = &declarator.init {
                    self.nature(init, depth + 1);
                }
            }
            AstKind::Function(one) => {
                let constructs = one.generator || !one.r#async;
                self.module.natures.insert(Nature::Function { constructs });
            }
            AstKind::Class(_) => {
                self.module.natures.insert(Nature::Function { constructs: true });
            }
            _ => {}
        }
    }
}
