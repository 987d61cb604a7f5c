//! How a Python module binds its names: one walk over its statements.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{
    self as ast, Expr, Pattern, Stmt,
    visitor::{Visitor, walk_expr, walk_pattern, walk_stmt},
};

use super::module::{All, Binding, Module, Origin, Request, What, catches, is_name, is_never, is_word};

/// What makes a missing module bearable.
const UNIMPORTED: [&str; 2] = ["ImportError", "ModuleNotFoundError"];

pub(super) fn read(suite: &[Stmt], stub: bool) -> Module {
    let mut reader = Reader {
        module: Module::default(),
        stub,
        scopes: Vec::new(),
        typing: false,
        branches: 0,
        optional: 0,
        given: BTreeMap::new(),
        called: BTreeSet::new(),
    };
    reader.visit_body(suite);
    reader.finish()
}

/// What has names of its own: a function, a class, a comprehension.
#[derive(Default)]
struct Scope {
    function: Option<String>,
    is_class: bool,
    /// Names that are the module's in it.
    globals: BTreeSet<String>,
}

struct Reader {
    module: Module,
    stub: bool,
    /// Functions and classes around.
    scopes: Vec<Scope>,
    typing: bool,
    /// Statements around that may not run.
    branches: usize,
    /// Places around in which an import may fail.
    optional: usize,
    /// Names that functions give to the module, with these functions.
    given: BTreeMap<String, BTreeSet<String>>,
    /// Functions that the module itself calls.
    called: BTreeSet<String>,
}

impl Reader {
    fn is_top(&self) -> bool {
        self.scopes.is_empty()
    }

    fn count(&mut self, name: &str) {
        *self.module.bindings.entry(name.to_owned()).or_default() += 1;
    }

    fn bind(&mut self, name: &str) {
        self.bind_to(name, Origin::Here);
    }

    fn bind_to(&mut self, name: &str, origin: Origin) {
        self.count(name);
        let given = self.scopes.last().is_some_and(|scope| scope.globals.contains(name));
        if self.is_top() || (given && self.scopes.iter().all(|scope| scope.is_class)) {
            self.bind_at_top(name, origin);
        } else if given {
            let function = self.scopes.iter().find_map(|scope| scope.function.clone());
            self.given.entry(name.to_owned()).or_default().extend(function);
        }
    }

    fn bind_at_top(&mut self, name: &str, origin: Origin) {
        if name == "__getattr__" {
            self.open("it defines names through __getattr__");
        }
        let binding = Binding { origin, typing: self.typing, certain: self.branches == 0 };
        let known = self.module.names.entry(name.to_owned()).or_default();
        known.deleted &= !binding.certain || binding.typing;
        known.bindings.insert(binding);
    }

