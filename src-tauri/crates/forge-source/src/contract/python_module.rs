//! What one Python module binds and takes, read from its text alone.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{
    self as ast, Expr, Pattern, Stmt,
    visitor::{Visitor, walk_expr, walk_pattern, walk_stmt},
};
use ruff_python_parser::parse_module;

use crate::{
    nesting,
    syntax::{Syntax, python_text},
};

/// What `__all__` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum All {
    /// There is none: whatever does not begin with an underscore.
    #[default]
    Public,
    Names(BTreeSet<String>),
    Computed,
}

/// How a module is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// `from m import name as local`.
    Name { name: String, local: String },
    /// `from m import *`.
    Star,
    /// `import m`, used by these words before a name: `m.` or what it is called here.
    Module { prefix: String },
}

/// One import.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Dots before the name.
    pub level: u32,
    pub module: String,
    pub what: What,
    /// Under `if TYPE_CHECKING`.
    pub typing: bool,
}

/// A module, read.
#[derive(Debug, Clone, Default)]
pub(super) struct Module {
    /// Names at its top, and whether only type checkers see them.
    pub names: BTreeMap<String, bool>,
    pub all: All,
    pub stars: Vec<(u32, String)>,
    /// Why there may be more names.
    pub open: Vec<String>,
    pub requests: Vec<Request>,
    /// What is asked of names by dots, as `a.b` to `{c, d}` for `a.b.c` and `a.b.d`.
    pub attributes: BTreeMap<String, BTreeSet<String>>,
    /// Names that are used in another way than by their attributes.
    pub bare: BTreeSet<String>,
    /// How often a name is bound anywhere in the file.
    pub bindings: BTreeMap<String, usize>,
}

/// Reads a module; the error completes "... cannot be read: ".
pub(super) fn read(bytes: &[u8]) -> Result<Module, String> {
    let text = python_text(bytes).map_err(|verdict| match verdict {
        Syntax::Broken(error) => format!("it is not well formed ({error})"),
        Syntax::Refused { reason } => reason,
        Syntax::Sound => "it is no text".to_owned(),
    })?;
    if let Some(reason) = nesting::refusal(text.as_bytes(), false) {
        return Err(reason);
    }
    let parsed = parse_module(&text).map_err(|error| format!("it is not well formed ({})", error.error))?;
    let mut reader = Reader { module: Module::default(), inside: 0, typing: false, branches: 0 };
    reader.visit_body(parsed.suite());
    let mut uses = Attributes(&mut reader.module);
    uses.visit_body(parsed.suite());
    Ok(reader.module)
}

struct Reader {
    module: Module,
    /// Functions and classes around.
    inside: usize,
    typing: bool,
    /// Statements around that may not run.
    branches: usize,
}

impl Reader {
    fn bind(&mut self, name: &str) {
        *self.module.bindings.entry(name.to_owned()).or_default() += 1;
        if self.inside == 0 {
            let typing = self.typing;
            let known = self.module.names.entry(name.to_owned()).or_insert(typing);
            *known &= typing;
        }
    }

    fn open(&mut self, reason: &str) {
        if !self.module.open.iter().any(|known| known == reason) {
            self.module.open.push(reason.to_owned());
        }
    }

    fn within(&mut self, walk: impl FnOnce(&mut Self)) {
        self.inside += 1;
        walk(self);
        self.inside -= 1;
    }

    fn import_from(&mut self, import: &ast::StmtImportFrom) {
        let module = import.module.as_ref().map(ToString::to_string).unwrap_or_default();
        for alias in &import.names {
            let what = if alias.name.as_str() == "*" {
                self.module.stars.push((import.level, module.clone()));
                What::Star
            } else {
                let local = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                self.bind(&local);
                What::Name { name: alias.name.to_string(), local }
            };
            let (level, module) = (import.level, module.clone());
            self.module.requests.push(Request { level, module, what, typing: self.typing });
        }
    }

