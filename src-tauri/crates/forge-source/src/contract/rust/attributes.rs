//! Attributes and derives: which of them make no names, since the compiler or a library that everybody uses says so.

use syn::{Attribute, Item, Meta, Token, punctuated::Punctuated};

/// Derives that write implementations and nothing else: those of the compiler, then those of libraries.
const DERIVES: [&str; 31] = [
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Eq",
    "Hash",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Add",
    "Args",
    "AsRef",
    "Constructor",
    "Deref",
    "DerefMut",
    "Deserialize",
    "Diagnostic",
    "Display",
    "Error",
    "From",
    "FromRow",
    "FromStr",
    "Into",
    "IntoIterator",
    "IsVariant",
    "JsonSchema",
    "Parser",
    "Serialize",
    "Subcommand",
    "ValueEnum",
    "Zeroize",
];

/// What such derives are told beside them, and attributes of libraries that leave the item what it is.
const PLAIN: [&str; 18] = [
    "arg",
    "as_ref",
    "async_trait",
    "clap",
    "command",
    "deref",
    "diagnostic",
    "display",
    "error",
    "from",
    "group",
    "instrument",
    "into",
    "into_iterator",
    "schemars",
    "serde",
    "sqlx",
    "zeroize",
];

/// The same by their whole paths.
const PLAIN_PATHS: [[&str; 2]; 5] = [
    ["async_trait", "async_trait"],
    ["rstest", "rstest"],
    ["tokio", "main"],
    ["tokio", "test"],
    ["tracing", "instrument"],
];

const ATTRIBUTES: [&str; 42] = [
    "allow",
    "automatically_derived",
    "bench",
    "cfg",
    "cold",
    "coverage",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "export_name",
    "forbid",
    "global_allocator",
    "ignore",
    "inline",
    "instruction_set",
    "link",
    "link_name",
    "link_ordinal",
    "link_section",
    "macro_export",
    "macro_use",
    "must_use",
    "naked",
    "no_implicit_prelude",
    "no_link",
    "no_mangle",
    "non_exhaustive",
    "panic_handler",
    "path",
    "proc_macro",
    "proc_macro_attribute",
    "proc_macro_derive",
    "recursion_limit",
    "repr",
    "rustfmt",
    "should_panic",
    "target_feature",
    "test",
    "track_caller",
    "type_length_limit",
    "warn",
];

/// Tools whose attributes the compiler leaves to them.
const TOOLS: [&str; 5] = ["clippy", "diagnostic", "miri", "rust_analyzer", "rustfmt"];

/// Whether a macro that an item bears may make others beside it.
pub(super) fn may_make_items(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| makes(&attribute.meta))
}

fn makes(meta: &Meta) -> bool {
    let parts: Vec<String> = meta.path().segments.iter().map(|part| part.ident.to_string()).collect();
    match parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["derive"] => arguments(meta).is_none_or(|derived| derived.iter().any(|one| !is_plain(one))),
        // Its first argument is the condition.
        ["cfg_attr"] => arguments(meta).is_none_or(|given| given.iter().skip(1).any(makes)),
        [name] => !ATTRIBUTES.contains(&name) && !PLAIN.contains(&name),
        [library, name] if PLAIN_PATHS.contains(&[library, name]) => false,
        [tool, ..] => !TOOLS.contains(&tool),
        [] => true,
    }
}

fn is_plain(derive: &Meta) -> bool {
    derive.path().segments.last().is_some_and(|part| DERIVES.contains(&part.ident.to_string().as_str()))
}

/// `None` where they are not of the usual form.
fn arguments(meta: &Meta) -> Option<Punctuated<Meta, Token![,]>> {
    let list = meta.require_list().ok()?;
    list.parse_args_with(Punctuated::parse_terminated).ok()
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(one) => &one.attrs,
        Item::Enum(one) => &one.attrs,
        Item::ExternCrate(one) => &one.attrs,
        Item::Fn(one) => &one.attrs,
        Item::ForeignMod(one) => &one.attrs,
        Item::Impl(one) => &one.attrs,
        Item::Macro(one) => &one.attrs,
        Item::Mod(one) => &one.attrs,
        Item::Static(one) => &one.attrs,
        Item::Struct(one) => &one.attrs,
        Item::Trait(one) => &one.attrs,
        Item::TraitAlias(one) => &one.attrs,
        Item::Type(one) => &one.attrs,
        Item::Union(one) => &one.attrs,
        Item::Use(one) => &one.attrs,
        _ => &[],
    }
}