    fn unbind(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) if self.branches == 0 => {
                self.module.names.remove(name.id.as_str());
            }
            Expr::Name(name) => {
                if let Some(known) = self.module.names.get_mut(name.id.as_str()) {
                    known.deleted = true;
                }
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                elts.iter().for_each(|target| self.unbind(target));
            }
            _ => {}
        }
    }

    /// What a function gives to its module is there once it has run.
    fn finish(mut self) -> Module {
        for (name, functions) in std::mem::take(&mut self.given) {
            let ran = functions.iter().any(|function| self.called.contains(function));
            let origin = if ran { Origin::Here } else { Origin::Later };
            let binding = Binding { origin, typing: false, certain: false };
            self.module.names.entry(name).or_default().bindings.insert(binding);
        }
        self.module
    }

    fn open(&mut self, reason: &str) {
        if !self.module.open.iter().any(|known| known == reason) {
            self.module.open.push(reason.to_owned());
        }
    }

    fn within(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }

    fn optionally(&mut self, body: &[Stmt]) {
        self.optional += 1;
        self.visit_body(body);
        self.optional -= 1;
    }

    fn parameters_of_types(&mut self, parameters: Option<&ast::TypeParams>) {
        for parameter in parameters.into_iter().flat_map(|all| &all.type_params) {
            self.count(parameter.name());
        }
    }

    fn import_from(&mut self, import: &ast::StmtImportFrom) {
        let module = import.module.as_ref().map(ToString::to_string).unwrap_or_default();
        for alias in &import.names {
            let what = if alias.name.as_str() == "*" {
                self.module.stars.push((import.level, module.clone()));
                What::Star
            } else {
                let local = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                let (level, module, name) = (import.level, module.clone(), alias.name.to_string());
                self.bind_to(&local, Origin::Name { level, module, name });
                if local == "__all__" && self.is_top() {
                    self.module.all = All::Computed;
                }
                What::Name { name: alias.name.to_string(), local }
            };
            let (level, module) = (import.level, module.clone());
            self.request(level, module, what);
        }
    }

    fn request(&mut self, level: u32, module: String, what: What) {
        let optional = self.optional > 0;
        self.module.requests.push(Request { level, module, what, typing: self.typing, optional });
    }

    fn import(&mut self, import: &ast::StmtImport) {
        for alias in &import.names {
            let module = alias.name.to_string();
            let prefix = alias.asname.as_ref().map_or_else(|| module.clone(), ToString::to_string);
            let first = prefix.split('.').next().unwrap_or_default().to_owned();
            let origin = if alias.asname.is_some() { Origin::Module(module.clone()) } else { Origin::Here };
            self.bind_to(&first, origin);
            self.request(0, module, What::Module { prefix });
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
        if !self.is_top() {
            return;
        }
        if targets.iter().any(|target| is_name(target, "__all__")) {
            self.set_all(value, self.branches > 0);
        } else if targets.iter().any(names_all) {
            self.module.all = All::Computed;
        }
    }

    fn call(&mut self, call: &ast::ExprCall) {
        match &*call.func {
            Expr::Name(name) if self.is_top() => {
                self.called.insert(name.id.to_string());
                if name.id.as_str() == "exec" {
                    self.open("it executes generated code");
                }
            }
            Expr::Attribute(attribute) => {
                let method = attribute.attr.as_str();
                if matches!(method, "_convert_" | "_convert") {
                    self.open("it generates names of an enumeration");
                }
                if self.is_top() && is_name(&attribute.value, "__all__") {
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

/// `__all__` among others that one value is taken apart into.
fn names_all(target: &Expr) -> bool {
    match target {
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            elts.iter().any(|target| is_name(target, "__all__") || names_all(target))
        }
        _ => false,
    }
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

impl Visitor<'_> for Reader {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name);
                self.parameters_of_types(function.type_params.as_deref());
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                let name = self.is_top().then(|| function.name.to_string());
                self.within(Scope { function: name, ..Scope::default() }, |reader| {
                    reader.visit_parameters(&function.parameters);
                    for parameter in &*function.parameters {
                        reader.bind(parameter.name());
                    }
                    reader.visit_body(&function.body);
                });
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                self.parameters_of_types(class.type_params.as_deref());
                for decorator in &class.decorator_list {
                    if is_word(&decorator.expression, "global_enum") {
                        self.open("it generates names of an enumeration");
                    }
                    self.visit_decorator(decorator);
                }
                let scope = Scope { is_class: true, ..Scope::default() };
                self.within(scope, |reader| reader.visit_body(&class.body));
            }
            Stmt::Global(global) => {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.globals.extend(global.names.iter().map(ToString::to_string));
                }
            }
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::AnnAssign(assignment) => {
                if let Some(value) = &assignment.value {
                    self.assignment(std::slice::from_ref(&assignment.target), value);
                    walk_stmt(self, stmt);
                } else if self.stub {
                    // A stub only declares.
                    self.visit_expr(&assignment.target);
                }
            }
            Stmt::Assign(assignment) => {
                self.assignment(&assignment.targets, &assignment.value);
                walk_stmt(self, stmt);
            }
            Stmt::AugAssign(assignment) => {
                if self.is_top() && is_name(&assignment.target, "__all__") {
                    self.set_all(&assignment.value, true);
                }
                walk_stmt(self, stmt);
            }
            Stmt::Delete(delete) if self.is_top() => {
                delete.targets.iter().for_each(|target| self.unbind(target));
                walk_stmt(self, stmt);
            }
            Stmt::If(branch) if is_never(&branch.test) || is_word(&branch.test, "TYPE_CHECKING") => {
                if !is_never(&branch.test) {
                    let typing = std::mem::replace(&mut self.typing, true);
                    self.visit_body(&branch.body);
                    self.typing = typing;
                }
                self.branches += 1;
                for clause in &branch.elif_else_clauses {
                    self.visit_body(&clause.body);
                }
                self.branches -= 1;
            }
            Stmt::With(with) if catches(stmt, &UNIMPORTED) => {
                self.branches += 1;
                for item in &with.items {
                    self.visit_with_item(item);
                }
                self.optionally(&with.body);
                self.branches -= 1;
            }
            Stmt::Try(attempt) if catches(stmt, &UNIMPORTED) => {
                self.branches += 1;
                self.optionally(&attempt.body);
                for handler in &attempt.handlers {
                    self.visit_except_handler(handler);
                }
                self.visit_body(&attempt.orelse);
                self.visit_body(&attempt.finalbody);
                self.branches -= 1;
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Match(_) => {
                self.branches += 1;
                walk_stmt(self, stmt);
                self.branches -= 1;
            }
            Stmt::TypeAlias(alias) => {
                self.parameters_of_types(alias.type_params.as_deref());
                walk_stmt(self, stmt);
            }
            stmt => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(name) if name.ctx.is_store() => self.bind(&name.id),
            Expr::Subscript(subscript) if is_own_entry(subscript) => {
                self.open("it defines names at run time");
            }
            // Reading a name makes none.
            Expr::Subscript(subscript)
                if subscript.ctx.is_load() && is_namespace(&subscript.value, self.is_top()) =>
            {
                return self.visit_expr(&subscript.slice);
            }
            Expr::Attribute(attribute)
                if is_namespace(&attribute.value, self.is_top())
                    && matches!(attribute.attr.as_str(), "get" | "items" | "keys" | "values" | "copy") =>
            {
                return;
            }
            expr if is_namespace(expr, self.is_top()) => self.open("it defines names at run time"),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    for parameter in &**parameters {
                        self.count(parameter.name());
                    }
                }
                return self.within(Scope::default(), |reader| walk_expr(reader, expr));
            }
            Expr::Call(call) => self.call(call),
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &ast::Comprehension) {
        // Its names are its own; what `:=` binds in it is not.
        self.within(Scope::default(), |reader| reader.visit_expr(&comprehension.target));
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
            self.count(name);
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
