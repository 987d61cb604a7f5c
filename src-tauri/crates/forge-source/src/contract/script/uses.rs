//! What becomes of a value that stands for another file: which of its names are asked for.

use std::collections::BTreeSet;

use oxc_ast::{
    AstKind,
    ast::{
        AssignmentTarget, AssignmentTargetMaybeDefault, BindingPattern, Expression,
        JSXMemberExpressionObject, ObjectPattern, TSTypeName, UnaryOperator,
    },
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan as _;

use super::module::Take;

enum Handling {
    Taken,
    Tested,
    Put,
}

/// Follows values through one file.
pub(super) struct Uses<'s, 'a> {
    semantic: &'s Semantic<'a>,
    seen: BTreeSet<usize>,
    pub(super) takes: BTreeSet<Take>,
    /// Of a promise: what it resolves to is the file.
    promise: bool,
}

impl<'s, 'a> Uses<'s, 'a> {
    pub(super) fn new(semantic: &'s Semantic<'a>) -> Self {
        Self { semantic, seen: BTreeSet::new(), takes: BTreeSet::new(), promise: false }
    }

    /// What `import()` gives.
    pub(super) fn of_promise(semantic: &'s Semantic<'a>) -> Self {
        Self { promise: true, ..Self::new(semantic) }
    }

    fn name(&mut self, name: impl Into<String>) {
        self.takes.insert(Take::Name { name: name.into(), type_only: false });
    }

    fn opaque(&mut self, reason: &str) {
        self.takes.insert(Take::Opaque(reason.to_owned()));
    }

    /// Every use of a variable.
    pub(super) fn symbol(&mut self, symbol: SymbolId) {
        if !self.seen.insert(usize::from(symbol)) {
            return;
        }
        for reference in self.semantic.symbol_references(symbol) {
            if !reference.is_write() || reference.is_read() {
                self.value(reference.node_id());
            }
        }
    }

    fn bound(&mut self, pattern: &BindingPattern<'_>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                if let Some(symbol) = name.symbol_id.get() {
                    self.symbol(symbol);
                }
            }
            BindingPattern::ObjectPattern(pattern) => self.object(pattern),
            BindingPattern::AssignmentPattern(inner) => self.bound(&inner.left),
            BindingPattern::ArrayPattern(_) => self.opaque("it is destructured as an array"),
        }
    }

    fn object(&mut self, pattern: &ObjectPattern<'_>) {
        for property in &pattern.properties {
            match property.key.static_name() {
                Some(name) if property.value.is_assignment_pattern() => {
                    self.takes.insert(Take::Optional(name.into_owned()));
                }
                Some(name) => self.name(name),
                _ => self.opaque("one of its names is computed"),
            }
        }
        if pattern.rest.is_some() || pattern.properties.is_empty() {
            self.takes.insert(Take::Link);
        }
    }

    /// What is done with the value of the expression at a node.
    pub(super) fn value(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(node).span();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::ParenthesizedExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::TSSatisfiesExpression(_)
            | AstKind::TSTypeAssertion(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::ChainExpression(_) => self.value(parent),
            AstKind::AwaitExpression(_) => {
                let promise = std::mem::replace(&mut self.promise, false);
                self.value(parent);
                self.promise = promise;
            }
            AstKind::StaticMemberExpression(member) if member.object.span() == span => {
                self.member(parent, &member.property.name);
            }
            AstKind::ComputedMemberExpression(member) if member.object.span() == span => {
                match &member.expression {
                    Expression::StringLiteral(name) => self.member(parent, name.value.as_str()),
                    _ => self.opaque("one of its names is computed"),
                }
            }
            AstKind::JSXMemberExpression(member) if matches!(&member.object, JSXMemberExpressionObject::IdentifierReference(object) if object.span == span) =>
            {
                self.name(member.property.name.as_str());
            }
            AstKind::TSQualifiedName(name) if matches!(&name.left, TSTypeName::IdentifierReference(left) if left.span == span) =>
            {
                self.takes.insert(Take::Name { name: name.right.name.to_string(), type_only: true });
            }
            AstKind::ExpressionStatement(_) => {
                self.takes.insert(Take::Link);
            }
            AstKind::UnaryExpression(_) => {
                self.takes.insert(Take::Link);
            }
            AstKind::VariableDeclarator(_) if self.promise => self.opaque("its promise is stored"),
            AstKind::VariableDeclarator(declarator) => self.bound(&declarator.id),
            AstKind::AssignmentExpression(assignment) if assignment.right.span() == span && !self.promise => {
                self.assigned(&assignment.left);
            }
            AstKind::CallExpression(call) if call.callee.span() == span => {
                self.takes.insert(Take::Whole);
            }
            AstKind::NewExpression(call) if call.callee.span() == span => {
                self.takes.insert(Take::Whole);
            }
            AstKind::Class(_)
            | AstKind::TaggedTemplateExpression(_)
            | AstKind::JSXOpeningElement(_)
            | AstKind::JSXClosingElement(_)
            | AstKind::TSTypeReference(_) => {
                self.takes.insert(Take::Whole);
            }
            _ => self.opaque("it is passed on as a whole"),
        }
    }

    fn member(&mut self, member: NodeId, name: &str) {
        if !self.promise {
            let name = name.to_owned();
            let take = match self.handling(member) {
                Handling::Taken => Take::Name { name, type_only: false },
                Handling::Tested => Take::Tested(name),
                Handling::Put => Take::Put(name),
            };
            self.takes.insert(take);
            return;
        }
        let nodes = self.semantic.nodes();
        let AstKind::CallExpression(call) = nodes.parent_kind(member) else {
            return self.opaque("its promise is passed on");
        };
        match name {
            "then" => {
                let parameters = match call.arguments.first().and_then(|argument| argument.as_expression()) {
                    Some(Expression::ArrowFunctionExpression(function)) => &function.params,
                    Some(Expression::FunctionExpression(function)) => &function.params,
                    _ => return self.opaque("its promise is passed on"),
                };
                let promise = std::mem::replace(&mut self.promise, false);
                match parameters.items.first() {
                    Some(first) => self.bound(&first.pattern),
                    None => {
                        self.takes.insert(Take::Link);
                    }
                }
                self.promise = promise;
            }
            "catch" | "finally" => self.value(nodes.parent_id(member)),
            _ => self.opaque("its promise is passed on"),
        }
    }

    /// What is done with the value of a member.
    fn handling(&self, member: NodeId) -> Handling {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(member).span();
        let tested = match nodes.parent_kind(member) {
            AstKind::AssignmentExpression(assignment) if assignment.left.span() == span => {
                if assignment.operator.is_assign() {
                    return Handling::Put;
                }
                assignment.operator.is_logical()
            }
            AstKind::UnaryExpression(unary) => {
                matches!(
                    unary.operator,
                    UnaryOperator::Typeof | UnaryOperator::LogicalNot | UnaryOperator::Delete
                )
            }
            AstKind::LogicalExpression(logical) => logical.left.span() == span,
            AstKind::ConditionalExpression(choice) => choice.test.span() == span,
            AstKind::IfStatement(branch) => branch.test.span() == span,
            AstKind::StaticMemberExpression(inner) => inner.optional,
            AstKind::ComputedMemberExpression(inner) => inner.optional && inner.object.span() == span,
            AstKind::CallExpression(call) => call.optional && call.callee.span() == span,
            AstKind::BinaryExpression(comparison) => {
                let nothing = |one: &Expression<'_>| one.is_null_or_undefined() || one.is_void();
                comparison.operator.is_equality() && (nothing(&comparison.left) || nothing(&comparison.right))
            }
            _ => false,
        };
        if tested { Handling::Tested } else { Handling::Taken }
    }

    fn assigned(&mut self, target: &AssignmentTarget<'_>) {
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                let reference = name.reference_id.get();
                match reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id()) {
                    Some(symbol) => self.symbol(symbol),
                    None => self.opaque("it is passed on as a whole"),
                }
            }
            AssignmentTarget::ObjectAssignmentTarget(target) => {
                for property in &target.properties {
                    use oxc_ast::ast::AssignmentTargetProperty as Property;
                    match property {
                        Property::AssignmentTargetPropertyIdentifier(property) if property.init.is_some() => {
                            self.takes.insert(Take::Optional(property.binding.name.to_string()));
                        }
                        Property::AssignmentTargetPropertyIdentifier(property) => {
                            self.name(property.binding.name.as_str());
                        }
                        Property::AssignmentTargetPropertyProperty(property) => {
                            let stands_in = matches!(
                                property.binding,
                                AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(_)
                            );
                            match property.name.static_name() {
                                Some(name) if stands_in => {
                                    self.takes.insert(Take::Optional(name.into_owned()));
                                }
                                Some(name) => self.name(name),
                                None => self.opaque("one of its names is computed"),
                            }
                        }
                    }
                }
            }
            // `module.exports = require(..)`: whatever there is.
            AssignmentTarget::StaticMemberExpression(member) if member.property.name == "exports" => {
                self.takes.insert(Take::Link);
            }
            _ => self.opaque("it is passed on as a whole"),
        }
    }
}
