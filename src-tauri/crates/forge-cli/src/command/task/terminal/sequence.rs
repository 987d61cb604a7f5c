//! The control sequences in what is read from this terminal: the key that leaves it, and the terminal's own answers.

/// The key that leaves a terminal: `Ctrl+]`, as of other programs that show a terminal.
const DETACH: u8 = 0x1d;
/// Its character.
const BRACKET: &str = "93";

/// What begins a sequence.
const ESC: u8 = 0x1b;
/// What ends a string, where `ESC \` does not.
const BEL: u8 = 0x07;

/// The most bytes of a sequence, and of a string, the rest of which is waited for.
const LONGEST_SEQUENCE: usize = 64;
const LONGEST_STRING: usize = 4096;

/// The modifiers of a key: one more than the sum of these.
const CTRL: u16 = 4;
const LOCKS: u16 = 64 + 128;

/// What the first bytes of what is read are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The person typed them.
    Typed,
    /// The terminal answers a program.
    Answer,
    /// The key that leaves the terminal.
    Detach,
    /// A sequence whose rest was not read yet.
    Unfinished,
}

/// What is first in what is read, and how many bytes that are, at least one. Answers are looked for only where
/// `with_answers` says so: a string is not waited for otherwise.
pub(super) fn first(bytes: &[u8], with_answers: bool) -> (Input, usize) {
    match bytes {
        [DETACH, ..] => (Input::Detach, 1),
        [ESC] => (Input::Unfinished, 1),
        [ESC, b'[', ..] => sequence(bytes, with_answers),
        [ESC, b'P' | b']' | b'_', ..] if with_answers => string(bytes),
        _ => {
            let rest = bytes.iter().skip(1).position(|byte| matches!(*byte, ESC | DETACH));
            (Input::Typed, rest.map_or(bytes.len(), |at| at + 1).max(1))
        }
    }
}

/// What begins with `ESC [`.
fn sequence(bytes: &[u8], with_answers: bool) -> (Input, usize) {
    let last = bytes.iter().enumerate().skip(2).find(|(_, byte)| !matches!(**byte, 0x20..=0x3f));
    let Some((at, last)) = last else { return unfinished(bytes, LONGEST_SEQUENCE) };
    if !matches!(*last, 0x40..=0x7e) {
        return (Input::Typed, at);
    }
    let parameters = bytes.get(2..at).and_then(|parameters| str::from_utf8(parameters).ok());
    let parameters = parameters.unwrap_or_default();
    let input = if is_detach(parameters, *last) {
        Input::Detach
    } else if with_answers && is_answer(parameters, *last) {
        Input::Answer
    } else {
        Input::Typed
    };
    (input, at + 1)
}

/// What begins with `ESC P`, `ESC ]` or `ESC _`, and ends with `ESC \` or a bell. Any other control character says that
/// it was typed.
fn string(bytes: &[u8]) -> (Input, usize) {
    let end = bytes.iter().enumerate().skip(2).find(|(_, byte)| **byte < 0x20);
    match end {
        None => unfinished(bytes, LONGEST_STRING),
        Some((at, &BEL)) => (Input::Answer, at + 1),
        Some((at, &ESC)) => match bytes.get(at + 1) {
            None => unfinished(bytes, LONGEST_STRING),
            Some(b'\\') => (Input::Answer, at + 2),
            Some(_) => (Input::Typed, at),
        },
        Some((at, _)) => (Input::Typed, at),
    }
}

const fn unfinished(bytes: &[u8], longest: usize) -> (Input, usize) {
    let input = if bytes.len() > longest { Input::Typed } else { Input::Unfinished };
    (input, bytes.len())
}

/// Whether a sequence is the key that leaves, where a program switched on xterm's `modifyOtherKeys` or the keyboard
/// protocol of kitty.
fn is_detach(parameters: &str, last: u8) -> bool {
    let mut parameters = parameters.split(';');
    let mut next = || parameters.next().unwrap_or_default();
    match last {
        // CSI 27 ; modifiers ; character ~
        b'~' => next() == "27" && is_ctrl(next()) && next() == BRACKET,
        // CSI character : others ; modifiers : event ; text u
        b'u' => next().split(':').next() == Some(BRACKET) && is_ctrl_down(next()),
        _ => false,
    }
}

/// Whether a key is pressed or held with Ctrl alone, and not let go.
fn is_ctrl_down(parameter: &str) -> bool {
    let (modifiers, event) = parameter.split_once(':').unwrap_or((parameter, "1"));
    is_ctrl(modifiers) && event != "3"
}

