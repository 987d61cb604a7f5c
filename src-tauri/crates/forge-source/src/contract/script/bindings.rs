//! Which object `exports` and `module.exports` mean at each place of a file.
//!
//! Only what surely runs counts: assignments of the file's own statements, outside of functions and branches.
//! The last one of `module.exports` says what the file exports; what was set on another object is lost.

use oxc_ast::{
    AstKind,
    ast::{
        AssignmentExpression, AssignmentOperator, AssignmentTarget, Expression, Program, Statement,
        StaticMemberExpression,
    },
};
use oxc_semantic::{Semantic, SymbolId};
use oxc_span::GetSpan as _;

/// An object, by where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    /// What Node gives every file.
    Original,
    /// Made by the expression that starts here.
    Made(u32),
    Unknown,
}

/// A name of that object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// `exports`
    Bare,
    /// `module.exports`
    Whole,
}

pub(super) struct Bindings {
    /// From where on a name means what, in their order.
    points: Vec<(u32, Name, Thing)>,
    exported: Thing,
}

impl Bindings {
    pub(super) fn read(program: &Program<'_>, semantic: &Semantic<'_>) -> Self {
        let mut reader = Reader { semantic, points: Vec::new() };
        let returns = first_return(semantic);
        for statement in &program.body {
            // What stands behind a `return` may not run.
            if statement.span().end > returns {
                break;
            }
            reader.statement(statement);
        }
        let exported = reader.thing_of(Name::Whole, u32::MAX);
        Self { points: reader.points, exported }
    }

    /// Nothing is lost: every object may be the one.
    pub(super) fn unknown() -> Self {
        Self { points: Vec::new(), exported: Thing::Unknown }
    }

    /// Whether what is set at a place on what a name means there is exported in the end.
    pub(super) fn is_exported(&self, name: Name, at: u32) -> bool {
        let meant = meant(&self.points, name, at);
        meant == self.exported || meant == Thing::Unknown || self.exported == Thing::Unknown
    }

    /// Whether what Node gave the file is exported in the end.
    pub(super) fn is_original(&self) -> bool {
        matches!(self.exported, Thing::Original | Thing::Unknown)
    }
}

fn meant(points: &[(u32, Name, Thing)], name: Name, at: u32) -> Thing {
    let known = points.iter().rev().find(|(from, named, _)| *named == name && *from <= at);
    known.map_or(Thing::Original, |(_, _, thing)| *thing)
}

fn first_return(semantic: &Semantic<'_>) -> u32 {
    let nodes = semantic.nodes();
    let returns = nodes.iter().filter(|node| matches!(node.kind(), AstKind::ReturnStatement(_)));
    let own = returns.filter(|node| {
        !nodes.ancestor_kinds(node.id()).any(|kind| {
            matches!(
                kind,
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) | AstKind::StaticBlock(_)
            )
        })
    });
    own.map(|node| node.kind().span().start).min().unwrap_or(u32::MAX)
}

/// Whether a member is `module.exports`.
pub(super) fn is_module_exports(member: &StaticMemberExpression<'_>, semantic: &Semantic<'_>) -> bool {
    member.property.name == "exports"
        && matches!(&member.object, Expression::Identifier(name)
            if name.name == "module" && semantic.is_reference_to_global_variable(name))
}

struct Reader<'s, 'a> {
    semantic: &'s Semantic<'a>,
    points: Vec<(u32, Name, Thing)>,
}

impl<'a> Reader<'_, 'a> {
    fn statement(&mut self, statement: &Statement<'a>) {
        match statement {
            Statement::ExpressionStatement(statement) => self.expression(&statement.expression),
            Statement::VariableDeclaration(variables) => {
                for init in variables.declarations.iter().filter_map(|one| one.init.as_ref()) {
                    self.expression(init);
                }
            }
            _ => {}
        }
    }

    /// What an expression surely assigns.
    fn expression(&mut self, expression: &Expression<'a>) {
        match expression.get_inner_expression() {
            Expression::SequenceExpression(sequence) => {
                sequence.expressions.iter().for_each(|one| self.expression(one));
            }
            Expression::AssignmentExpression(assignment)
                if assignment.operator == AssignmentOperator::Assign =>
            {
                self.expression(&assignment.right);
                if let Some(name) = self.target(assignment) {
                    let thing = self.thing(&assignment.right, 0);
                    self.points.push((assignment.span.end, name, thing));
                }
            }
            _ => {}
        }
    }

    fn target(&self, assignment: &AssignmentExpression<'a>) -> Option<Name> {
        match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(name)
                if name.name == "exports" && self.semantic.is_reference_to_global_variable(name) =>
            {
                Some(Name::Bare)
            }
            AssignmentTarget::StaticMemberExpression(member) if is_module_exports(member, self.semantic) => {
                Some(Name::Whole)
            }
            _ => None,
        }
    }

    fn thing_of(&self, name: Name, at: u32) -> Thing {
        meant(&self.points, name, at)
    }

    fn thing(&self, value: &Expression<'a>, depth: usize) -> Thing {
        let value = value.get_inner_expression();
        let at = value.span().start;
        match value {
            Expression::AssignmentExpression(inner) if inner.operator == AssignmentOperator::Assign => {
                self.thing(&inner.right, depth)
            }
            Expression::Identifier(name) => {
                let reference = name.reference_id.get();
                match reference.and_then(|id| self.semantic.scoping().get_reference(id).symbol_id()) {
                    Some(symbol) => self.variable(symbol, depth),
                    None if name.name == "exports" => self.thing_of(Name::Bare, at),
                    None => Thing::Unknown,
                }
            }
            Expression::StaticMemberExpression(member) if is_module_exports(member, self.semantic) => {
                self.thing_of(Name::Whole, at)
            }
            // It may give back what it is given, which is seen where its names are read.
            Expression::CallExpression(_)
            | Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::ConditionalExpression(_)
            | Expression::LogicalExpression(_)
            | Expression::NewExpression(_)
            | Expression::ObjectExpression(_)
            | Expression::ArrayExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ArrowFunctionExpression(_)
            | Expression::ClassExpression(_) => Thing::Made(at),
            value if value.is_literal() => Thing::Made(at),
            _ => Thing::Unknown,
        }
    }

    /// What a variable means that is never set again.
    fn variable(&self, symbol: SymbolId, depth: usize) -> Thing {
        let is_set = self.semantic.symbol_references(symbol).any(|reference| reference.is_write());
        if is_set || depth > 8 {
            return Thing::Unknown;
        }
        let declaration = self.semantic.symbol_declaration(symbol);
        match declaration.kind() {
            AstKind::VariableDeclarator(declarator) if declarator.id.is_binding_identifier() => {
                declarator.init.as_ref().map_or(Thing::Unknown, |init| self.thing(init, depth + 1))
            }
            AstKind::Function(function) => Thing::Made(function.span.start),
            AstKind::Class(class) => Thing::Made(class.span.start),
            _ => Thing::Unknown,
        }
    }
}
