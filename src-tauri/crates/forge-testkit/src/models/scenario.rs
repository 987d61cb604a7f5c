//! What a test writes down: scenarios, each a list of the model's turns.

use std::time::Duration;

use serde_json::Value;

/// What a scenario's name follows in a prompt.
const TAG: &str = "SCENARIO:";

/// A script that a prompt asks for by its tag. Names are of small letters, digits, `-` and `_`.
///
/// A prompt with a tag starts the script; each answer of the model plays the next turn, whether a tool's result
/// or another prompt without a tag follows it. So a script spans a resumed session, and the same tag again
/// starts it anew. What comes when it is over is a short text without any call.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(super) name: String,
    pub(super) when: Option<String>,
    pub(super) untagged: bool,
    pub(super) turns: Vec<Turn>,
}

impl Scenario {
    /// One without turns.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), when: None, untagged: false, turns: Vec::new() }
    }

    /// What a prompt says to ask for the scenario of this name.
    #[must_use]
    pub fn tag(name: &str) -> String {
        format!("{TAG}{name}")
    }

    /// Only for prompts that have this text, too: so one task's coder and reviewer get different scripts
    /// though both are told the task's words. Scenarios of one name are tried in their order.
    #[must_use]
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    /// For prompts that a program writes itself, where no tag can be: those with this text, which then counts
    /// for more than a tag in an earlier message.
    #[must_use]
    pub fn untagged(mut self, text: impl Into<String>) -> Self {
        self.untagged = true;
        self.when(text)
    }

    /// The next turn.
    #[must_use]
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Whether this message asks for it.
    pub(super) fn is_asked_by(&self, text: &str) -> bool {
        let fits = self.when.as_ref().is_none_or(|when| text.contains(when.as_str()));
        fits && (self.untagged || last_tag(text) == Some(self.name.as_str()))
    }
}

/// The last scenario that a text names.
pub(super) fn last_tag(text: &str) -> Option<&str> {
    text.match_indices(TAG)
        .filter_map(|(at, _)| {
            let name = &text[at + TAG.len()..];
            let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            let end = name.find(|c| !of_name(c)).unwrap_or(name.len());
            (end > 0).then(|| &name[..end])
        })
        .last()
}

/// One answer of the model: what it thinks, says and does, in order, and what goes wrong before.
///
/// Several calls in one turn are parallel calls.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub(super) doings: Vec<Doing>,
    pub(super) tokens: Tokens,
    pub(super) failures: Vec<(Failure, usize)>,
    pub(super) hold: Option<Hold>,
    pub(super) pace: Option<Pace>,
}

/// One thing that the model does.
#[derive(Debug, Clone)]
pub(super) enum Doing {
    Think(String),
    Say(String),
    /// Said, or handed to the tool that the program has for it.
    Answer(Value),
    Act(Act),
}

/// A call, before it is known which tools the program offers.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Run { command: String, outside: bool },
    Read { path: String },
    Write { path: String, content: String },
    Edit { path: String, old: String, new: String },
    Mcp { server: String, tool: String, input: Value },
    Tool { name: String, input: Value },
}

/// A stop until a test lets it go on.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub gate: String,
    pub midway: bool,
}

/// How fast a text comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub piece: usize,
    pub pause: Duration,
}

impl Turn {
    /// An answer without anything in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The model thinks aloud.
    #[must_use]
    pub fn think(self, text: impl Into<String>) -> Self {
        self.and(Doing::Think(text.into()))
    }

