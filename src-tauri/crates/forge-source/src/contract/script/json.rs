//! JSON files, with comments where tools allow them.

use serde_json::Value;

use crate::Files;

/// The value in a JSON file; none when there is no such file, or it holds no JSON.
pub(super) fn json(files: &dyn Files, path: &str) -> Option<Value> {
    let bytes = files.read(path).ok()?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned();
    serde_json::from_str(&text).or_else(|_| serde_json::from_str(&without_comments(&text))).ok()
}

/// JSON as TypeScript's configuration is written: comments and trailing commas blanked.
fn without_comments(text: &str) -> String {
    let mut out: Vec<u8> = text.bytes().collect();
    let (mut at, mut comma) = (0, None);
    while at < out.len() {
        match (out[at], out.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at += 1;
                while at < out.len() && out[at] != b'"' {
                    at += 1 + usize::from(out[at] == b'\\');
                }
                at += 1;
            }
            (b'/', Some(b'/')) => {
                while at < out.len() && out[at] != b'\n' {
                    out[at] = b' ';
                    at += 1;
                }
            }
            (b'/', Some(b'*')) => {
                let end = text.as_bytes()[at + 2..].windows(2).position(|pair| pair == b"*/");
                let end = end.map_or(out.len(), |end| at + end + 4);
                out[at..end].fill(b' ');
                at = end;
            }
            (b',', _) => {
                comma = Some(at);
                at += 1;
            }
            (byte @ (b']' | b'}'), _) => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
                out[at] = byte;
                at += 1;
            }
            (byte, _) => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
