//! Secrets that are known by their format.
//!
//! One search finds the few characters that each format has for sure; what stands around them is then read by hand.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::{Span, begins_word, searcher};

/// How far the authority of a URL is read.
const LONGEST_AUTHORITY: usize = 1024;

/// How much may stand between the name of AWS's secret key and the key.
const LONGEST_ASSIGNMENT: usize = 12;

/// How long AWS's secret keys are.
const AWS_SECRET: usize = 40;

const URL_PASSWORD: &str = "URL_PASSWORD";
pub(super) const PRIVATE_KEY: &str = "PRIVATE_KEY";

/// What each private key in PEM begins with, and what ends it.
const PEM_BEGIN: &[u8] = b"-----BEGIN ";
const PEM_END: &[u8] = b"-----END ";
const PEM_DASHES: &[u8] = b"-----";

/// How a secret is read that an anchor announces.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// At least so many characters of a kind.
    Run { least: usize, of: fn(u8) -> bool, also: fn(&[u8]) -> bool },
    /// At least 16 capital letters and digits, which is how long they are.
    AwsId,
    /// A value that is assigned to the anchor.
    AwsSecret,
    /// `sk-` and what makes it a key.
    Sk,
    /// `xox`, one letter, a dash.
    Slack,
    /// Three parts with dots between them.
    Jwt,
    /// A private key.
    Pem,
    /// A password before the host.
    Url,
}

const fn run(least: usize, of: fn(u8) -> bool) -> Shape {
    Shape::Run { least, of, also: |_| true }
}

/// An anchor with the name and the shape of its format.
type Format = (&'static str, &'static str, Shape);

/// Formats with anchors of three characters. They are looked for by themselves: one of them among longer anchors makes
/// the search of all twice as slow.
static SHORT_FORMATS: [Format; 4] = [
    ("sk-", "", Shape::Sk),
    ("xox", "SLACK_TOKEN", Shape::Slack),
    ("eyJ", "JWT", Shape::Jwt),
    ("://", URL_PASSWORD, Shape::Url),
];

