//! What a file exports by `module.exports`, `exports` and its own `this`.
//!
//! Every use of them is looked at: what is none of the known forms may export anything, and is a reason why the
//! names are not all known. What is set on an object that is not the exported one in the end is no name; what is
//! set in a function that nothing is seen to run may be one.

use std::collections::{BTreeMap, BTreeSet};

use oxc_ast::{
    AstKind,
    ast::{
        Argument, AssignmentTarget, BindingPattern, CallExpression, Expression, LogicalOperator, Program,
        UnaryOperator,
    },
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan as _;

use super::{
    bindings::{Bindings, Name},
    commonjs::{called, required},
    module::{Export, Kind, Module},
    natures::Nature,
    runs::Runs,
};

/// Reads what a file exports that is no ES module.
pub(super) fn read(module: &mut Module, program: &Program<'_>, semantic: &Semantic<'_>) {
    let blank = module.clone();
    let mut reader = Exports::new(module, semantic, Bindings::read(program, semantic));
    reader.all();
    if reader.carried {
        // The object that was replaced lives on in the new one; then nothing that was set on it is lost.
        *module = blank;
        Exports::new(module, semantic, Bindings::unknown()).all();
    }
}

/// Reads what a value offers that stands for the whole module.
pub(super) fn read_value<'a>(module: &mut Module, semantic: &Semantic<'a>, value: &Expression<'a>) {
    let mut reader = Exports::new(module, semantic, Bindings::unknown());
    reader.value(value);
    reader.nature(value, 0);
}

pub(super) struct Exports<'r, 's, 'a> {
    pub module: &'r mut Module,
    pub semantic: &'s Semantic<'a>,
    pub seen: BTreeSet<SymbolId>,
    /// Whether the values that are set hold what `exports` meant.
    pub carried: bool,
    bindings: Bindings,
    runs: Runs<'s, 'a>,
    /// Whether what is read now may never run.
    deferred: bool,
    /// Where names are set for the last time.
    set: BTreeMap<String, u32>,
    /// Where names are deleted, and whether that surely runs.
    deleted: Vec<(String, u32, bool)>,
}

impl<'r, 's, 'a> Exports<'r, 's, 'a> {
    fn new(module: &'r mut Module, semantic: &'s Semantic<'a>, bindings: Bindings) -> Self {
        Self {
            module,
            semantic,
            seen: BTreeSet::new(),
            carried: false,
            bindings,
            runs: Runs::new(semantic),
            deferred: false,
            set: BTreeMap::new(),
            deleted: Vec::new(),
        }
    }

    fn all(&mut self) {
        for node in self.semantic.nodes().iter() {
            match node.kind() {
                AstKind::IdentifierReference(name) if self.semantic.is_reference_to_global_variable(name) => {
                    self.global(node.id(), name.name.as_str());
                }
                AstKind::ThisExpression(_) if self.is_own(node.id()) && self.bindings.is_original() => {
                    let (names, doubts) = (self.module.names.len(), self.module.open.len());
                    self.place(node.id());
                    if self.module.names.len() > names || self.module.open.len() > doubts {
                        self.module.kind = Kind::Common;
                    }
                }
                _ => {}
            }
        }
        if !self.module.whole {
            self.module.natures.insert(Nature::Object);
        }
        for (name, at, sure) in std::mem::take(&mut self.deleted) {
            if self.set.get(&name).is_some_and(|set| *set > at) {
                continue;
            }
            let export = if sure {
                Export::Gone("is deleted again")
            } else {
                Export::Unsure("it may be deleted again".to_owned())
            };
            self.module.names.insert(name, export);
        }
    }

    fn global(&mut self, node: NodeId, name: &str) {
        let nodes = self.semantic.nodes();
        let at = nodes.kind(node).span();
        match name {
            "exports" => {
                self.module.kind = Kind::Common;
                if self.is_exported(Name::Bare, node, at.end) {
                    self.place(node);
                }
            }
            "module" => self.module_object(node),
            "arguments" if self.is_own(node) => self.module.opened("it uses its call arguments"),
            "eval" if matches!(nodes.parent_kind(node), AstKind::CallExpression(call) if call.callee.span() == at) =>
            {
                self.module.opened("it evaluates a string as code");
            }
            _ => {}
        }
    }

    /// Whether what is done here is done to what is exported in the end.
    fn is_exported(&self, name: Name, node: NodeId, end: u32) -> bool {
        // A function that is not called where it stands runs when all is set.
        let at = if self.runs.is_later(node) { u32::MAX } else { end };
        // The target of an assignment means what it is given.
        let at = match self.semantic.nodes().parent_kind(node) {
            AstKind::AssignmentExpression(assignment) if assignment.left.span().end == end => {
                at.max(assignment.span.end)
            }
            _ => at,
        };
        self.bindings.is_exported(name, at)
    }

    /// Whether `this` and `arguments` are the file's own here.
    fn is_own(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        !nodes.ancestors(node).any(|ancestor| match ancestor.kind() {
            AstKind::Function(function) => !self.is_given_this(ancestor.id(), function.span),
            AstKind::ClassBody(_) | AstKind::TSModuleBlock(_) => true,
            _ => false,
        })
    }

