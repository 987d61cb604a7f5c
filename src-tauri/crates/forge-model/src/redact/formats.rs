//! Secrets that are known by their format.
//!
//! One search finds the few characters that each format has for sure; what stands around them is then read by hand.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::{
    bytes::{is_base64, length_of},
    keys::{color_length, pem},
    literals::is_reference,
    span::{Span, begins_word, searcher},
};

/// How far the authority of a URL is read.
const LONGEST_AUTHORITY: usize = 1024;

/// How much may stand between the name of a secret and its value, colors of terminals not counted.
const LONGEST_ASSIGNMENT: usize = 12;

/// How much of that is read, colors of terminals included.
const LONGEST_COLORED_ASSIGNMENT: usize = 64;

/// What stands before the anchors of a session's token.
const SESSION: &[u8] = b"sessio";

/// How long the shortest value is that is assigned to a secret's name: a secret key of AWS.
const SHORTEST_ASSIGNED: usize = 40;

const URL_PASSWORD: &str = "URL_PASSWORD";
pub(super) const PRIVATE_KEY: &str = "PRIVATE_KEY";

/// How a secret is read that an anchor announces.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// At least so many characters of a kind.
    Run { least: usize, of: fn(u8) -> bool, also: fn(&[u8]) -> bool },
    /// At least 16 capital letters and digits, which is how long they are.
    AwsId,
    /// A long value that is assigned to a secret key.
    SecretKey,
    /// A long value that is assigned to a token of a session.
    SessionToken,
    /// `sk-` and what makes it a key.
    Sk,
    /// `xox`, one letter, a dash.
    Slack,
    /// Three parts with dots between them; five when it is encrypted.
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
/// the search of all twice as slow. Up to eight anchors cost nothing more.
static SHORT_FORMATS: [Format; 8] = [
    ("sk-", "", Shape::Sk),
    ("xox", "SLACK_TOKEN", Shape::Slack),
    ("eyJ", "JWT", Shape::Jwt),
    ("://", URL_PASSWORD, Shape::Url),
    ("glft-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("glimt-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("gloas-", "GITLAB_TOKEN", run(16, is_dotted)),
    // A refresh token.
    ("1//0", "GOOGLE_REFRESH_TOKEN", run(40, is_dashed)),
];

/// Formats with longer anchors. More than 32 make the search twice as slow.
static LONG_FORMATS: [Format; 32] = [
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
    ("glsoat-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("glagent-", "GITLAB_TOKEN", run(16, is_dotted)),
    ("AIza", "GOOGLE_API_KEY", run(30, is_dashed)),
    ("GOCSPX-", "GOOGLE_CLIENT_SECRET", run(20, is_dashed)),
    ("ya29.", "GOOGLE_ACCESS_TOKEN", run(20, is_dashed)),
    ("AKIA", "AWS_ACCESS_KEY_ID", Shape::AwsId),
    ("ASIA", "AWS_ACCESS_KEY_ID", Shape::AwsId),
    ("ecret", "SECRET_KEY", Shape::SecretKey),
    ("ECRET", "SECRET_KEY", Shape::SecretKey),
    // `session` itself is in too many texts.
    ("n_token", "SESSION_TOKEN", Shape::SessionToken),
    ("n-token", "SESSION_TOKEN", Shape::SessionToken),
    ("N_TOKEN", "SESSION_TOKEN", Shape::SessionToken),
    ("nToken", "SESSION_TOKEN", Shape::SessionToken),
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
            Self::SecretKey => {
                let (suffix, name) = secret_key(rest, name)?;
                let from = anchor.end + suffix;
                let at = assigned(text.get(from..)?)?;
                return Some((from + at.start..from + at.end, name));
            }
            Self::SessionToken => {
                let before =
                    anchor.start.checked_sub(SESSION.len()).and_then(|at| text.get(at..anchor.start));
                before
                    .is_some_and(|before| before.eq_ignore_ascii_case(SESSION))
                    .then(|| assigned(rest))
                    .flatten()
                    .map(|at| anchor.end + at.start..anchor.end + at.end)
            }
            Self::Sk => {
                let (length, name) = sk(text, anchor.start, rest)?;
                return Some((anchor.start..anchor.end + length, name));
            }
            Self::Slack => {
                let body = rest.get(2..)?;
                let is_kind = matches!(rest, [b'a'..=b'e' | b'o' | b'p' | b'r' | b's', b'-', ..]);
                // A cookie is base64, in which a URL's escapes may stand.
                let is_cookie = rest.first() == Some(&b'd');
                let is_of_cookie = |byte: u8| is_dashed(byte) || is_base64(byte) || byte == b'%';
                let length = length_of(body, if is_cookie { is_of_cookie } else { is_dashed });
                (is_kind && length >= 10).then(|| anchor.start..anchor.end + 2 + length)
            }
            Self::Jwt => jwt(rest).map(|length| anchor.start..anchor.end + length),
            Self::Pem => pem(rest).map(|length| anchor.start..anchor.end + length),
            Self::Url => url_password(rest).map(|at| anchor.end + at.start..anchor.end + at.end),
        };
        at.map(|at| (at, name))
    }
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

/// How a secret key's name goes on behind `secret`, and how it is called.
fn secret_key(rest: &[u8], name: &'static str) -> Option<(usize, &'static str)> {
    let starts = |suffixes: &[&str]| {
        suffixes.iter().find(|suffix| rest.starts_with(suffix.as_bytes())).map(|suffix| suffix.len())
    };
    let of_aws = starts(&["_access_key", "-access-key", "AccessKey", "_ACCESS_KEY"]);
    let named = of_aws.map(|length| (length, "AWS_SECRET_ACCESS_KEY"));
    named.or_else(|| starts(&["_key", "-key", "Key", "_KEY"]).map(|length| (length, name)))
}

/// Where the value is that is assigned by what follows a secret's name.
fn assigned(rest: &[u8]) -> Option<Range<usize>> {
    let is_between =
        |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'>' | b',');
    let window = rest.get(..LONGEST_COLORED_ASSIGNMENT).unwrap_or(rest);
    let (mut between, mut plain, mut assigns) = (0, 0, false);
    while let Some(left) = window.get(between..).filter(|left| !left.is_empty()) {
        let colors = color_length(left);
        if colors > 0 {
            between += colors;
            continue;
        }
        if !is_between(left[0]) {
            break;
        }
        assigns |= matches!(left[0], b':' | b'=' | b',' | b'>');
        between += 1;
        plain += 1;
    }
    if !assigns || plain > LONGEST_ASSIGNMENT {
        return None;
    }
    // A slash may be escaped in JSON.
    let value = rest.get(between..)?;
    let run = value.get(..length_of(value, |byte| is_base64(byte) || byte == b'\\'))?;
    // The last ones escape what comes behind the value.
    let escapes = run.iter().rev().take_while(|byte| **byte == b'\\').count();
    let length = run.len() - escapes;
    let content = run.iter().filter(|byte| **byte != b'\\').count();
    (content >= SHORTEST_ASSIGNED).then_some(between..between + length)
}

/// How long a token is after its `eyJ`.
fn jwt(rest: &[u8]) -> Option<usize> {
    let part = |from: usize, least: usize| {
        let length = length_of(rest.get(from..)?, is_dashed);
        (length >= least).then_some(from + length)
    };
    let next = |from: usize, least: usize| part((rest.get(from) == Some(&b'.')).then_some(from + 1)?, least);
    let header = part(0, 8)?;
    // An encrypted token has a key that may be empty, a nonce, the content and a tag.
    let encrypted = || next(next(next(next(header, 0)?, 8)?, 1)?, 16);
    encrypted().or_else(|| next(next(header, 4)?, 8))
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
    // `%s` stands for a password; `%40` is how one begins.
    let is_directive = password.first() == Some(&b'%')
        && !password.get(1..3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let is_masked = password.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'));
    let is_blank = matches!(password, [b'{', .., b'}'] | [b'[', .., b']']);
    let is_secret = !is_directive && !is_blank && !is_reference(password) && !is_masked;
    (authority.len() > host && is_secret).then_some(start..end)
}
