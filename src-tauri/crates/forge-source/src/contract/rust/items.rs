//! What one Rust file declares and asks for, read from its text alone: a tree of its modules.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ForeignItem, Item, Lit, Meta, UseTree, Visibility,
    visit::{self, Visit},
};

use super::attributes;
use crate::nesting;

const MADE_BY_ATTRIBUTE: &str = "a derive or an attribute may generate items in it";

/// Macros that take their tokens for text.
const QUOTING: [&str; 2] = ["stringify", "concat"];

/// Macros of the standard library whose input is expressions, so that a path in it is a path.
const PLAIN: [&str; 26] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "matches",
    "panic",
    "print",
    "println",
    "thread_local",
    "todo",
    "try",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
    "pin",
    "ready",
    "addr_of",
];

/// Who may name something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Everywhere,
    /// In the crate.
    Crate,
    /// In the module around, and below it: so many modules up from where it stands.
    Up(usize),
    /// In the module at this path.
    In(Vec<String>),
}

/// Something that has a name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub seen: Seen,
    /// Of an enumeration.
    pub variants: Option<BTreeSet<String>>,
}

/// One path that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub path: Vec<String>,
    /// By `use`; then its last part must be a name of a module or of an enumeration.
    pub is_use: bool,
    /// `use path::*`.
    pub glob: bool,
    /// Among the tokens of a macro that may make anything of them.
    pub doubtful: bool,
}

/// A `use` that gives a name to its module.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub path: Vec<String>,
    /// `None` for a glob.
    pub name: Option<String>,
    pub seen: Seen,
}

/// `mod a;` or `mod a { .. }`.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub name: String,
    pub seen: Seen,
    /// What `#[path]` says.
    pub path: Option<String>,
    /// Of a module that stands in its parent's text.
    pub body: Option<Box<Body>>,
}

/// A module's text, read.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    pub items: BTreeMap<String, Named>,
    pub children: Vec<Child>,
    pub uses: Vec<Used>,
    /// Within functions.
    pub inner_uses: Vec<Used>,
    pub asked: BTreeSet<Asked>,
    /// Macros that the whole crate, and others, name at its root.
    pub exported_macros: BTreeSet<String>,
    /// Why there may be more names.
    pub open: Vec<String>,
}

/// Reads a file; the error completes "could not read ...: ".
pub(super) fn read(bytes: &[u8]) -> Result<Body, String> {
    if let Some(reason) = nesting::refusal(bytes, false) {
        return Err(reason);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let file = syn::parse_file(text).map_err(|error| format!("syntax error ({error})"))?;
    Ok(body(&file.items))
}

fn body(items: &[Item]) -> Body {
    let mut body = Body::default();
    for item in items {
        declare(&mut body, item);
    }
    let mut asked = Reader { body: &mut body, depth: 0, doubtful: false, shadowing: Vec::new() };
    for item in items {
        if !matches!(item, Item::Mod(_)) {
            asked.visit_item(item);
        }
    }
    body
}

fn declare(body: &mut Body, item: &Item) {
    if attributes::may_make_items(item) {
        opened(body, MADE_BY_ATTRIBUTE);
    }
    let (name, seen) = match item {
        Item::Const(one) => (&one.ident, &one.vis),
        Item::Enum(one) => {
            let variants = one.variants.iter().map(|variant| variant.ident.to_string()).collect();
            return add(body, &one.ident.to_string(), seen(&one.vis), Some(variants));
        }
        Item::ExternCrate(one) => (one.rename.as_ref().map_or(&one.ident, |(_, name)| name), &one.vis),
        Item::Fn(one) => (&one.sig.ident, &one.vis),
        Item::Static(one) => (&one.ident, &one.vis),
        Item::Struct(one) => (&one.ident, &one.vis),
        Item::Trait(one) => (&one.ident, &one.vis),
        Item::TraitAlias(one) => (&one.ident, &one.vis),
        Item::Type(one) => (&one.ident, &one.vis),
        Item::Union(one) => (&one.ident, &one.vis),
        Item::ForeignMod(foreign) => {
            for item in &foreign.items {
                match item {
                    ForeignItem::Fn(one) => add(body, &one.sig.ident.to_string(), seen(&one.vis), None),
                    ForeignItem::Static(one) => add(body, &one.ident.to_string(), seen(&one.vis), None),
                    ForeignItem::Type(one) => add(body, &one.ident.to_string(), seen(&one.vis), None),
                    _ => opened(body, "a foreign item is not understood"),
                }
            }
            return;
        }
        Item::Macro(one) => {
            match &one.ident {
                Some(name) => {
                    if one.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
                        body.exported_macros.insert(name.to_string());
                    }
                    add(body, &name.to_string(), Seen::Crate, None);
                }
                None => opened(body, "a macro generates items in it"),
            }
            return;
        }
        Item::Mod(one) => {
            let mut inner = one.content.as_ref().map(|(_, items)| Box::new(self::body(items)));
            if let Some(inner) = inner.as_mut().filter(|_| attributes::may_make_items(item)) {
                opened(inner, MADE_BY_ATTRIBUTE);
            }
            let path = one.attrs.iter().find_map(path_attribute);
            let (name, seen) = (text(&one.ident), seen(&one.vis));
            return body.children.push(Child { name, seen, path, body: inner });
        }
        Item::Use(one) => {
            let seen = seen(&one.vis);
            let mut leaves = Vec::new();
            flatten(&one.tree, &mut Vec::new(), &mut leaves);
            if one.leading_colon.is_none() {
                body.uses.extend(leaves.into_iter().map(|(path, name)| Used {
                    path,
                    name,
                    seen: seen.clone(),
                }));
            } else {
                // Another crate's names; they are here all the same.
                for name in leaves.into_iter().filter_map(|(_, name)| name) {
                    add(body, &name, seen.clone(), None);
                }
            }
            return;
        }
        Item::Impl(_) => return,
        _ => return opened(body, "an item in it is not understood"),
    };
    add(body, &text(name), self::seen(seen), None);
}