    /// The model says something.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.and(Doing::Say(text.into()))
    }

    /// The model says as much as this, in lines of 64 bytes.
    #[must_use]
    pub fn say_much(self, bytes: usize) -> Self {
        let line =
            "All work and no play makes a model a dull companion, it is said.".get(..63).unwrap_or_default();
        self.say(format!("{line}\n").repeat(bytes.div_ceil(64)))
    }

    /// The model answers in the form that the program asked for.
    #[must_use]
    pub fn answer(self, value: Value) -> Self {
        self.and(Doing::Answer(value))
    }

    /// The model runs a command with the program's shell tool.
    #[must_use]
    pub fn run(self, command: impl Into<String>) -> Self {
        self.act(Act::Run { command: command.into(), outside: false })
    }

    /// The model asks to run a command outside the program's sandbox, where the program's tool has words for that.
    #[must_use]
    pub fn run_outside(self, command: impl Into<String>) -> Self {
        self.act(Act::Run { command: command.into(), outside: true })
    }

    /// The model reads a file. Paths are relative to the program's folder, or absolute.
    #[must_use]
    pub fn read(self, path: impl Into<String>) -> Self {
        self.act(Act::Read { path: path.into() })
    }

    /// The model writes a whole file.
    #[must_use]
    pub fn write(self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.act(Act::Write { path: path.into(), content: content.into() })
    }

    /// The model replaces whole lines of a file by others. Programs that want a file read first get that call,
    /// too, in the same turn.
    #[must_use]
    pub fn edit(self, path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.act(Act::Edit { path: path.into(), old: old.into(), new: new.into() })
    }

    /// The model calls a tool of an MCP server that the program was given.
    #[must_use]
    pub fn mcp(self, server: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        self.act(Act::Mcp { server: server.into(), tool: tool.into(), input })
    }

    /// The model calls a tool of the program by its own name.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Self {
        self.act(Act::Tool { name: name.into(), input })
    }

    /// What the answer is said to have cost.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// The first `times` requests for this turn fail so; then come failures named after this one, then the
    /// answer. Counted by server, whichever conversation asks.
    #[must_use]
    pub fn fails(mut self, failure: Failure, times: usize) -> Self {
        self.failures.push((failure, times));
        self
    }

    /// No request for this turn ever succeeds.
    #[must_use]
    pub fn always_fails(self, failure: Failure) -> Self {
        self.fails(failure, usize::MAX)
    }

    /// The answer does not begin before [`super::ModelServer::release`] names this gate.
    #[must_use]
    pub fn hold(mut self, gate: impl Into<String>) -> Self {
        self.hold = Some(Hold { gate: gate.into(), midway: false });
        self
    }

    /// The answer stops in the middle of what is first in it, until [`super::ModelServer::release`] names
    /// this gate.
    #[must_use]
    pub fn hold_midway(mut self, gate: impl Into<String>) -> Self {
        self.hold = Some(Hold { gate: gate.into(), midway: true });
        self
    }

    /// Texts come in pieces of so many characters with a pause after each.
    #[must_use]
    pub fn slowly(mut self, piece: usize, pause: Duration) -> Self {
        self.pace = Some(Pace { piece: piece.max(1), pause });
        self
    }

    fn act(self, act: Act) -> Self {
        self.and(Doing::Act(act))
    }

    fn and(mut self, doing: Doing) -> Self {
        self.doings.push(doing);
        self
    }

    /// What goes wrong at the `attempt`th request for this turn, from 0.
    pub(super) fn failure(&self, attempt: usize) -> Option<Failure> {
        let mut end = 0_usize;
        self.failures.iter().find_map(|(failure, times)| {
            end = end.saturating_add(*times);
            (attempt < end).then_some(*failure)
        })
    }
}

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// 429, and that many seconds to wait.
    RateLimited {
        /// What `retry-after` says.
        seconds: u32,
    },
    /// 429 because the account's allowance is used up, which comes back after that many seconds; said as the services
    /// of codex and claude say it.
    UsedUp {
        /// Until then.
        seconds: u32,
    },
    /// This status, with the body that the service has for it: 401, 400, 500, 529 and so on.
    Status(u16),
    /// The connection ends in the middle of what is first in the answer.
    Cut,
    /// The connection ends before anything of the answer came.
    Dropped,
}

/// What an answer is said to have cost. Input is the sum of the first three; reasoning is part of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Input that no cache knew.
    pub input_uncached: u64,
    /// Input that a cache knew.
    pub cache_read: u64,
    /// Input that was put into a cache.
    pub cache_write: u64,
    /// All output.
    pub output: u64,
    /// The output that was thought only.
    pub reasoning: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input_uncached: 400, cache_read: 800, cache_write: 0, output: 34, reasoning: 10 }
    }
}

impl Tokens {
    pub(super) const NONE: Self =
        Self { input_uncached: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 };

    /// All input.
    #[must_use]
    pub fn input(&self) -> u64 {
        self.input_uncached + self.cache_read + self.cache_write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tag_of_a_text_counts() {
        for (text, expected) in [
            ("SCENARIO:edit go", Some("edit")),
            ("\"SCENARIO:two-times_2\"", Some("two-times_2")),
            ("SCENARIO:one, then SCENARIO:two.", Some("two")),
            ("SCENARIO: none", None),
            ("nothing", None),
        ] {
            assert_eq!(last_tag(text), expected, "{text}");
        }
    }

    #[test]
    fn failures_come_in_their_order_and_then_the_answer() {
        let turn = Turn::new().fails(Failure::Status(500), 2).fails(Failure::Cut, 1);
        let seen: Vec<_> = (0..4).map(|attempt| turn.failure(attempt)).collect();
        let broken = Some(Failure::Status(500));
        assert_eq!(seen, [broken, broken, Some(Failure::Cut), None]);
        assert_eq!(Turn::new().always_fails(Failure::Cut).failure(usize::MAX - 1), Some(Failure::Cut));
    }

    #[test]
    fn much_is_as_much_as_was_asked() {
        let Some(Doing::Say(text)) = Turn::new().say_much(1024 * 1024).doings.pop() else {
            panic!("it says nothing");
        };
        assert_eq!(text.len(), 1024 * 1024);
    }
}
