//! Deltas in what a program prints: pieces of a text, each in a message of its own.
//!
//! A secret that comes in several deltas is whole in none of them, so redaction line by line does not find it. The raw
//! log gets deltas with their text masked, in the same length. The text itself is in the entry that is made of all
//! deltas, which is redacted as a whole.

use std::borrow::Cow;

use memchr::memmem::Finder;
use serde::Deserialize;

/// The longest line that is held until its end comes. Deltas are shorter.
const LONGEST: usize = 64 * 1024;

/// What stands in the place of each byte of a delta's text.
const MASK: u8 = b'*';

/// What every message with a delta contains: `"delta"`, `outputDelta"`, `text_delta"`; `agent_message_chunk"`.
const ANCHORS: [&[u8]; 2] = [b"elta\"", b"_chunk\""];

/// Fields whose texts are pieces.
const PIECES: [&[u8]; 7] =
    [b"delta", b"deltaBase64", b"partial_json", b"signature", b"text", b"thinking", b"citation"];

/// A program's output with the texts of its deltas masked. Whole lines go on, the beginning of a line waits for its
/// end, unless it is longer than any delta.
#[derive(Debug)]
pub(crate) struct MaskedDeltas {
    finders: [Finder<'static>; 2],
    held: Vec<u8>,
    /// Whether the line under way is too long for a delta, and goes on as it comes.
    is_long: bool,
}

impl MaskedDeltas {
    pub(crate) fn new() -> Self {
        Self { finders: ANCHORS.map(Finder::new), held: Vec::new(), is_long: false }
    }

    /// Takes bytes, and gives those that can go on.
    pub(crate) fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let ended = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at(ended);
        let mut out = if whole.is_empty() { Cow::Borrowed(whole) } else { self.whole_lines(whole) };
        if self.is_long || self.held.len() + rest.len() > LONGEST {
            self.is_long = true;
            let out = out.to_mut();
            out.append(&mut self.held);
            out.extend_from_slice(rest);
        } else {
            self.held.extend_from_slice(rest);
        }
        out
    }

    /// What is left when nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.is_long = false;
        let mut rest = std::mem::take(&mut self.held);
        self.mask(&mut rest, 0);
        rest
    }

    /// The lines that end here, the one under way first.
    fn whole_lines<'b>(&mut self, whole: &'b [u8]) -> Cow<'b, [u8]> {
        // The end of a long line is no delta.
        let from = if self.is_long { memchr::memchr(b'\n', whole).map_or(0, |at| at + 1) } else { 0 };
        self.is_long = false;
        if self.held.is_empty() && !self.finders.iter().any(|finder| finder.find(whole).is_some()) {
            return Cow::Borrowed(whole);
        }
        let mut lines = std::mem::take(&mut self.held);
        lines.extend_from_slice(whole);
        self.mask(&mut lines, from);
        Cow::Owned(lines)
    }

    /// Masks the deltas among lines, from a place on.
    fn mask(&self, text: &mut [u8], from: usize) {
        let [mut first, mut second] = [Some(from); 2];
        let mut at = from;
        loop {
            let next = |known: &mut Option<usize>, finder: &Finder<'_>| {
                if known.is_some_and(|known| known <= at) {
                    let found = text.get(at..).and_then(|rest| finder.find(rest));
                    *known = found.map(|found| at + found);
                }
                *known
            };
            let [one, other] = &self.finders;
            let found = [next(&mut first, one), next(&mut second, other)];
            let Some(found) = found.into_iter().flatten().min() else { return };
            let start = text.get(at..found).and_then(|before| memchr::memrchr(b'\n', before));
            let start = start.map_or(at, |line_end| at + line_end + 1);
            let end = text.get(found..).and_then(|rest| memchr::memchr(b'\n', rest));
            let end = end.map_or(text.len(), |end| found + end + 1);
            if let Some(line) = text.get_mut(start..end)
                && is_delta(line)
            {
                mask_pieces(line);
            }
            at = end;
        }
    }
}

/// What says of a message that it is a delta.
#[derive(Deserialize)]
struct Head<'l> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
    #[serde(borrow)]
    method: Option<Cow<'l, str>>,
    #[serde(borrow)]
    params: Option<Params<'l>>,
}

#[derive(Deserialize)]
struct Params<'l> {
    #[serde(borrow)]
    update: Option<Update<'l>>,
}

#[derive(Deserialize)]
struct Update<'l> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Option<Cow<'l, str>>,
}

fn is_delta(line: &[u8]) -> bool {
    let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else { return false };
    let update = head.params.and_then(|params| params.update).and_then(|update| update.kind);
    head.kind.is_some_and(|kind| kind == "stream_event")
        || head.method.is_some_and(|method| method.ends_with("Delta") || method.ends_with("/delta"))
        || update.is_some_and(|update| update.ends_with("_chunk"))
}

/// Masks the texts of a line of JSON that are pieces.
fn mask_pieces(line: &mut [u8]) {
    let mut at = 0;
    let mut is_piece = false;
    while let Some(open) = line.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = at + open + 1;
        let length = string_length(line.get(start..).unwrap_or_default());
        let end = start + length;
        let behind = line.get(end + 1..).unwrap_or_default().trim_ascii_start();
        if behind.first() == Some(&b':') {
            let is_text = behind.get(1..).unwrap_or_default().trim_ascii_start().first() == Some(&b'"');
            is_piece = is_text && line.get(start..end).is_some_and(|name| PIECES.contains(&name));
        } else if std::mem::take(&mut is_piece)
            && let Some(text) = line.get_mut(start..end)
        {
            text.fill(MASK);
        }
        at = end + 1;
    }
}

/// How long the string is that begins a text behind its quote.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"gh\"p_"}}}"#;
    const CODEX: &str = r#"{"method":"item/agentMessage/delta","params":{"itemId":"m","delta":"ghp_"}}"#;
    const ACP: &str = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ghp_"}}}}"#;
    const WHOLE: &str =
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"ghp_","delta":"ghp_"}]}}"#;

    fn masked(text: &str, length: usize) -> String {
        let mut deltas = MaskedDeltas::new();
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(length) {
            out.extend_from_slice(&deltas.push(piece));
        }
        out.extend(deltas.finish());
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn texts_of_deltas_are_masked_and_other_messages_stay_wherever_a_read_ends() {
        let text = format!("{WHOLE}\n{CLAUDE}\n{CODEX}\nwords of \"delta\"\n{ACP}\n{WHOLE}\n{CODEX}");
        let expected = text
            .replace(r#""gh\"p_""#, r#""******""#)
            .replace(CODEX, &CODEX.replace("ghp_", "****"))
            .replace(ACP, &ACP.replace("ghp_", "****"));
        for length in 1..=text.len() {
            assert_eq!(masked(&text, length), expected, "reads of {length} bytes");
        }
    }

    #[test]
    fn line_that_is_too_long_for_a_delta_goes_on_as_it_comes() {
        let long = format!("{}\n{CODEX}\n", "a".repeat(3 * LONGEST));
        let mut deltas = MaskedDeltas::new();
        let (first, second) = long.as_bytes().split_at(2 * LONGEST);
        assert_eq!(deltas.push(first).len(), 2 * LONGEST);
        let second = deltas.push(second).into_owned();
        let last = format!("a\n{}\n", CODEX.replace("ghp_", "****"));
        assert!(second.ends_with(last.as_bytes()));
    }
}
