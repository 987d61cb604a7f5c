//! Who races a task, as the command line names it.

use forge_model::{
    ids::AgentId,
    inner_loop::{Strategy, TaskRace},
};

use crate::{at::At, error::CliError};

/// A race of these entries, each `name=agent[:model[:effort]]`; none without entries.
pub(super) async fn of(at: &At, entries: &[String]) -> Result<Option<TaskRace>, CliError> {
    let mut strategies = Vec::new();
    for entry in entries {
        let named = Entry::read(entry)?;
        let agent_id = AgentId::from(at.holder(named.agent).await?);
        let text = |part: Option<&str>| part.map(str::to_owned);
        strategies.push(Strategy {
            name: named.name.to_owned(),
            agent_id,
            model: text(named.model),
            effort: text(named.effort),
            prompt_suffix: None,
        });
    }
    Ok((!strategies.is_empty()).then_some(TaskRace {
        enabled: true,
        strategies: Some(strategies),
        max_parallel: None,
        timeout_sec: None,
        human_crown: None,
        name_decides: None,
    }))
}

#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    name: &'a str,
    agent: &'a str,
    model: Option<&'a str>,
    effort: Option<&'a str>,
}

impl<'a> Entry<'a> {
    fn read(text: &'a str) -> Result<Self, CliError> {
        let wrong = || CliError::Usage {
            message: format!("`{text}` is not an entry of a race"),
            hint: "Write it as NAME=AGENT, NAME=AGENT:MODEL or NAME=AGENT:MODEL:EFFORT.",
        };
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let mut parts = rest.splitn(3, ':');
        let agent = parts.next().unwrap_or_default();
        if name.is_empty() || agent.is_empty() || agent == "user" {
            return Err(wrong());
        }
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let (model, effort) = (part(), part());
        Ok(Self { name, agent, model, effort })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_an_agent_and_perhaps_a_model_and_an_effort() {
        let entry = |name, agent, model, effort| Entry { name, agent, model, effort };
        assert_eq!(Entry::read("cheap=Claude").unwrap(), entry("cheap", "Claude", None, None));
        assert_eq!(Entry::read("a=Claude:haiku").unwrap(), entry("a", "Claude", Some("haiku"), None));
        assert_eq!(Entry::read("a=Codex:gpt:high").unwrap(), entry("a", "Codex", Some("gpt"), Some("high")));
        assert_eq!(Entry::read("a=Codex::high").unwrap(), entry("a", "Codex", None, Some("high")));
        for wrong in ["", "a", "=Claude", "a=", "a=user"] {
            assert!(Entry::read(wrong).is_err(), "{wrong}");
        }
    }
}
