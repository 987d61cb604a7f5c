//! Python 3, by ruff: its parser, and its check of what needs scopes, with the scopes kept here.

use std::{borrow::Cow, cell::RefCell, collections::BTreeMap, mem};

use ruff_python_ast::{
    self as ast, Expr, PythonVersion, Stmt,
    token::TokenKind,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_python_parser::{
    Mode, ParseOptions, parse_unchecked,
    semantic_errors::{LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError},
};
use ruff_text_size::{Ranged as _, TextRange};

use super::utf8::strict;
use super::verdict::{Syntax, SyntaxError};

/// What CPython's tokenizer takes.
const MAX_PARENTHESES: usize = 200;

/// The text of a file, by the encoding it names in its first two lines.
pub(crate) fn read(bytes: &[u8]) -> Result<Cow<'_, str>, Syntax> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(&bytes[..at]);
        return Err(Syntax::Broken(SyntaxError::at(
            &text,
            text.len(),
            "source code cannot contain null bytes",
        )));
    }
    match encoding(bytes).as_deref() {
        None | Some("utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii") => {
            strict(bytes).map_err(Syntax::Broken)
        }
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1") => {
            Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()))
        }
        Some(other) if bytes.is_ascii() && !other.starts_with("utf-") => {
            strict(bytes).map_err(Syntax::Broken)
        }
        Some(other) => Err(Syntax::Refused { reason: format!("its encoding {other:?} is not supported") }),
    }
}

/// The encoding that a comment in one of the first two lines names.
fn encoding(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|byte| *byte == b'\n').take(2) {
        let line = String::from_utf8_lossy(line.get(..512).unwrap_or(line)).into_owned();
        let line = line.trim_start_matches('\u{feff}').trim_start_matches([' ', '\t', '\x0c']);
        let Some(comment) = line.strip_prefix('#') else {
            if line.trim().is_empty() {
                continue;
            }
            return None;
        };
        if let Some((_, named)) =
            comment.split_once("coding").filter(|(_, rest)| rest.starts_with([':', '=']))
        {
            let named = named[1..].trim_start_matches([' ', '\t']);
            let end = named.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
            return Some(named[..end.unwrap_or(named.len())].to_ascii_lowercase().replace('_', "-"));
        }
    }
    None
}

pub(super) fn check(text: &str) -> Syntax {
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::latest());
    let parsed = parse_unchecked(text, options);
    let broken = |range: TextRange, message: String| {
        Syntax::Broken(SyntaxError::at(text, range.start().to_usize(), message))
    };
    if let Some(error) = parsed.errors().iter().min_by_key(|error| error.location.start()) {
        return broken(error.location, error.error.to_string());
    }
    let mut open = 0_usize;
    for token in parsed.tokens() {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => open += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_PARENTHESES {
            return broken(token.range(), "too many nested parentheses".to_owned());
        }
    }
    let Some(module) = parsed.try_into_module() else { return Syntax::Sound };
    let mut scopes = Scopes::new(text);
    scopes.visit_body(module.suite());
    let early = scopes.catches_all.map(|range| (range, "default 'except:' must be last".to_owned()));
    let found = scopes.found.into_inner().into_iter().map(|error| (error.range, error.to_string()));
    match found.chain(early).min_by_key(|(range, _)| range.start()) {
        Some((range, message)) => broken(range, message),
        None => Syntax::Sound,
    }
}

/// What a name's place lies in.
enum Kind {
    Module,
    Class,
    Function { is_async: bool },
    Lambda,
    Comprehension { is_async: bool, generator: bool },
}

struct Scope {
    kind: Kind,
    globals: BTreeMap<String, TextRange>,
    parameters: Vec<String>,
    /// Names that are bound anywhere in a function, for `nonlocal`.
    bound: Vec<String>,
    loops: usize,
}

impl Scope {
    fn new(kind: Kind) -> Self {
        Self { kind, globals: BTreeMap::new(), parameters: Vec::new(), bound: Vec::new(), loops: 0 }
    }
}

/// Walks a module and tells ruff's checker where it stands.
struct Scopes<'a> {
    text: &'a str,
    checker: SemanticSyntaxChecker,
    scopes: Vec<Scope>,
    tries: usize,
    future_annotations: bool,
    found: RefCell<Vec<SemanticSyntaxError>>,
    /// An `except:` that others follow, which ruff leaves to its linter.
    catches_all: Option<TextRange>,
}

