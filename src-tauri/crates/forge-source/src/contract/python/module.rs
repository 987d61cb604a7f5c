//! What one Python module binds and takes, read from its text alone.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{self as ast, Expr, Stmt};

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
    /// Where its failing is caught.
    pub optional: bool,
}

/// Where a name has its value from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// It is made here.
    Here,
    /// `from m import name`.
    Name { level: u32, module: String, name: String },
    /// `import a.b as name`.
    Module(String),
    /// It is made once something has run, which may never happen.
    Later,
}

/// One statement that gives a name its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Binding {
    pub origin: Origin,
    /// Under `if TYPE_CHECKING`.
    pub typing: bool,
    /// It runs whenever the module is loaded.
    pub certain: bool,
}

/// A name at a module's top.
#[derive(Debug, Clone, Default)]
pub(super) struct Name {
    pub bindings: BTreeSet<Binding>,
    /// It is taken away again under a condition.
    pub deleted: bool,
}

/// A module, read.
#[derive(Debug, Clone, Default)]
pub(super) struct Module {
    pub names: BTreeMap<String, Name>,
    pub all: All,
    pub stars: Vec<(u32, String)>,
    /// Why there may be more names.
    pub open: Vec<String>,
    pub requests: Vec<Request>,
    /// What is asked of names by dots, as `a.b` to `{c, d}` for `a.b.c` and `a.b.d`; and whether it must be
    /// there, which it need not where its failing is caught.
    pub attributes: BTreeMap<String, BTreeMap<String, bool>>,
    /// What is given to names by dots, as `(a.b, c)` for `a.b.c = 1`.
    pub written: BTreeSet<(String, String)>,
    /// Names that are used in another way than by their attributes.
    pub bare: BTreeSet<String>,
    /// All names that are used, and whether they must be there.
    pub loads: BTreeMap<String, bool>,
    /// How often a name is bound anywhere in the file.
    pub bindings: BTreeMap<String, usize>,
}

pub(super) fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == wanted)
}

/// The last word of `a.b.c`.
fn last_word(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

pub(super) fn is_word(expr: &Expr, wanted: &str) -> bool {
    last_word(expr) == Some(wanted)
}

/// `if False:`, under which nothing ever runs.
pub(super) fn is_never(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => !literal.value,
        Expr::NumberLiteral(literal) => matches!(&literal.value, ast::Number::Int(zero) if *zero == 0u8),
        _ => false,
    }
}

/// Whether what fails in this statement's body with one of these errors is caught.
pub(super) fn catches(stmt: &Stmt, errors: &[&str]) -> bool {
    let caught = |expr: &Expr| {
        let is_one = |expr: &Expr| {
            last_word(expr)
                .is_some_and(|word| errors.contains(&word) || matches!(word, "Exception" | "BaseException"))
        };
        match expr {
            Expr::Tuple(tuple) => tuple.elts.iter().any(is_one),
            expr => is_one(expr),
        }
    };
    match stmt {
        Stmt::Try(attempt) => attempt.handlers.iter().any(|handler| {
            let ast::ExceptHandler::ExceptHandler(handler) = handler;
            handler.type_.as_deref().is_none_or(caught)
        }),
        Stmt::With(with) => with.items.iter().any(|item| match &item.context_expr {
            Expr::Call(call) => is_word(&call.func, "suppress") && call.arguments.args.iter().any(caught),
            _ => false,
        }),
        _ => false,
    }
}