    /// `function () {}.call(this)`
    fn is_given_this(&self, function: NodeId, span: oxc_span::Span) -> bool {
        let nodes = self.semantic.nodes();
        let mut holder = nodes.parent_id(function);
        while matches!(nodes.kind(holder), AstKind::ParenthesizedExpression(_)) {
            holder = nodes.parent_id(holder);
        }
        let AstKind::StaticMemberExpression(member) = nodes.kind(holder) else { return false };
        let AstKind::CallExpression(call) = nodes.parent_kind(holder) else { return false };
        let callee = call.callee.span();
        matches!(member.property.name.as_str(), "call" | "apply")
            && callee.start <= span.start
            && span.end <= callee.end
            && matches!(call.arguments.first(), Some(Argument::ThisExpression(_)))
    }

    pub(super) fn define(&mut self, name: &str, at: u32) {
        let last = self.set.entry(name.to_owned()).or_default();
        *last = at.max(*last);
        if self.deferred {
            let unsure = Export::Unsure("it is set in a function that may not have run".to_owned());
            self.module.names.entry(name.to_owned()).or_insert(unsure);
        } else {
            self.module.define(name);
        }
    }

    fn module_object(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::StaticMemberExpression(member) if member.property.name == "exports" => {
                self.module.kind = Kind::Common;
                if self.is_exported(Name::Whole, parent, member.span.end) {
                    self.place(parent);
                }
            }
            AstKind::ComputedMemberExpression(member) if matches!(&member.expression, Expression::StringLiteral(name) if name.value == "exports") =>
            {
                self.module.kind = Kind::Common;
                if self.is_exported(Name::Whole, parent, member.span.end) {
                    self.place(parent);
                }
            }
            AstKind::StaticMemberExpression(_)
            | AstKind::UnaryExpression(_)
            | AstKind::BinaryExpression(_)
            | AstKind::LogicalExpression(_)
            | AstKind::IfStatement(_) => {}
            _ => self.module.opened("its `module` object is passed on"),
        }
    }

    /// Looks at what is done with the object whose properties are the names.
    fn place(&mut self, node: NodeId) {
        let before = self.deferred;
        self.deferred |= self.runs.is_deferred(node);
        self.done(node);
        self.deferred = before;
    }

    fn done(&mut self, node: NodeId) {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(node).span();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::ParenthesizedExpression(_) | AstKind::TSAsExpression(_) => self.place(parent),
            AstKind::StaticMemberExpression(member) => self.member(parent, member.property.name.as_str()),
            AstKind::ComputedMemberExpression(member) if member.object.span() == span => {
                match &member.expression {
                    Expression::StringLiteral(name) => self.member(parent, name.value.as_str()),
                    _ if self.is_written(parent) => self.module.opened("it exports a computed name"),
                    _ => {}
                }
            }
            AstKind::AssignmentExpression(assignment) if assignment.left.span() == span => {
                // `exports = ..` alone only renames what `exports` means here.
                if !matches!(assignment.left, AssignmentTarget::AssignmentTargetIdentifier(_)) {
                    self.module.whole = true;
                    self.value(&assignment.right);
                    self.nature(&assignment.right, 0);
                    self.alias(parent);
                }
            }
            AstKind::AssignmentExpression(_) | AstKind::VariableDeclarator(_) => self.alias(node),
            AstKind::CallExpression(call) if call.callee.span() != span => self.handed(call, span),
            AstKind::NewExpression(call) if call.callee.span() != span => {
                self.module.opened("its exports are passed to a function");
            }
            // What tests it hands on only what it is not.
            AstKind::LogicalExpression(logical)
                if logical.operator == LogicalOperator::And && logical.left.span() == span => {}
            AstKind::ConditionalExpression(choice) if choice.test.span() == span => {}
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
            _ => self.module.opened("its exports are passed on"),
        }
    }

    /// A name is set, deleted or read.
    fn member(&mut self, member: NodeId, name: &str) {
        let nodes = self.semantic.nodes();
        let at = nodes.kind(member).span().start;
        let parent = nodes.parent_node(member);
        if matches!(parent.kind(), AstKind::UnaryExpression(unary) if unary.operator == UnaryOperator::Delete)
        {
            let statement = nodes.parent_node(parent.id());
            let sure = matches!(statement.kind(), AstKind::ExpressionStatement(_))
                && matches!(nodes.parent_kind(statement.id()), AstKind::Program(_));
            self.deleted.push((name.to_owned(), at, sure));
        } else if self.is_written(member) {
            if name == "__proto__" {
                return self.module.opened("it sets the prototype of its exports");
            }
            self.define(name, at);
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
                    self.module.opened("its exports are passed on");
                }
            }
            _ => {}
        }
    }

    pub(super) fn symbol_places(&mut self, symbol: SymbolId) {
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
                Some(Argument::StringLiteral(name)) => self.define(name.value.as_str(), call.span.start),
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
            ("Object.freeze" | "Object.seal" | "Object.keys", true) => {}
            // It is read; where its names go is seen where the result is.
            ("Object.assign", false) => {}
            // What the prototype offers is offered, too.
            ("Object.setPrototypeOf", true) => {
                match call.arguments.get(1).and_then(Argument::as_expression) {
                    Some(prototype) => self.value(prototype),
                    None => self.module.opened("it sets the prototype of its exports"),
                }
            }
            // What TypeScript makes of `export *`.
            (name, false) if name.ends_with("__exportStar") => {
                match first.and_then(|first| first.as_expression()) {
                    Some(Expression::CallExpression(inner)) if required(inner, self.semantic).is_some() => {
                        if let Some(specifier) = required(inner, self.semantic) {
                            self.module.star(specifier);
                        }
                    }
                    _ => self.module.opened("it re-exports * from a computed file name"),
                }
            }
            _ => self.module.opened("its exports are passed to a function"),
        }
    }
}