fn text(name: &proc_macro2::Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

fn add(body: &mut Body, name: &str, seen: Seen, variants: Option<BTreeSet<String>>) {
    let name = name.strip_prefix("r#").unwrap_or(name);
    // One name may be a type and a value, or stand under several conditions: the most open of them counts.
    match body.items.get_mut(name) {
        Some(known) => {
            if rank(&seen) > rank(&known.seen) {
                known.seen = seen;
            }
            match (&mut known.variants, variants) {
                (Some(known), Some(more)) => known.extend(more),
                (known, _) => *known = None,
            }
        }
        None => {
            body.items.insert(name.to_owned(), Named { seen, variants });
        }
    }
}

fn rank(seen: &Seen) -> usize {
    match seen {
        Seen::Everywhere => 4,
        Seen::Crate => 3,
        Seen::In(_) => 2,
        Seen::Up(up) => usize::from(*up > 0),
    }
}

fn opened(body: &mut Body, reason: &str) {
    if !body.open.iter().any(|known| known == reason) {
        body.open.push(reason.to_owned());
    }
}

fn seen(visibility: &Visibility) -> Seen {
    match visibility {
        Visibility::Public(_) => Seen::Everywhere,
        Visibility::Inherited => Seen::Up(0),
        Visibility::Restricted(restricted) => {
            let mut path =
                restricted.path.segments.iter().map(|segment| segment.ident.to_string()).peekable();
            match path.peek().map(String::as_str) {
                Some("crate") if restricted.path.segments.len() == 1 => Seen::Crate,
                Some("self") => Seen::Up(0),
                Some("super") => Seen::Up(path.filter(|part| part == "super").count()),
                _ => Seen::In(path.filter(|part| part != "crate").collect()),
            }
        }
    }
}

/// `#[path = ".."]`, also under a condition.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    if let Meta::NameValue(pair) = &attribute.meta
        && pair.path.is_ident("path")
        && let Expr::Lit(literal) = &pair.value
        && let Lit::Str(path) = &literal.lit
    {
        return Some(path.value());
    }
    None
}

fn flatten(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, Option<String>)>) {
    match tree {
        UseTree::Path(one) => {
            path.push(text(&one.ident));
            flatten(&one.tree, path, leaves);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, leaves)),
        UseTree::Glob(_) => leaves.push((path.clone(), None)),
        UseTree::Name(one) => leaf(&text(&one.ident), None, path, leaves),
        UseTree::Rename(one) => leaf(&text(&one.ident), Some(text(&one.rename)), path, leaves),
    }
}

