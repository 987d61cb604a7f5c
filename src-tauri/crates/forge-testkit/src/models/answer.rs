//! An answer of the model, in the words of no single service.

use std::io;

use serde_json::Value;

use super::{
    call::{Call, Input},
    request::{Message, Offered, Role},
    scenario::{Doing, Tokens, Turn},
    tools,
};

/// What is said when a script is over.
const OVER: &str = "Nothing more is scripted.";
/// What a request gets that belongs to no script.
const ASIDE: &str = "A side answer.";
/// The tool of a program that takes an answer in a form.
const STRUCTURED: &str = "StructuredOutput";
/// How long a piece of a text is, unless the turn says so; a long text comes in as many as this allows.
const PIECE: usize = 24;
const MOST_PIECES: usize = 64;

/// One answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// Part of every id in it; never twice in one conversation.
    pub id: String,
    pub model: String,
    pub items: Vec<Item>,
    pub tokens: Tokens,
    /// How long pieces of text are, in characters.
    pub piece: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Item {
    Think(String),
    Say(String),
    Call(Call),
}

impl Answer {
    /// The answer of a turn, with the tools that this conversation has; past the end of a script a short text.
    pub fn of_turn(
        turn: Option<&Turn>,
        id: String,
        model: &str,
        messages: &[Message],
        offered: &[Offered],
    ) -> Self {
        let over = Turn::new().say(OVER);
        let turn = turn.unwrap_or(&over);
        let folder = folder(messages);
        let mut items = Vec::new();
        for doing in &turn.doings {
            match doing {
                Doing::Think(text) => items.push(Item::Think(text.clone())),
                Doing::Say(text) => items.push(Item::Say(text.clone())),
                Doing::Answer(value) if offered.iter().any(|tool| tool.name == STRUCTURED) => {
                    let input = Input::Json(value.clone());
                    items.push(Item::Call(Call { name: STRUCTURED.to_owned(), namespace: None, input }));
                }
                Doing::Answer(value) => items.push(Item::Say(value.to_string())),
                Doing::Act(act) => {
                    items.extend(tools::calls(act, offered, &folder).into_iter().map(Item::Call));
                }
            }
        }
        let piece = turn.pace.map(|pace| pace.piece);
        Self { id, model: model.to_owned(), items, tokens: turn.tokens, piece }
    }

    /// The answer of a request that belongs to no script.
    pub fn aside(number: usize, model: &str, schema: Option<&Value>) -> Self {
        let text =
            schema.map_or_else(|| ASIDE.to_owned(), |schema| super::schema::instance(schema).to_string());
        Self {
            id: format!("aside_{number}"),
            model: model.to_owned(),
            items: vec![Item::Say(text)],
            tokens: Tokens::NONE,
            piece: None,
        }
    }

    /// Whether a tool is called.
    pub fn calls(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Call(_)))
    }

    /// A text in the pieces in which it is sent.
    pub fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let size = self.piece.unwrap_or_else(|| PIECE.max(text.len().div_ceil(MOST_PIECES)));
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// Something that is written at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub text: String,
    /// Of a piece of something that is not whole yet: which item's.
    pub piece_of: Option<usize>,
}

impl Frame {
    /// A server-sent event.
    pub fn event(name: Option<&str>, data: &Value) -> Self {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        Self { text: format!("{name}data: {data}\n\n"), piece_of: None }
    }

    /// It is a piece of that item.
    pub fn of(mut self, item: usize) -> Self {
        self.piece_of = Some(item);
        self
    }
}

/// How many frames come before the middle of what is first in an answer: that is not whole then, so a program
/// that lost the rest has nothing to remember of it.
pub(super) fn middle(frames: &[Frame]) -> usize {
    let of_first: Vec<usize> = (0..frames.len()).filter(|index| frames[*index].piece_of == Some(0)).collect();
    match of_first.len() {
        0 => frames.len().min(1),
        count => of_first[(count - 1) / 2] + 1,
    }
}

/// What the body of a cut answer ends with.
pub(super) fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the script cuts this answer")
}

/// The folder that the program says it works in, as it said last.
fn folder(messages: &[Message]) -> String {
    const MARKS: &[(&str, &[char])] = &[
        ("<cwd>", &['<']),
        ("Primary working directory: ", &['\n']),
        ("Working directory: ", &['\n']),
        ("working in the directory: ", &['\n']),
        ("**Workspace Directories:**\n  - ", &['\n']),
    ];
    let of_program = messages.iter().rev().filter(|it| matches!(it.role, Role::System | Role::User));
    let mut found = of_program.filter_map(|message| {
        MARKS.iter().find_map(|(mark, ends)| {
            let (_, rest) = message.text.rsplit_once(mark)?;
            // Of a conversation that goes on elsewhere, one of them tells where it was, too.
            let path = rest.split(*ends).next()?.split(" (was ").next();
            path.map(|path| path.trim().to_owned())
        })
    });
    found.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_the_program_named_last() {
        let said = |texts: &[&str]| {
            folder(&texts.iter().map(|text| Message::new(Role::System, *text)).collect::<Vec<_>>())
        };
        assert_eq!(said(&["<cwd>/a b</cwd>\n", "<cwd>/c</cwd>", "else"]), "/c");
        assert_eq!(said(&["# Environment\n - Primary working directory: /a/b\n - Is"]), "/a/b");
        assert_eq!(said(&["<env>\n  Working directory: /a/b\n"]), "/a/b");
        assert_eq!(said(&["Primary working directory: /a/b (was /a/c)\n"]), "/a/b");
        assert_eq!(said(&["none"]), "");
    }

    #[test]
    fn a_text_comes_in_pieces_that_make_the_whole() {
        let mut answer = Answer::aside(1, "m", None);
        let long = "é".repeat(100_000);
        assert!(answer.pieces(&long).len() <= MOST_PIECES);
        assert_eq!(answer.pieces(&long).concat(), long);
        answer.piece = Some(2);
        assert_eq!(answer.pieces("éabcd"), ["éa", "bc", "d"]);
        assert!(answer.pieces("").is_empty());
    }
}