impl<'a> Scopes<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            checker: SemanticSyntaxChecker::new(),
            scopes: vec![Scope::new(Kind::Module)],
            tries: 0,
            future_annotations: false,
            found: RefCell::default(),
            catches_all: None,
        }
    }

    fn handlers(&mut self, handlers: &[ast::ExceptHandler]) {
        let before_last = &handlers[..handlers.len().saturating_sub(1)];
        let early = before_last.iter().find(|ast::ExceptHandler::ExceptHandler(one)| one.type_.is_none());
        let first = self.catches_all.into_iter().chain(early.map(|one| one.range()));
        self.catches_all = first.min_by_key(|range| range.start());
    }

    fn asked(&mut self, ask: impl FnOnce(&mut SemanticSyntaxChecker, &Self)) {
        let mut checker = mem::take(&mut self.checker);
        ask(&mut checker, self);
        self.checker = checker;
    }

    fn inside(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
    }

    fn innermost(&self) -> Option<&Scope> {
        self.scopes.last()
    }

    fn in_loop(&mut self, walk: impl FnOnce(&mut Self)) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.loops += 1;
        }
        walk(self);
        if let Some(scope) = self.scopes.last_mut() {
            scope.loops -= 1;
        }
    }

    fn comprehension(&mut self, parts: &[&Expr], generators: &[ast::Comprehension], generator: bool) {
        // The first iterable is evaluated outside.
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        let is_async = generators.iter().any(|generator| generator.is_async);
        self.inside(Scope::new(Kind::Comprehension { is_async, generator }), |scopes| {
            for (at, generator) in generators.iter().enumerate() {
                if at > 0 {
                    scopes.visit_expr(&generator.iter);
                }
                scopes.visit_expr(&generator.target);
                for condition in &generator.ifs {
                    scopes.visit_expr(condition);
                }
            }
            for part in parts {
                scopes.visit_expr(part);
            }
        });
    }

    fn function(&mut self, function: &ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(parameters) = &function.type_params {
            self.visit_type_params(parameters);
        }
        self.visit_parameters(&function.parameters);
        if let Some(returns) = &function.returns {
            self.visit_annotation(returns);
        }
        let mut scope = Scope::new(Kind::Function { is_async: function.is_async });
        scope.parameters = names(&function.parameters);
        let mut bound = Bound { names: scope.parameters.clone(), globals: BTreeMap::new() };
        bound.visit_body(&function.body);
        (scope.bound, scope.globals) = (bound.names, bound.globals);
        self.inside(scope, |scopes| scopes.visit_body(&function.body));
    }
}

fn names(parameters: &ast::Parameters) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name().to_string()).collect()
}

/// Names that a function's own statements bind; those of functions and classes within stay theirs.
struct Bound {
    names: Vec<String>,
    /// Those that it declares to be the module's.
    globals: BTreeMap<String, TextRange>,
}

impl Visitor<'_> for Bound {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(inner) => self.names.push(inner.name.to_string()),
            Stmt::ClassDef(inner) => self.names.push(inner.name.to_string()),
            Stmt::Global(inner) => {
                self.globals.extend(inner.names.iter().map(|name| (name.to_string(), name.range())));
            }
            Stmt::Nonlocal(inner) => self.names.extend(inner.names.iter().map(ToString::to_string)),
            stmt => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(name) if !name.ctx.is_load() => self.names.push(name.id.to_string()),
            Expr::Lambda(_) => {}
            expr => walk_expr(self, expr),
        }
    }

    fn visit_alias(&mut self, alias: &ast::Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name);
        self.names.push(name.split('.').next().unwrap_or_default().to_owned());
    }

    fn visit_except_handler(&mut self, handler: &ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        self.names.extend(inner.name.as_ref().map(ToString::to_string));
        ast::visitor::walk_except_handler(self, handler);
    }

    fn visit_type_param(&mut self, param: &ast::TypeParam) {
        self.names.push(param.name().to_string());
    }

    fn visit_pattern(&mut self, pattern: &ast::Pattern) {
        match pattern {
            ast::Pattern::MatchAs(inner) => self.names.extend(inner.name.as_ref().map(ToString::to_string)),
            ast::Pattern::MatchStar(inner) => self.names.extend(inner.name.as_ref().map(ToString::to_string)),
            ast::Pattern::MatchMapping(inner) => {
                self.names.extend(inner.rest.as_ref().map(ToString::to_string));
            }
            _ => {}
        }
        ast::visitor::walk_pattern(self, pattern);
    }
}