/// Formats with longer anchors.
static LONG_FORMATS: [Format; 27] = [
    ("ghp_", "GITHUB_TOKEN", run(20, is_word)),
    ("gho_", "GITHUB_TOKEN", run(20, is_word)),
    ("ghs_", "GITHUB_TOKEN", run(20, is_word)),
    ("ghu_", "GITHUB_TOKEN", run(20, is_word)),
    ("ghr_", "GITHUB_TOKEN", run(20, is_word)),
    ("github_pat_", "GITHUB_TOKEN", run(20, is_word)),
    ("glpat-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("gldt-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("glrt-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("glptt-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("glcbt-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("AIza", "GOOGLE_API_KEY", run(30, is_dashed)),
    ("GOCSPX-", "GOOGLE_CLIENT_SECRET", run(20, is_dashed)),
    ("ya29.", "GOOGLE_ACCESS_TOKEN", run(20, is_dashed)),
    ("AKIA", "AWS_ACCESS_KEY_ID", Shape::AwsId),
    ("ASIA", "AWS_ACCESS_KEY_ID", Shape::AwsId),
    ("ecret_access_key", "AWS_SECRET_ACCESS_KEY", Shape::AwsSecret),
    ("ECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", Shape::AwsSecret),
    ("ecretAccessKey", "AWS_SECRET_ACCESS_KEY", Shape::AwsSecret),
    ("xapp-", "SLACK_TOKEN", run(10, is_dashed)),
    ("hooks.slack.com/services/", "SLACK_WEBHOOK", run(20, |it| it.is_ascii_alphanumeric() || it == b'/')),
    ("npm_", "NPM_TOKEN", run(30, |it| it.is_ascii_alphanumeric())),
    (
        "pypi-",
        "PYPI_TOKEN",
        Shape::Run { least: 20, of: is_dashed, also: |body| body.iter().any(u8::is_ascii_uppercase) },
    ),
    // What a run of Forge's own gets to talk to Forge.
    (
        "run_",
        "FORGE_RUN_TOKEN",
        Shape::Run {
            least: 43,
            of: is_dashed,
            also: |body| body.len() == 43 && body.iter().any(u8::is_ascii_uppercase),
        },
    ),
    ("-----BEGIN ", PRIVATE_KEY, Shape::Pem),
    (":\\/\\/", URL_PASSWORD, Shape::Url),
    ("%3A%2F%2F", URL_PASSWORD, Shape::Url),
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_dotted(byte: u8) -> bool {
    is_dashed(byte) || byte == b'.'
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether a secret whose beginning is redacted may go on with this.
pub(super) fn may_continue(byte: u8) -> bool {
    is_dotted(byte) || is_base64(byte)
}

/// The well-known formats.
#[derive(Debug)]
pub(super) struct Formats {
    searchers: [(AhoCorasick, &'static [Format]); 2],
}

impl Formats {
    pub(super) fn new() -> Option<Self> {
        let of = |formats: &'static [Format]| {
            Some((searcher(formats.iter().map(|(anchor, ..)| anchor))?, formats))
        };
        Some(Self { searchers: [of(&SHORT_FORMATS)?, of(&LONG_FORMATS)?] })
    }

    /// Where anchors are in a text.
    fn anchors(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, &'static Format)> {
        self.searchers.iter().flat_map(move |(searcher, formats)| {
            let found = searcher.find_iter(text);
            found.filter_map(|anchor| Some((anchor.range(), formats.get(anchor.pattern().as_usize())?)))
        })
    }

    pub(super) fn suspects(&self, text: &[u8]) -> bool {
        // Almost every address is one without a password, so it is read at once.
        self.anchors(text).any(|(anchor, (_, name, shape))| {
            matches!(shape, Shape::Pem) || shape.read(text, anchor, name).is_some()
        })
    }

    pub(super) fn find<'r>(&'r self, text: &[u8], spans: &mut Vec<Span<'r>>) {
        let found =
            self.anchors(text).filter_map(|(anchor, (_, name, shape))| shape.read(text, anchor, name));
        spans.extend(found.map(|(at, name)| Span { at, name }));
    }
}

impl Shape {
    /// The secret that an anchor announces, with its name.
    fn read(
        self,
        text: &[u8],
        anchor: Range<usize>,
        name: &'static str,
    ) -> Option<(Range<usize>, &'static str)> {
        let rest = text.get(anchor.end..)?;
        let at = match self {
            Self::Run { least, of, also } => {
                let length = length_of(rest, of);
                (length >= least && also(&rest[..length])).then(|| anchor.start..anchor.end + length)
            }
            Self::AwsId => {
                let is_of_id = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
                let within =
                    anchor.start.checked_sub(1).and_then(|at| text.get(at)).is_some_and(|it| is_of_id(*it));
                let length = length_of(rest, is_of_id);
                (!within && length >= 16).then(|| anchor.start..anchor.end + length)
            }
            Self::AwsSecret => aws_secret(rest).map(|at| anchor.end + at.start..anchor.end + at.end),
            Self::Sk => {
                let (length, name) = sk(text, anchor.start, rest)?;
                return Some((anchor.start..anchor.end + length, name));
            }
            Self::Slack => {
                let body = rest.get(2..)?;
                let is_kind = matches!(rest, [b'a' | b'b' | b'e' | b'o' | b'p' | b'r' | b's', b'-', ..]);
                let length = length_of(body, is_dashed);
                (is_kind && length >= 10).then(|| anchor.start..anchor.end + 2 + length)
            }
            Self::Jwt => jwt(rest).map(|length| anchor.start..anchor.end + length),
            Self::Pem => pem(rest).map(|length| anchor.start..anchor.end + length),
            Self::Url => url_password(rest).map(|at| anchor.end + at.start..anchor.end + at.end),
        };
        at.map(|at| (at, name))
    }
}

fn length_of(text: &[u8], of: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !of(*byte)).unwrap_or(text.len())
}

/// How long a key is after its `sk-`, and whose it is.
fn sk(text: &[u8], start: usize, rest: &[u8]) -> Option<(usize, &'static str)> {
    let length = length_of(rest, is_dashed);
    let body = rest.get(..length)?;
    if length < 16 {
        return None;
    }
    if body.starts_with(b"ant-") {
        return Some((length, "ANTHROPIC_API_KEY"));
    }
    let is_named = [&b"proj-"[..], b"svcacct-", b"admin-"].iter().any(|kind| body.starts_with(kind));
    // `sk-` ends many words and begins some class names: a key has digits.
    let looks_random = length >= 20 && body.iter().filter(|it| it.is_ascii_digit()).count() >= 2;
    // Behind other characters, a part of it has to be longer and less even than what stands in words.
    let is_certain = || body.split(|byte| matches!(byte, b'-' | b'_')).any(is_of_a_key);
    let is_key = is_named || (looks_random && (begins_word(text, start) || is_certain()));
    is_key.then_some((length, "OPENAI_API_KEY"))
}

/// Whether it is as long and as mixed as the content of a key: hashes and identifiers are shorter, or of one case.
fn is_of_a_key(part: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| part.iter().any(kind);
    part.len() >= 32 && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Where the secret key is that is assigned by what follows its name.
fn aws_secret(rest: &[u8]) -> Option<Range<usize>> {
    let is_between = |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'>');
    let between = length_of(rest, is_between);
    let assigns = rest.get(..between)?.iter().any(|byte| matches!(byte, b':' | b'='));
    if !assigns || between > LONGEST_ASSIGNMENT {
        return None;
    }
    // A slash may be escaped in JSON.
    let value = rest.get(between..)?;
    let run = value.get(..length_of(value, |byte| is_base64(byte) || byte == b'\\'))?;
    // The last ones escape what comes behind the key.
    let escapes = run.iter().rev().take_while(|byte| **byte == b'\\').count();
    let length = run.len() - escapes;
    let content = run.iter().filter(|byte| **byte != b'\\').count();
    (content >= AWS_SECRET).then_some(between..between + length)
}

/// How long a token is after its `eyJ`.
fn jwt(rest: &[u8]) -> Option<usize> {
    let mut length = 0;
    for (part, least) in [8, 4, 8].into_iter().enumerate() {
        if part > 0 {
            (rest.get(length) == Some(&b'.')).then_some(())?;
            length += 1;
        }
        let characters = length_of(rest.get(length..)?, is_dashed);
        (characters >= least).then_some(())?;
        length += characters;
    }
    Some(length)
}

/// How long a private key is after its `-----BEGIN `, as far as it stands on this line.
fn pem(rest: &[u8]) -> Option<usize> {
    let label = length_of(rest, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let is_key = memmem::find(rest.get(..label)?, b"PRIVATE KEY").is_some();
    if !is_key || !rest.get(label..)?.starts_with(PEM_DASHES) {
        return None;
    }
    let head = label + PEM_DASHES.len();
    Some(head + key_content(rest.get(head..)?))
}

/// How much of a line belongs to a key that ends on it.
pub(super) fn key_end(line: &[u8]) -> Option<usize> {
    let end = memmem::find(line, PEM_END)?;
    let after = end + PEM_END.len();
    let label = line.get(after..).and_then(|rest| memmem::find(rest, PEM_DASHES));
    // Another key's end, far behind what is no key, is not this one's.
    let is_its_own = !line.get(..end)?.contains(&b'"');
    is_its_own.then(|| label.map_or(line.len(), |label| after + label + PEM_DASHES.len()))
}

/// How much of a line is the content of a key that began before it.
pub(super) fn key_content(line: &[u8]) -> usize {
    let is_content =
        |byte: u8| is_base64(byte) || matches!(byte, b'\\' | b' ' | b'\t' | b'\r' | b':' | b',' | b'-');
    key_end(line).unwrap_or_else(|| length_of(line, is_content))
}

/// Whether a line goes on with a key that began before it: its last word is base64, or it is a header of the key.
pub(super) fn continues_key(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let last = line.rsplit(|byte| byte.is_ascii_whitespace() || *byte == b'|').next().unwrap_or_default();
    let is_whole = last.len() == line.len();
    let is_certain = is_whole || last.len() >= 24 || last.ends_with(b"=");
    let is_content = last.iter().all(|byte| is_base64(*byte)) && is_certain;
    line.is_empty()
        || is_content
        || memmem::find(line, PEM_END).is_some()
        || line.starts_with(b"Proc-Type:")
        || line.starts_with(b"DEK-Info:")
}

/// Whether a key begins in a line and does not end on it.
pub(super) fn leaves_key_open(line: &[u8]) -> bool {
    let Some(begin) = memmem::rfind(line, PEM_BEGIN) else { return false };
    let rest = line.get(begin + PEM_BEGIN.len()..).unwrap_or_default();
    pem(rest).is_some_and(|length| {
        length == rest.trim_ascii_end().len().max(length) && memmem::find(rest, PEM_END).is_none()
    })
}

/// Where the password is in a URL, from behind its `://`.
fn url_password(rest: &[u8]) -> Option<Range<usize>> {
    let rest = rest.get(..LONGEST_AUTHORITY).unwrap_or(rest);
    let is_of_authority = |byte: u8| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#' | b'`' | b'\\')
    };
    let authority = rest.get(..length_of(rest, is_of_authority))?;
    let (end, host) = match memchr::memrchr(b'@', authority) {
        Some(at) => (at, at + 1),
        None => memmem::rfind(authority, b"%40").map(|at| (at, at + 3))?,
    };
    let user = authority.get(..end)?;
    let start = match memchr::memchr(b':', user) {
        Some(at) => at + 1,
        None => memmem::find(user, b"%3A").map(|at| at + 3)?,
    };
    let password = authority.get(start..end)?;
    let is_reference =
        matches!(password.first(), Some(b'$' | b'{' | b'[' | b'%')) && !password.starts_with(b"%2");
    let is_masked = password.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'));
    (authority.len() > host && !is_reference && !is_masked).then_some(start..end)
}