fn leaf(
    name: &str,
    renamed: Option<String>,
    path: &[String],
    leaves: &mut Vec<(Vec<String>, Option<String>)>,
) {
    let mut whole = path.to_vec();
    // `a::{self}` is `a`.
    if name != "self" || path.is_empty() {
        whole.push(name.to_owned());
    }
    let name = renamed.or_else(|| whole.last().cloned());
    leaves.push((whole, name));
}

/// What a statement puts before the names of the module, where a path begins.
fn own_name(statement: &syn::Stmt) -> Option<String> {
    let syn::Stmt::Item(item) = statement else { return None };
    match item {
        Item::Mod(one) => Some(text(&one.ident)),
        Item::Enum(one) => Some(text(&one.ident)),
        Item::Struct(one) => Some(text(&one.ident)),
        Item::Trait(one) => Some(text(&one.ident)),
        Item::Type(one) => Some(text(&one.ident)),
        _ => None,
    }
}

/// Collects what is asked for, in functions, types and what macros are given.
struct Reader<'b> {
    body: &'b mut Body,
    /// Blocks around.
    depth: usize,
    /// Within a macro that is not known.
    doubtful: bool,
    /// Type parameters, and items of the blocks around, which stand before the module's names.
    shadowing: Vec<String>,
}

impl Reader<'_> {
    fn ask(&mut self, path: Vec<String>, is_use: bool, glob: bool) {
        if path.first().is_some_and(|first| self.shadowing.contains(first)) {
            return;
        }
        self.body.asked.insert(Asked { path, is_use, glob, doubtful: self.doubtful });
    }

    /// `a::b` among tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut last: Option<String> = None;
        let mut called: Option<String> = None;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.path_end(&mut path);
                    }
                    path.push(text(&name));
                    last = Some(text(&name));
                    called = None;
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    let pair = colons == 0 && punct.spacing() == Spacing::Joint;
                    colons = if pair || colons == 1 { colons + 1 } else { 0 };
                }
                TokenTree::Group(group) => {
                    self.path_end(&mut path);
                    colons = 0;
                    last = None;
                    match called.take() {
                        Some(name) => self.macro_input(&name, group.stream()),
                        None => self.tokens(group.stream()),
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    let calls = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '!');
                    called = last.take().filter(|_| calls);
                    self.path_end(&mut path);
                    colons = 0;
                }
            }
        }
        self.path_end(&mut path);
    }

    /// Reads what has names of its own, and forgets them after it.
    fn scoped(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.shadowing.len();
        read(self);
        self.shadowing.truncate(before);
    }

    fn macro_input(&mut self, name: &str, tokens: TokenStream) {
        // What `macro_rules!` writes is asked for where it is used, by `$crate` or by names of that place.
        if name == "macro_rules" || QUOTING.contains(&name) {
            return;
        }
        let before = self.doubtful;
        self.doubtful |= !PLAIN.contains(&name);
        self.tokens(tokens);
        self.doubtful = before;
    }

    fn path_end(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.ask(path, false, false);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            self.ask(path.clone(), true, name.is_none());
            if self.depth > 0 {
                self.body.inner_uses.push(Used { path, name, seen: Seen::Up(0) });
            }
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.depth += 1;
        self.scoped(|reader| {
            reader.shadowing.extend(block.stmts.iter().filter_map(own_name));
            visit::visit_block(reader, block);
        });
        self.depth -= 1;
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module in a function has names of its own, which nobody outside can take.
        if self.depth == 0 {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.ask(path.segments.iter().map(|segment| text(&segment.ident)).collect(), false, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.visit_path(&one.path);
        let name = one.path.segments.last().map(|segment| text(&segment.ident)).unwrap_or_default();
        self.macro_input(&name, one.tokens.clone());
    }

    fn visit_item(&mut self, item: &'ast Item) {
        self.scoped(|reader| visit::visit_item(reader, item));
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        self.scoped(|reader| visit::visit_impl_item(reader, item));
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        self.scoped(|reader| visit::visit_trait_item(reader, item));
    }

    fn visit_generics(&mut self, generics: &'ast syn::Generics) {
        self.shadowing.extend(generics.type_params().map(|one| text(&one.ident)));
        visit::visit_generics(self, generics);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