    fn import(&mut self, import: &ast::StmtImport) {
        for alias in &import.names {
            let module = alias.name.to_string();
            let prefix = alias.asname.as_ref().map_or_else(|| module.clone(), ToString::to_string);
            let first = prefix.split('.').next().unwrap_or_default().to_owned();
            self.bind(&first);
            let what = What::Module { prefix };
            self.module.requests.push(Request { level: 0, module, what, typing: self.typing });
        }
    }

    fn set_all(&mut self, value: &Expr, add: bool) {
        let mut names = match (&self.module.all, add) {
            (All::Names(names), true) => names.clone(),
            (All::Computed, true) => return,
            _ => BTreeSet::new(),
        };
        self.module.all = if strings(value, &mut names) { All::Names(names) } else { All::Computed };
    }

    fn assignment(&mut self, targets: &[Expr], value: &Expr) {
        if self.inside == 0 && targets.iter().any(|target| is_name(target, "__all__")) {
            self.set_all(value, self.branches > 0);
        }
    }

    fn call(&mut self, call: &ast::ExprCall) {
        match &*call.func {
            Expr::Name(name) if name.id.as_str() == "exec" && self.inside == 0 => {
                self.open("it runs code that it makes");
            }
            Expr::Attribute(attribute) => {
                let method = attribute.attr.as_str();
                if matches!(method, "_convert_" | "_convert") {
                    self.open("it makes names of an enumeration");
                }
                if self.inside == 0 && is_name(&attribute.value, "__all__") {
                    match (method, call.arguments.args.first()) {
                        ("extend", Some(value)) => self.set_all(value, true),
                        ("append", Some(Expr::StringLiteral(name))) => {
                            if let All::Names(names) = &mut self.module.all {
                                names.insert(name.value.to_str().to_owned());
                            }
                        }
                        _ => self.module.all = All::Computed,
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds the strings of a list; whether it is one.
fn strings(value: &Expr, names: &mut BTreeSet<String>) -> bool {
    let elements = match value {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        Expr::BinOp(both) if both.op == ast::Operator::Add => {
            return strings(&both.left, names) && strings(&both.right, names);
        }
        _ => return false,
    };
    elements.iter().all(|element| match element {
        Expr::StringLiteral(name) => {
            names.insert(name.value.to_str().to_owned());
            true
        }
        _ => false,
    })
}

fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == wanted)
}

/// `globals()`; at the top of a module the others mean the same.
fn is_namespace(expr: &Expr, top: bool) -> bool {
    let Expr::Call(call) = expr else { return false };
    let names: &[&str] = if top { &["globals", "vars", "locals"] } else { &["globals"] };
    call.arguments.is_empty() && names.iter().any(|name| is_name(&call.func, name))
}

fn is_own_entry(subscript: &ast::ExprSubscript) -> bool {
    matches!(&*subscript.value, Expr::Attribute(attribute) if attribute.attr.as_str() == "modules")
        && is_name(&subscript.slice, "__name__")
}

fn is_typing(test: &Expr) -> bool {
    match test {
        Expr::Name(name) => name.id.as_str() == "TYPE_CHECKING",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "TYPE_CHECKING",
        _ => false,
    }
}

impl Visitor<'_> for Reader {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name);
                if self.inside == 0 && function.name.as_str() == "__getattr__" {
                    self.open("it makes names by __getattr__");
                }
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.within(|reader| {
                    reader.visit_parameters(&function.parameters);
                    for parameter in &*function.parameters {
                        reader.bind(parameter.name());
                    }
                    reader.visit_body(&function.body);
                });
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.within(|reader| reader.visit_body(&class.body));
            }
            Stmt::Global(global) => {
                // What a function gives to its module may be there once it has run.
                for name in &global.names {
                    self.module.names.insert(name.to_string(), false);
                }
            }
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::AnnAssign(assignment) => {
                if let Some(value) = &assignment.value {
                    self.assignment(std::slice::from_ref(&assignment.target), value);
                    walk_stmt(self, stmt);
                }
            }
            Stmt::Assign(assignment) => {
                self.assignment(&assignment.targets, &assignment.value);
                walk_stmt(self, stmt);
            }
            Stmt::AugAssign(assignment) => {
                if self.inside == 0 && is_name(&assignment.target, "__all__") {
                    self.set_all(&assignment.value, true);
                }
                walk_stmt(self, stmt);
            }
            Stmt::Delete(delete) if self.inside == 0 && self.branches == 0 => {
                for target in &delete.targets {
                    if let Expr::Name(name) = target {
                        self.module.names.remove(name.id.as_str());
                    }
                }
            }
            Stmt::If(branch) if is_typing(&branch.test) => {
                let typing = std::mem::replace(&mut self.typing, true);
                self.visit_body(&branch.body);
                self.typing = typing;
                self.branches += 1;
                for clause in &branch.elif_else_clauses {
                    self.visit_body(&clause.body);
                }
                self.branches -= 1;
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => {
                self.branches += 1;
                walk_stmt(self, stmt);
                self.branches -= 1;
            }
            stmt => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(name) if name.ctx.is_store() => self.bind(&name.id),
            Expr::Subscript(subscript) if is_own_entry(subscript) => {
                self.open("it makes names while it runs");
            }
            // Reading a name makes none.
            Expr::Subscript(subscript)
                if subscript.ctx.is_load() && is_namespace(&subscript.value, self.inside == 0) =>
            {
                return self.visit_expr(&subscript.slice);
            }
            Expr::Attribute(attribute)
                if is_namespace(&attribute.value, self.inside == 0)
                    && matches!(attribute.attr.as_str(), "get" | "items" | "keys" | "values" | "copy") =>
            {
                return;
            }
            expr if is_namespace(expr, self.inside == 0) => self.open("it makes names while it runs"),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    for parameter in &**parameters {
                        *self.module.bindings.entry(parameter.name().to_string()).or_default() += 1;
                    }
                }
                return self.within(|reader| walk_expr(reader, expr));
            }
            Expr::Call(call) => self.call(call),
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &ast::Comprehension) {
        // Its names are its own; what `:=` binds in it is not.
        self.within(|reader| reader.visit_expr(&comprehension.target));
        self.visit_expr(&comprehension.iter);
        for condition in &comprehension.ifs {
            self.visit_expr(condition);
        }
    }

