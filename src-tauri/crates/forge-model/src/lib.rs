//! What Forge knows: pure types and rules.
//!
//! Everything here is data or a function of its arguments. There is no I/O, no clock, no randomness and
//! no async in this crate; time, ids and facts come in as arguments. The other crates store these types
//! (`forge-store`), act on them (`forge-engine`) and show them (`forge-api`).

pub mod actor;
pub mod agent;
pub mod anomaly;
pub mod approval;
pub mod attachment;
pub mod audit;
pub mod budget;
pub mod check_offer;
pub mod comment;
pub mod correction;
pub mod cost;
pub mod debrief;
pub mod delivery;
pub mod diff;
mod diff_stat;
pub mod election;
pub mod environment;
pub mod event;
pub mod execution;
pub mod fix;
pub mod hook;
pub mod ids;
pub mod inner_loop;
pub mod issue;
pub mod knowledge;
pub mod layer;
pub mod lesson;
pub mod log;
pub mod loop_status;
pub mod machine;
pub mod merge;
mod merge_patch;
pub mod notification;
pub mod offer;
pub mod path;
pub mod postmortem;
pub mod preview;
pub mod project;
pub mod pull_request;
pub mod race;
pub mod redact;
pub mod replay;
pub mod retention;
pub mod review;
pub mod run;
pub mod sandbox;
pub mod scoreboard;
pub mod service;
pub mod settings;
pub mod storage;
pub mod task;
pub mod terminal;
pub mod time;
pub mod trajectory;
pub mod transition;
pub mod trust;
pub mod usage;
pub mod validate;
mod wait;
pub mod words;
pub mod workflow;
pub mod workspace;

/// The derives every type on the contract shares: one declaration serves JSON, TypeScript and OpenAPI.
macro_rules! contract {
    ($($item:item)*) => {$(
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
        $item
    )*};
}

/// A closed set of names that travels as snake_case text and is stored as such.
macro_rules! names {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
        $vis enum $name { $($(#[$vmeta])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every member, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name as it is written in JSON and in the database.
            #[must_use]
            pub const fn as_str(self) -> &'static str { match self { $(Self::$variant => $text),+ } }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = crate::UnknownName;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text { $($text => Ok(Self::$variant),)+ _ => Err(crate::UnknownName { set: stringify!($name), name: text.to_owned() }) }
            }
        }
    };
}

pub(crate) use contract;
pub(crate) use names;

/// A name that belongs to none of the members of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {set} `{name}`")]
pub struct UnknownName {
    /// The set that was asked.
    pub set: &'static str,
    /// What was given.
    pub name: String,
}