impl Visitor<'_> for Scopes<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.asked(|checker, scopes| checker.visit_stmt(stmt, scopes));
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(parameters) = &class.type_params {
                    self.visit_type_params(parameters);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.inside(Scope::new(Kind::Class), |scopes| scopes.visit_body(&class.body));
            }
            Stmt::For(inner) => {
                self.visit_expr(&inner.iter);
                self.visit_expr(&inner.target);
                self.in_loop(|scopes| scopes.visit_body(&inner.body));
                self.visit_body(&inner.orelse);
            }
            Stmt::While(inner) => {
                self.visit_expr(&inner.test);
                self.in_loop(|scopes| scopes.visit_body(&inner.body));
                self.visit_body(&inner.orelse);
            }
            Stmt::ImportFrom(inner) => {
                if inner.module.as_deref() == Some("__future__")
                    && inner.names.iter().any(|alias| alias.name.as_str() == "annotations")
                {
                    self.future_annotations = true;
                }
                walk_stmt(self, stmt);
            }
            Stmt::Try(inner) => {
                self.handlers(&inner.handlers);
                self.tries += 1;
                walk_stmt(self, stmt);
                self.tries -= 1;
            }
            stmt => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        self.asked(|checker, scopes| checker.visit_expr(expr, scopes));
        match expr {
            Expr::Lambda(lambda) => {
                let mut scope = Scope::new(Kind::Lambda);
                if let Some(parameters) = &lambda.parameters {
                    self.visit_parameters(parameters);
                    scope.parameters = names(parameters);
                    scope.bound.clone_from(&scope.parameters);
                }
                self.inside(scope, |scopes| scopes.visit_expr(&lambda.body));
            }
            Expr::ListComp(inner) => self.comprehension(&[&inner.elt], &inner.generators, false),
            Expr::SetComp(inner) => self.comprehension(&[&inner.elt], &inner.generators, false),
            Expr::Generator(inner) => self.comprehension(&[&inner.elt], &inner.generators, true),
            Expr::DictComp(inner) => {
                let mut parts: Vec<&Expr> = inner.key.as_deref().into_iter().collect();
                parts.push(&inner.value);
                self.comprehension(&parts, &inner.generators, false);
            }
            expr => walk_expr(self, expr),
        }
    }
}

impl SemanticSyntaxContext for Scopes<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        self.future_annotations
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        match self.innermost().map(|scope| &scope.kind) {
            Some(Kind::Function { .. } | Kind::Lambda) => Some(LazyImportContext::Function),
            Some(Kind::Class) => Some(LazyImportContext::Class),
            Some(Kind::Module | Kind::Comprehension { .. }) | None => {
                (self.tries > 0).then_some(LazyImportContext::TryExceptBlocks)
            }
        }
    }

    fn python_version(&self) -> PythonVersion {
        PythonVersion::latest()
    }

    fn source(&self) -> &str {
        self.text
    }

    fn global(&self, name: &str) -> Option<TextRange> {
        self.innermost().and_then(|scope| scope.globals.get(name).copied())
    }

    fn has_nonlocal_binding(&self, name: &str) -> bool {
        self.scopes
            .iter()
            .rev()
            .skip(1)
            .filter(|scope| matches!(scope.kind, Kind::Function { .. } | Kind::Lambda))
            .any(|scope| scope.bound.iter().any(|bound| bound == name))
            // A class cell, and type parameters, which are kept in a scope of their own.
            || name == "__class__"
    }

    fn in_async_context(&self) -> bool {
        match self.innermost().map(|scope| &scope.kind) {
            Some(Kind::Function { is_async } | Kind::Comprehension { is_async, .. }) => *is_async,
            Some(Kind::Module | Kind::Class | Kind::Lambda) | None => false,
        }
    }

    fn in_await_allowed_context(&self) -> bool {
        for scope in self.scopes.iter().rev() {
            match scope.kind {
                Kind::Function { .. } | Kind::Lambda => return true,
                Kind::Class => return false,
                Kind::Module | Kind::Comprehension { .. } => {}
            }
        }
        false
    }

    fn in_yield_allowed_context(&self) -> bool {
        matches!(self.innermost().map(|scope| &scope.kind), Some(Kind::Function { .. } | Kind::Lambda))
    }

    fn in_sync_comprehension(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope.kind, Kind::Comprehension { is_async: false, .. }))
    }

    fn in_class_body_comprehension(&self) -> bool {
        for scope in self.scopes.iter().rev() {
            match scope.kind {
                Kind::Comprehension { .. } => {}
                Kind::Class => return true,
                Kind::Module | Kind::Function { .. } | Kind::Lambda => return false,
            }
        }
        false
    }

    fn in_module_scope(&self) -> bool {
        self.scopes.len() == 1
    }

    fn in_function_scope(&self) -> bool {
        matches!(self.innermost().map(|scope| &scope.kind), Some(Kind::Function { .. } | Kind::Lambda))
    }

    fn in_generator_context(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope.kind, Kind::Comprehension { generator: true, .. }))
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        self.found.borrow_mut().push(error);
    }

    fn in_loop_context(&self) -> bool {
        self.innermost().is_some_and(|scope| scope.loops > 0)
    }

    fn is_bound_parameter(&self, name: &str) -> bool {
        self.innermost().is_some_and(|scope| scope.parameters.iter().any(|parameter| parameter == name))
    }
}