    fn visit_except_handler(&mut self, handler: &ast::ExceptHandler) {
        // `except E as e` takes the name away again.
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        self.visit_body(&inner.body);
        if let Some(name) = &inner.name {
            *self.module.bindings.entry(name.to_string()).or_default() += 1;
        }
    }

    fn visit_pattern(&mut self, pattern: &Pattern) {
        let name = match pattern {
            Pattern::MatchAs(inner) => inner.name.as_ref(),
            Pattern::MatchStar(inner) => inner.name.as_ref(),
            Pattern::MatchMapping(inner) => inner.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name);
        }
        walk_pattern(self, pattern);
    }
}

/// Collects what is asked of names by dots.
struct Attributes<'m>(&'m mut Module);

impl Visitor<'_> for Attributes<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Attribute(attribute) => {
                // `a.b.c` asks `a` for b, and `a.b` for c; only the whole chain is one use of `a`.
                let mut rest = expr;
                let mut names = Vec::new();
                let mut read = attribute.ctx.is_load();
                while let Expr::Attribute(inner) = rest {
                    names.push((inner.attr.as_str(), std::mem::replace(&mut read, true)));
                    rest = &inner.value;
                }
                let Expr::Name(first) = rest else { return walk_expr(self, expr) };
                let mut prefix = first.id.to_string();
                for (name, read) in names.into_iter().rev() {
                    if read {
                        self.0.attributes.entry(prefix.clone()).or_default().insert(name.to_owned());
                    }
                    prefix = format!("{prefix}.{name}");
                }
            }
            Expr::Name(name) if name.ctx.is_load() => {
                self.0.bare.insert(name.id.to_string());
            }
            expr => walk_expr(self, expr),
        }
    }
}
