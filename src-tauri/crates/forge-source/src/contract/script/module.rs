//! What one script offers and takes: owned, so that the tree need not be kept.

use std::collections::{BTreeMap, BTreeSet};

use super::natures::Nature;

/// How a file exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `import` and `export`.
    Es,
    /// `module.exports`, `exports`, `require`.
    Common,
    /// Neither.
    Plain,
}

/// Who knows a name; the later, the fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// It is there at run time.
    Value,
    /// `declare`: the compiler takes it for a value that somebody else makes.
    Ambient,
    /// Only types know it.
    Type,
}

/// One name that a file offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Export {
    /// Made here.
    Local { form: Form },
    /// Another file's, under its name there.
    From {
        specifier: String,
        name: String,
        /// It is handed on to types alone.
        type_only: bool,
    },
    /// It may be there, and why that cannot be known.
    Unsure(String),
    /// It is named, and is not there; completes the name: "is ...".
    Gone(&'static str),
}

/// A file all of whose names are exported again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Star {
    pub specifier: String,
    /// `export type *`.
    pub type_only: bool,
}

/// What is done with what another file offers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Take {
    /// One name.
    Name { name: String, type_only: bool },
    /// All names that there are, whichever they be; or none of them, as only the loading counts.
    Link,
    /// A name that need not be there, as what stands in for it is given.
    Optional(String),
    /// A name whose presence is tested.
    Tested(String),
    /// A name that is set from outside.
    Put(String),
    /// The module itself as one value, as when it is called.
    Whole,
    /// What cannot be told; completes "the imported names are unknown: ...".
    Opaque(String),
    /// A binding that nothing uses.
    Nothing,
}

/// How a file is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    Import,
    Require,
}

/// One place where a file is asked for.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub specifier: String,
    pub via: Via,
    pub takes: BTreeSet<Take>,
}

/// A script, read.
#[derive(Debug, Clone)]
pub(super) struct Module {
    pub kind: Kind,
    pub names: BTreeMap<String, Export>,
    pub stars: Vec<Star>,
    /// Whether the module itself was set as one value.
    pub whole: bool,
    /// What it may be then, which says what it inherits.
    pub natures: BTreeSet<Nature>,
    /// Why there may be more names.
    pub open: Vec<String>,
    pub requests: Vec<Request>,
    /// Files are asked for by names that are computed.
    pub computed_requests: bool,
}

impl Module {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            names: BTreeMap::new(),
            stars: Vec::new(),
            whole: false,
            natures: BTreeSet::new(),
            open: Vec::new(),
            requests: Vec::new(),
            computed_requests: false,
        }
    }

    pub(super) fn define(&mut self, name: impl Into<String>) {
        self.names.insert(name.into(), Export::Local { form: Form::Value });
    }

    pub(super) fn star(&mut self, specifier: impl Into<String>) {
        self.stars.push(Star { specifier: specifier.into(), type_only: false });
    }

    pub(super) fn opened(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.open.contains(&reason) {
            self.open.push(reason);
        }
    }
}