fn is_ctrl(modifiers: &str) -> bool {
    let sum = modifiers.parse::<u16>().ok().and_then(|modifiers| modifiers.checked_sub(1));
    sum.is_some_and(|sum| sum & !LOCKS == CTRL)
}

/// Whether a terminal says this by itself: a report of its kind, state, size, modes and focus, and of where its cursor is.
fn is_answer(parameters: &str, last: u8) -> bool {
    let numbers = parameters.strip_prefix(['?', '>']).unwrap_or(parameters);
    let numbers = match last {
        b'c' | b'n' | b'R' | b't' | b'I' | b'O' => Some(numbers),
        b'y' => numbers.strip_suffix('$'),
        b'u' if parameters.starts_with('?') => Some(numbers),
        _ => None,
    };
    numbers.is_some_and(|numbers| numbers.chars().all(|it| it.is_ascii_digit() || it == ';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_that_leaves_is_known_in_every_encoding() {
        let keys: [&[u8]; 7] = [
            b"\x1d",
            b"\x1b[27;5;93~",
            b"\x1b[93;5u",
            b"\x1b[93;5:2u",
            b"\x1b[93;133u",
            b"\x1b[93::41;5u",
            b"\x1b[93;5;93u",
        ];
        for key in keys {
            for with_answers in [false, true] {
                assert_eq!(first(key, with_answers), (Input::Detach, key.len()), "{}", key.escape_ascii());
            }
        }
    }

    #[test]
    fn similar_keys_are_typed() {
        let keys: [&[u8]; 8] = [
            b"\x1b[93;6u",
            b"\x1b[93;5:3u",
            b"\x1b[93u",
            b"\x1b[91;5u",
            b"\x1b[27;5;91~",
            b"\x1b[27;6;93~",
            b"\x1b[15;5~",
            b"\x1b[A",
        ];
        for key in keys {
            assert_eq!(first(key, true), (Input::Typed, key.len()), "{}", key.escape_ascii());
        }
    }

    #[test]
    fn beginning_of_a_key_is_unfinished() {
        let key = b"\x1b[27;5;93~";
        for length in 1..key.len() {
            let begun = key.get(..length).unwrap();
            assert_eq!(first(begun, false), (Input::Unfinished, length), "{}", begun.escape_ascii());
        }
        let long = [b"\x1b[".as_slice(), &[b'1'; LONGEST_SEQUENCE]].concat();
        assert_eq!(first(&long, false), (Input::Typed, long.len()));
    }

    #[test]
    fn answers_of_a_terminal_are_known_only_where_they_are_looked_for() {
        let answers: [&[u8]; 12] = [
            b"\x1b[?1;2c",
            b"\x1b[>41;390;0c",
            b"\x1b[0n",
            b"\x1b[12;40R",
            b"\x1b[8;24;80t",
            b"\x1b[?2026;2$y",
            b"\x1b[?1u",
            b"\x1b[I",
            b"\x1bP>|XTerm(390)\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1b_Gi=31;OK\x1b\\",
        ];
        for answer in answers {
            assert_eq!(first(answer, true), (Input::Answer, answer.len()), "{}", answer.escape_ascii());
            assert_eq!(first(answer, false).0, Input::Typed, "{}", answer.escape_ascii());
        }
    }

    #[test]
    fn typed_keys_are_no_answers() {
        let typed: [(&[u8], usize); 7] = [
            (b"\x03", 1),
            (b"ls\n\x1b[c", 3),
            (b"\x1bOP", 3),
            (b"\x1b[15~", 5),
            (b"\x1b[200~", 6),
            (b"\x1b\x1b[A", 1),
            (b"\x1bPx\n", 3),
        ];
        for (bytes, length) in typed {
            assert_eq!(first(bytes, true), (Input::Typed, length), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn string_is_waited_for_up_to_a_length() {
        assert_eq!(first(b"\x1b]11;rgb:00", true), (Input::Unfinished, 11));
        assert_eq!(first(b"\x1b]11;rgb:00\x1b", true), (Input::Unfinished, 12));
        assert_eq!(first(b"\x1b]11;rgb:00", false), (Input::Typed, 11));
        let long = [b"\x1b]".as_slice(), &[b'x'; LONGEST_STRING]].concat();
        assert_eq!(first(&long, true), (Input::Typed, long.len()));
    }
}
