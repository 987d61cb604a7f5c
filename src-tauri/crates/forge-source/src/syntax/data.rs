//! TOML and YAML.

use saphyr_parser::Parser;
use toml::de::DeTable;

use super::verdict::{Syntax, SyntaxError};

/// What the reader of TOML says when it goes no deeper, which no rule of the language forbids.
const TOO_DEEP: [&str; 2] = ["recursion limit", "max recursion depth"];

pub(super) fn toml(text: &str) -> Syntax {
    match DeTable::parse(text) {
        Ok(_) => Syntax::Sound,
        Err(error) if TOO_DEEP.iter().any(|words| error.message().contains(words)) => {
            Syntax::Refused { reason: "its values nest too deeply".to_owned() }
        }
        Err(error) => {
            let offset = error.span().map_or(text.len(), |span| span.start);
            Syntax::Broken(SyntaxError::at(text, offset, error.message()))
        }
    }
}

/// Every document of a stream. Templates that only become YAML are none.
pub(super) fn yaml(text: &str) -> Syntax {
    for event in Parser::new_from_str(text) {
        if let Err(error) = event {
            let place = error.marker();
            return Syntax::Broken(SyntaxError {
                message: error.info().to_owned(),
                line: crate::place::number(place.line().max(1)),
                column: crate::place::number(place.col() + 1),
            });
        }
    }
    Syntax::Sound
}
