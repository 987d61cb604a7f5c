//! Who acts. An actor is a type; its text form (`user:board`, `agent:<id>`, `system:<cause>`) is for
//! people and for the database.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{UnknownName, ids::AgentId, names, workflow::audience::Audience};

names! {
    /// The interface that a person used.
    pub enum Via {
        /// The window.
        Board = "board",
        /// HTTP.
        Api = "api",
        /// The `forge` program.
        Cli = "cli",
        /// A Model Context Protocol client with the main token.
        Mcp = "mcp",
    }
}

names! {
    /// What in the engine acted by itself.
    pub enum Cause {
        /// Starting work that was queued or set to start by itself.
        Scheduler = "scheduler",
        /// A hook or guard of the workflow.
        Workflow = "workflow",
        /// The review of a gate.
        Review = "review",
        /// The merge.
        Merge = "merge",
        /// Settling what an earlier process left behind.
        Recovery = "recovery",
        /// Removing what is no longer needed.
        Cleanup = "cleanup",
        /// News from the code host of a pull request.
        Host = "host",
    }
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The person.
    User {
        /// The interface they used.
        via: Via,
    },
    /// An agent that runs for the task.
    Agent {
        /// Its profile.
        id: AgentId,
    },
    /// The engine itself.
    System {
        /// The part of it.
        cause: Cause,
    },
}

impl Actor {
    /// Whether a person acted.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        matches!(self, Self::User { .. })
    }

    /// Which hooks answer to this actor's moves: those for people, or those for agents and the engine.
    #[must_use]
    pub const fn audience(&self) -> Audience {
        match self {
            Self::User { .. } => Audience::UserOnly,
            Self::Agent { .. } | Self::System { .. } => Audience::AgentOnly,
        }
    }
}

impl From<Via> for Actor {
    fn from(via: Via) -> Self {
        Self::User { via }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { via } => write!(f, "user:{via}"),
            Self::Agent { id } => write!(f, "agent:{id}"),
            Self::System { cause } => write!(f, "system:{cause}"),
        }
    }
}

impl FromStr for Actor {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName { set: "Actor", name: text.to_owned() };
        match text.split_once(':').ok_or_else(unknown)? {
            ("user", via) => Ok(Self::User { via: via.parse()? }),
            ("agent", id) => Ok(Self::Agent { id: AgentId::from(id) }),
            ("system", cause) => Ok(Self::System { cause: cause.parse()? }),
            _ => Err(unknown()),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl specta::Type for Actor {
    fn definition(types: &mut specta::Types) -> specta::datatype::DataType {
        <String as specta::Type>::definition(types)
    }
}

impl schemars::JsonSchema for Actor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Actor".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^(user|agent|system):.+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audience_follows_the_actor() {
        let of = |text: &str| text.parse::<Actor>().unwrap().audience();
        assert_eq!(of("user:mcp"), Audience::UserOnly);
        assert_eq!(of("agent:a-1"), Audience::AgentOnly);
        assert_eq!(of("system:host"), Audience::AgentOnly);
    }

    #[test]
    fn text_form_round_trips() {
        for text in ["user:board", "user:cli", "agent:a-1", "system:scheduler"] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), text);
        }
        for text in ["user", "user:nobody", "robot:x", ""] {
            assert!(text.parse::<Actor>().is_err(), "{text}");
        }
    }
}
