//! Which parts of a file run when it is loaded: its own statements, functions that are called there, and those
//! that are given to something that may call them.

use std::collections::BTreeMap;

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan as _;

/// How far callers are followed to their callers.
const MAX_DEPTH: usize = 64;

pub(super) struct Runs<'s, 'a> {
    semantic: &'s Semantic<'a>,
    /// Functions by name: whether they are seen to run. One that is still looked at is not, so that functions
    /// that only call each other do not run.
    known: BTreeMap<SymbolId, bool>,
}

impl<'s, 'a> Runs<'s, 'a> {
    pub(super) fn new(semantic: &'s Semantic<'a>) -> Self {
        Self { semantic, known: BTreeMap::new() }
    }

    /// Whether a place lies in a function that nothing is seen to run.
    pub(super) fn is_deferred(&mut self, node: NodeId) -> bool {
        self.deferred(node, 0)
    }

    /// Whether a place lies in a function that is not called where it stands.
    pub(super) fn is_later(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        nodes.ancestors(node).any(|ancestor| {
            let span = match ancestor.kind() {
                AstKind::Function(function) => function.span,
                AstKind::ArrowFunctionExpression(function) => function.span,
                _ => return false,
            };
            match nodes.kind(self.holder(ancestor.id())) {
                AstKind::CallExpression(call) => {
                    let callee = call.callee.span();
                    span.start < callee.start || callee.end < span.end
                }
                AstKind::StaticMemberExpression(_) => false,
                _ => true,
            }
        })
    }

    /// What holds a function, parentheses aside.
    fn holder(&self, function: NodeId) -> NodeId {
        let nodes = self.semantic.nodes();
        let mut holder = nodes.parent_id(function);
        while matches!(nodes.kind(holder), AstKind::ParenthesizedExpression(_)) {
            holder = nodes.parent_id(holder);
        }
        holder
    }

    fn deferred(&mut self, node: NodeId, depth: usize) -> bool {
        let semantic = self.semantic;
        let nodes = semantic.nodes();
        nodes.ancestors(node).any(|ancestor| {
            let symbol = match ancestor.kind() {
                AstKind::Function(function) => function.id.as_ref().and_then(|id| id.symbol_id.get()),
                AstKind::ArrowFunctionExpression(_) => None,
                _ => return false,
            };
            let symbol = match nodes.kind(self.holder(ancestor.id())) {
                // Called at once, as by `.call(this)`, or given to what may call it.
                AstKind::CallExpression(_)
                | AstKind::NewExpression(_)
                | AstKind::StaticMemberExpression(_) => return false,
                AstKind::VariableDeclarator(declarator) => {
                    declarator.id.get_binding_identifier().and_then(|id| id.symbol_id.get())
                }
                _ => symbol,
            };
            !symbol.is_some_and(|symbol| depth < MAX_DEPTH && self.is_run(symbol, depth))
        })
    }

    /// Whether a function is called, or given to what may call it, where that runs.
    fn is_run(&mut self, symbol: SymbolId, depth: usize) -> bool {
        if let Some(known) = self.known.get(&symbol) {
            return *known;
        }
        self.known.insert(symbol, false);
        let semantic = self.semantic;
        let runs = semantic.symbol_references(symbol).any(|reference| {
            let parent = semantic.nodes().parent_kind(reference.node_id());
            matches!(parent, AstKind::CallExpression(_) | AstKind::NewExpression(_))
                && !self.deferred(reference.node_id(), depth + 1)
        });
        self.known.insert(symbol, runs);
        runs
    }
}
