//! Which turn of which scenario answers a request: read from its conversation, so that nothing is to be
//! remembered about sessions, resumed and forked ones among them.

use anyhow::{Context as _, Result, bail};

use super::{
    request::{Message, Role},
    scenario::{Scenario, last_tag},
};

/// What programs themselves write into the model's mouth when they resume a session: no turn was played for it.
const WORDS_OF_PROGRAMS: &[&str] = &["No response requested."];

/// A turn of a scenario.
pub(super) struct Choice<'a> {
    pub scenario: &'a Scenario,
    /// From 0; past the end when the script is over.
    pub turn: usize,
    /// How often the model answered in the whole conversation: what sets ids of one conversation apart.
    pub before: usize,
}

/// Finds it.
///
/// # Errors
/// When no message asks for a scenario, or for one that nobody wrote.
pub(super) fn choose<'a>(scenarios: &'a [Scenario], messages: &[Message]) -> Result<Choice<'a>> {
    for (index, message) in messages.iter().enumerate().rev() {
        if message.role != Role::User {
            continue;
        }
        let found = scenarios
            .iter()
            .filter(|it| it.untagged)
            .chain(scenarios.iter().filter(|it| !it.untagged))
            .find(|it| it.is_asked_by(&message.text));
        match (found, last_tag(&message.text)) {
            (Some(scenario), _) => {
                let turn = answers(&messages[index + 1..]);
                return Ok(Choice { scenario, turn, before: answers(messages) });
            }
            (None, Some(tag)) => bail!("no scenario `{tag}` was scripted for this prompt"),
            (None, None) => {}
        }
    }
    let prompt = messages.iter().rfind(|it| it.role == Role::User).context("there is no prompt")?;
    bail!("no scenario was asked for: {}", prompt.text.chars().take(200).collect::<String>());
}

/// How often the model answered: what it said without anybody else in between is one answer.
fn answers(messages: &[Message]) -> usize {
    let mut count = 0;
    let mut speaking = false;
    for message in messages {
        match message.role {
            Role::System => {}
            Role::Assistant if WORDS_OF_PROGRAMS.contains(&message.text.trim()) => {}
            Role::Assistant => {
                count += usize::from(!speaking);
                speaking = true;
            }
            Role::User | Role::Tool => speaking = false,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Assistant, System, Tool, User};

    fn chosen(scenarios: &[Scenario], messages: &[(Role, &str)]) -> (String, usize, usize) {
        let messages: Vec<Message> = messages.iter().map(|(role, text)| Message::new(*role, *text)).collect();
        match choose(scenarios, &messages) {
            Ok(it) => (it.scenario.name.clone(), it.turn, it.before),
            Err(error) => (error.to_string(), 0, 0),
        }
    }

    #[test]
    fn each_answer_since_the_tag_is_a_turn() {
        let scenarios = [Scenario::new("a"), Scenario::new("b")];
        let mut talk = vec![(System, "be good"), (User, "SCENARIO:a go")];
        assert_eq!(chosen(&scenarios, &talk), ("a".to_owned(), 0, 0));
        // Thought, words and calls of one answer are one; so are the results of parallel calls.
        talk.extend([(Assistant, "hm"), (Assistant, "I run"), (Assistant, "bash"), (Tool, "1"), (Tool, "2")]);
        assert_eq!(chosen(&scenarios, &talk), ("a".to_owned(), 1, 1));
        talk.extend([(Assistant, "done"), (User, "and now?")]);
        assert_eq!(chosen(&scenarios, &talk), ("a".to_owned(), 2, 2), "a prompt without a tag goes on");
        talk.extend([(Assistant, "No response requested."), (User, "go on")]);
        assert_eq!(chosen(&scenarios, &talk), ("a".to_owned(), 2, 2), "those are a program's words");
        talk.extend([(Assistant, "ok"), (User, "SCENARIO:b")]);
        assert_eq!(chosen(&scenarios, &talk), ("b".to_owned(), 0, 3), "another tag starts another script");
        talk.extend([(Assistant, "ok"), (User, "SCENARIO:b")]);
        assert_eq!(chosen(&scenarios, &talk), ("b".to_owned(), 0, 4), "the same tag starts it anew");
    }

    #[test]
    fn a_text_sets_scenarios_of_one_name_apart() {
        let scenarios = [
            Scenario::new("a").when("Review"),
            Scenario::new("a"),
            Scenario::new("native").untagged("Review the changes"),
        ];
        let name = |text: &str| chosen(&scenarios, &[(User, "SCENARIO:a"), (User, text)]).0;
        assert_eq!(name("SCENARIO:a Review it"), "a");
        assert_eq!(name("Review the changes"), "native");
        assert_eq!(chosen(&scenarios[..1], &[(User, "SCENARIO:a do it")]).0, {
            "no scenario `a` was scripted for this prompt"
        });
        assert_eq!(chosen(&scenarios, &[(User, "hello")]).0, "no scenario was asked for: hello");
    }
}
