//! What a value has without anybody having set it: the names of its prototypes.

/// What kind of value a file exports as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nature {
    Object,
    Function {
        /// Arrows and `async` functions have no `prototype`.
        constructs: bool,
    },
    Array,
    Text,
    Number,
    Boolean,
    Pattern,
    /// `null` and `undefined`, which have nothing.
    Nothing,
}

/// How surely a value has a name that was never set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherits {
    Yes,
    No,
    /// The language's later editions, and whoever adds to its prototypes, give it more.
    Perhaps,
}

impl Nature {
    pub(super) fn inherits(self, name: &str) -> Inherits {
        let (own, closed): (&[&str], bool) = match self {
            Self::Nothing => return Inherits::No,
            Self::Object => (&[], true),
            Self::Function { constructs: false } if name == "prototype" => return Inherits::No,
            Self::Function { .. } => (&FUNCTION, true),
            Self::Array => (&ARRAY, false),
            Self::Text => (&TEXT, false),
            Self::Number => (&NUMBER, false),
            Self::Boolean => (&[], false),
            Self::Pattern => (&PATTERN, false),
        };
        if OBJECT.contains(&name) || own.contains(&name) {
            Inherits::Yes
        } else if closed {
            Inherits::No
        } else {
            Inherits::Perhaps
        }
    }
}

pub(super) const OBJECT: [&str; 12] = [
    "toString",
    "valueOf",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "constructor",
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
];

const FUNCTION: [&str; 6] = ["call", "apply", "bind", "name", "length", "prototype"];

const ARRAY: [&str; 32] = [
    "length",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "unshift",
    "values",
    "at",
    "findLast",
];

const TEXT: [&str; 34] = [
    "length",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "includes",
    "indexOf",
    "lastIndexOf",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "split",
    "startsWith",
    "substr",
    "substring",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
    "at",
];

const NUMBER: [&str; 3] = ["toExponential", "toFixed", "toPrecision"];

const PATTERN: [&str; 13] = [
    "exec",
    "test",
    "compile",
    "source",
    "flags",
    "global",
    "ignoreCase",
    "multiline",
    "dotAll",
    "unicode",
    "sticky",
    "lastIndex",
    "hasIndices",
];
