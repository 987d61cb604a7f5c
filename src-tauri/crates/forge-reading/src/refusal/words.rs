//! The words of a refusal, and the path that stands with them.

use crate::diagnostic::without_escapes;

/// What most programs say, in any case.
const WORDS: &[u8] = b"permission denied";

/// What others say: the system's names of the errors.
const NAMES: [&[u8]; 2] = [b"EACCES", b"EPERM"];

/// What quotes a path: how it begins and how it ends.
const QUOTES: [(char, char); 4] = [('\'', '\''), ('"', '"'), ('`', '`'), ('\u{2018}', '\u{2019}')];

/// A refusal that a line tells of.
pub(super) struct Refusal {
    pub(super) path: Option<String>,
}

/// The first refusal whose words begin from `from` to before `to`.
pub(super) fn first_refusal(line: &[u8], from: usize, to: usize) -> Option<Refusal> {
    let starts = from..line.len().min(to);
    starts.filter_map(|at| Some((at, length_at(line, at)?))).find_map(|(at, length)| {
        let (before, after) = (text(line.get(..at)?), text(line.get(at + length..)?));
        let is_name = length != WORDS.len();
        let path = path_after(&after).or_else(|| path_before(&before));
        let counts = match is_name {
            true => path.is_some() || !is_field(&before) && !is_explained(&after),
            false => path.is_some() || is_end(&after),
        };
        counts.then_some(Refusal { path })
    })
}

/// How long the words are that begin here.
fn length_at(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    match rest.first()? {
        b'p' | b'P' => rest.get(..WORDS.len())?.eq_ignore_ascii_case(WORDS).then_some(WORDS.len()),
        b'E' => {
            let name = NAMES.into_iter().find(|name| rest.starts_with(name))?;
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let before = at.checked_sub(1).and_then(|at| line.get(at));
            let is_whole = !before.is_some_and(is_part) && !rest.get(name.len()).is_some_and(is_part);
            is_whole.then_some(name.len())
        }
        _ => None,
    }
}

/// A text without colours, and without the escapes of JSON that stand before quotes.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\\u001b", "\u{1b}");
    let mut plain = without_escapes(&text);
    while plain.contains("\\\"") || plain.contains("\\'") || plain.contains("\\\\") {
        plain = plain.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\");
    }
    plain
}

/// Whether a line, or the text that is quoted in it, ends here.
fn is_end(after: &str) -> bool {
    let rest = after.strip_prefix(" (os error 13)").unwrap_or(after);
    let rest = rest.trim_end();
    rest.is_empty() || rest.starts_with('"')
}

/// Whether what stands before a name says that it is a field of an error, which is told of on another line.
fn is_field(before: &str) -> bool {
    let field = before.trim_end_matches([' ', ':', '=', '\'', '"']);
    field.len() < before.len() && ["code", "errno"].iter().any(|name| field.ends_with(name))
}

/// Whether the words follow upon the name.
fn is_explained(after: &str) -> bool {
    let words = after.trim_start_matches([':', ' ']).as_bytes();
    words.get(..WORDS.len()).is_some_and(|words| words.eq_ignore_ascii_case(WORDS))
}

/// A path behind the words: `: '/x'`, `: /x`, `, open '/x'`, ` @ rb_sysopen - /x`.
fn path_after(after: &str) -> Option<String> {
    let after = after.strip_prefix(": operation not permitted").unwrap_or(after);
    if let Some(rest) = after.strip_prefix(": ") {
        return quoted(rest).or_else(|| plain(rest));
    }
    if let Some(rest) = after.strip_prefix(", ") {
        let (verb, rest) = rest.split_once(' ')?;
        return verb.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| quoted(rest)).flatten();
    }
    let rest = after.strip_prefix(" @ ")?;
    let (_, path) = rest.split_once(" - ")?;
    plain(path.split(" (Errno::").next()?)
}

/// A path at the beginning, in quotes.
fn quoted(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    let (_, end) = QUOTES.into_iter().find(|(begin, _)| *begin == first)?;
    path(text.get(first.len_utf8()..)?.split_once(end)?.0)
}

/// A path without quotes, up to the end of what quotes the whole.
fn plain(text: &str) -> Option<String> {
    path(text.split('"').next()?)
}

/// A path before the words: `cannot touch '/x': `, `cannot create /x: `, `/x: Cannot open: `, `/x (`.
fn path_before(before: &str) -> Option<String> {
    let before = before.trim_end_matches([' ', ':', '(', '-']);
    let last = before.chars().next_back()?;
    if let Some((begin, end)) = QUOTES.into_iter().find(|(_, end)| *end == last) {
        let inside = before.strip_suffix(end)?;
        return path(inside.rsplit_once(begin)?.1);
    }
    let text = before.rsplit('"').next()?;
    let mut parts = text.rsplit(": ");
    let nearest = parts.next()?;
    let begins =
        |at: &usize| nearest.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with(' '));
    let at = nearest.match_indices(['/', '~']).map(|(at, _)| at).find(begins);
    at.and_then(|at| path(nearest.get(at..)?)).or_else(|| parts.next().and_then(path))
}

/// A text as a path, if it is one that says where it is.
fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let is_path = (text.starts_with('/') || text.starts_with('~')) && !text.contains(char::is_control);
    is_path.then(|| text.to_owned())
}
