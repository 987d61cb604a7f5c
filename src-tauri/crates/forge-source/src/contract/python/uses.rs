//! What one Python module does with the names that it has: which are used, and what is asked of them by dots.

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};

use super::module::{Module, catches, is_never, is_word};

/// What is raised for a name that is not there.
const MISSED: [&str; 4] = ["AttributeError", "NameError", "ImportError", "ModuleNotFoundError"];

pub(super) fn read(module: &mut Module, suite: &[Stmt]) {
    // Then annotations are never run.
    let kept_as_text = suite.iter().any(|stmt| {
        matches!(stmt, Stmt::ImportFrom(import)
            if import.module.as_deref() == Some("__future__")
                && import.names.iter().any(|alias| alias.name.as_str() == "annotations"))
    });
    Uses { module, optional: 0, functions: 0, kept_as_text }.visit_body(suite);
}

struct Uses<'m> {
    module: &'m mut Module,
    /// Places around in which a name need not be there.
    optional: usize,
    functions: usize,
    kept_as_text: bool,
}

impl Uses<'_> {
    fn optionally(&mut self, walk: impl FnOnce(&mut Self)) {
        self.optional += 1;
        walk(self);
        self.optional -= 1;
    }

    fn load(&mut self, name: &str) {
        *self.module.loads.entry(name.to_owned()).or_default() |= self.optional == 0;
    }

    /// `a.b.c` asks `a` for b, and `a.b` for c; only the whole chain is one use of `a`.
    fn chain(&mut self, whole: &Expr) {
        let mut rest = whole;
        let mut names = Vec::new();
        let mut read = true;
        while let Expr::Attribute(inner) = rest {
            if names.is_empty() {
                read = inner.ctx.is_load();
            }
            names.push(inner.attr.as_str());
            rest = &inner.value;
        }
        let Expr::Name(first) = rest else { return walk_expr(self, whole) };
        self.load(&first.id);
        let mut prefix = first.id.to_string();
        while let Some(name) = names.pop() {
            if read || !names.is_empty() {
                let asked = self.module.attributes.entry(prefix.clone()).or_default();
                *asked.entry(name.to_owned()).or_default() |= self.optional == 0;
            } else {
                self.module.written.insert((prefix.clone(), name.to_owned()));
            }
            prefix = format!("{prefix}.{name}");
        }
    }
}

impl Visitor<'_> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(_) => {
                self.functions += 1;
                walk_stmt(self, stmt);
                self.functions -= 1;
            }
            Stmt::Try(attempt) if catches(stmt, &MISSED) => {
                self.optionally(|uses| uses.visit_body(&attempt.body));
                for handler in &attempt.handlers {
                    self.visit_except_handler(handler);
                }
                self.visit_body(&attempt.orelse);
                self.visit_body(&attempt.finalbody);
            }
            Stmt::With(_) if catches(stmt, &MISSED) => self.optionally(|uses| walk_stmt(uses, stmt)),
            Stmt::If(branch) if is_never(&branch.test) || is_word(&branch.test, "TYPE_CHECKING") => {
                self.optionally(|uses| uses.visit_body(&branch.body));
                for clause in &branch.elif_else_clauses {
                    self.visit_elif_else_clause(clause);
                }
            }
            // Annotations of local variables are not evaluated, either.
            Stmt::AnnAssign(assignment) if self.functions > 0 => {
                self.optionally(|uses| uses.visit_expr(&assignment.annotation));
                self.visit_expr(&assignment.target);
                if let Some(value) = &assignment.value {
                    self.visit_expr(value);
                }
            }
            stmt => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, expr: &Expr) {
        if self.kept_as_text {
            self.optionally(|uses| uses.visit_expr(expr));
        } else {
            self.visit_expr(expr);
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Attribute(_) => self.chain(expr),
            Expr::Name(name) if name.ctx.is_load() => {
                self.load(&name.id);
                self.module.bare.insert(name.id.to_string());
            }
            expr => walk_expr(self, expr),
        }
    }
}
