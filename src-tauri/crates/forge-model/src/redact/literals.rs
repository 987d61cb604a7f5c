//! Secrets that are known by their values: which values are any, and what they look like in texts.

use std::borrow::Cow;

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, general_purpose::NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    secret::Secret,
    span::{Span, begins_word, ends_word, searcher},
};

/// A shorter value is no secret: it would be found everywhere.
const SHORTEST: usize = 8;

/// A value of letters and digits that is shorter than this is found as a word of its own alone.
const SHORTEST_WITHIN_WORDS: usize = 16;

/// The shortest part of a value with several lines that is looked for by itself.
const SHORTEST_PART: usize = 20;

/// The shortest form in base64 that is looked for.
const SHORTEST_BASE64: usize = 12;

/// A longer value is looked for as it is, in no other form.
const LONGEST_IN_FORMS: usize = 16 * 1024;

/// Values that are no secrets although a variable's name says so, in lower case.
const COMMON: [&str; 34] = [
    "anonymous",
    "changeit",
    "changeme",
    "credential",
    "credentials",
    "default",
    "dev-only",
    "development",
    "disabled",
    "dummy-key",
    "enabled",
    "example",
    "foobarbaz",
    "gnome-keyring",
    "insecure",
    "keychain",
    "keyring",
    "libsecret",
    "localhost",
    "manager-core",
    "not-a-secret",
    "osxkeychain",
    "password",
    "passwort",
    "placeholder",
    "postgres",
    "postgresql",
    "production",
    "redacted",
    "required",
    "test-key",
    "testtest",
    "undefined",
    "wincred.exe",
];

/// First folders of paths that variables hold.
const ROOTS: [&str; 23] = [
    "applications",
    "bin",
    "dev",
    "etc",
    "home",
    "lib",
    "library",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "snap",
    "srv",
    "sys",
    "tmp",
    "users",
    "usr",
    "var",
];

/// What a URL keeps as it is.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What the field of a form keeps as it is.
const IN_FORM: &AsciiSet = &IN_URL.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');

/// Base64 that takes bits which belong to what follows.
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD);

/// Values in all their forms.
#[derive(Debug)]
pub(super) struct Literals {
    searcher: AhoCorasick,
    /// For each pattern of the searcher.
    forms: Vec<Form>,
}

/// One form of a value.
#[derive(Debug)]
struct Form {
    name: String,
    length: usize,
    /// Whether it counts as a word of its own alone.
    word: bool,
}

impl Literals {
    pub(super) fn new(secrets: &[Secret], commons: &[&str]) -> Option<Self> {
        let mut words: Vec<(String, Form)> = Vec::new();
        for Secret { name, value } in secrets {
            let value = value.trim();
            if commons.contains(&value) || !is_secret_value(value) {
                continue;
            }
            let plain =
                value.len() < SHORTEST_WITHIN_WORDS && value.bytes().all(|it| it.is_ascii_alphanumeric());
            for (at, text) in forms(value).into_iter().enumerate() {
                let form = Form { name: name.clone(), length: text.len(), word: plain && at == 0 };
                words.push((text, form));
            }
        }
        // The same value may have several names: the first one in the alphabet, each time.
        words.sort_by(|(a, of_a), (b, of_b)| a.cmp(b).then_with(|| of_a.name.cmp(&of_b.name)));
        words.dedup_by(|(later, _), (earlier, _)| later == earlier);
        let (texts, forms): (Vec<_>, Vec<_>) = words.into_iter().unzip();
        Some(Self { searcher: searcher(texts)?, forms })
    }

    pub(super) fn longest(&self) -> usize {
        self.forms.iter().map(|form| form.length).max().unwrap_or_default()
    }

    pub(super) fn suspects(&self, text: &[u8]) -> bool {
        self.searcher.is_match(text)
    }

    pub(super) fn find<'r>(&'r self, text: &[u8], spans: &mut Vec<Span<'r>>) {
        for found in self.searcher.find_iter(text) {
            let Some(form) = self.forms.get(found.pattern().as_usize()) else { continue };
            let is_word = || begins_word(text, found.start()) && ends_word(text, found.end());
            if !form.word || is_word() {
                spans.push(Span { at: found.range(), name: &form.name });
            }
        }
    }
}

/// Whether a value is a secret by its looks. No secret is one that is short, a number of few digits, a path, the address
/// of a server, a reference to another variable, or a word that many programs print.
#[must_use]
pub fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let is_short_number = value.len() < 12 && value.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let is_one_character = value.bytes().collect::<std::collections::BTreeSet<_>>().len() < 3;
    value.len() >= SHORTEST
        && !is_short_number
        && !is_one_character
        && !COMMON.contains(&lower.as_str())
        && !is_reference(value.as_bytes())
        && !is_path(&lower)
        && !is_server(&lower)
}

/// Whether it only names a variable, or a command that tells it: `$NAME`, `${NAME}`, `$(command)`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    match value {
        [b'$', b'{', .., b'}'] | [b'$', b'(', .., b')'] => true,
        [b'$', name @ ..] => is_variable(name),
        _ => false,
    }
}

/// Whether it is a name as variables have: of capital letters, or of letters alone.
fn is_variable(name: &[u8]) -> bool {
    let is_upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    !name.is_empty() && (name.iter().all(is_upper) || name.iter().all(is_letter))
}

fn is_path(lower: &str) -> bool {
    if lower.contains('\n') {
        return false;
    }
    let is_drive = lower.as_bytes().get(1..3).is_some_and(|it| it == b":\\" || it == b":/");
    let root = lower.strip_prefix('/').and_then(|rest| rest.split('/').next());
    ["~/", "./", "../", "file:"].iter().any(|start| lower.starts_with(start))
        || is_drive
        || root.is_some_and(|root| ROOTS.contains(&root))
}

/// Whether it is a URL of nothing but a server.
fn is_server(lower: &str) -> bool {
    let rest = lower.split_once("://").map(|(_, rest)| rest.trim_end_matches('/'));
    rest.is_some_and(|rest| !rest.contains(['/', '?', '#', '@']))
}

/// What a value looks like: as it is, in quotes of a shell, in JSON of several writers, in JSON within JSON, in a URL, in
/// base64 at each of the three places that it may begin at, and by its parts where it has several lines.
fn forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    let mut add = |form: Cow<'_, str>| {
        if form.len() >= SHORTEST && !forms.iter().any(|it: &String| *it == form) {
            forms.push(form.into_owned());
        }
    };
    // A stream is looked at line by line.
    if value.contains('\n') {
        for part in
            value.split(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | ',' | '\\' | '{' | '}'))
        {
            if is_part(part) {
                add(part.into());
            }
        }
    } else {
        add(value.into());
    }
    if value.len() > LONGEST_IN_FORMS {
        return forms;
    }
    // Standard JSON, Go's, and what escapes slashes.
    let once = in_json(value);
    for json in [for_html(&once), once.replace('/', "\\/"), once] {
        add(in_json(&json).into());
        add(json.into());
    }
    for quoted in [escaped(value, &['"', '\\', '$', '`']), value.replace('\'', "'\\''")] {
        add(in_json(&quoted).into());
        add(quoted.into());
    }
    for url in [utf8_percent_encode(value, IN_URL).to_string(), in_form(value)] {
        add(lower_escapes(&url).into());
        add(url.into());
    }
    for before in 0..3 {
        let encoded = in_base64(value, before);
        if encoded.len() >= SHORTEST_BASE64 {
            if encoded.contains(['+', '/']) {
                add(encoded.replace('+', "-").replace('/', "_").into());
            }
            add(encoded.into());
        }
    }
    forms
}

/// Whether a part of a value with several lines is a secret by itself: it looks random.
fn is_part(part: &str) -> bool {
    part.len() >= SHORTEST_PART
        && part.bytes().any(|it| it.is_ascii_digit())
        && part.bytes().any(|it| it.is_ascii_alphabetic())
        && !part.contains('@')
        && !part.contains("://")
        && is_secret_value(part)
}

fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// JSON as Go writes it, which keeps its content out of HTML.
fn for_html(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// With a backslash before these.
fn escaped(value: &str, special: &[char]) -> String {
    value.chars().flat_map(|it| special.contains(&it).then_some('\\').into_iter().chain([it])).collect()
}

/// As the field of a form in a URL.
fn in_form(value: &str) -> String {
    utf8_percent_encode(value, IN_FORM).to_string().replace("%20", "+")
}

/// A URL with the digits of its escapes in lower case.
fn lower_escapes(url: &str) -> String {
    let mut digits = 0_u8;
    let lower = |it: char| {
        if it == '%' {
            digits = 2;
            return it;
        }
        let is_digit = digits > 0;
        digits = digits.saturating_sub(1);
        if is_digit { it.to_ascii_lowercase() } else { it }
    };
    url.chars().map(lower).collect()
}

/// The characters that depend on the value alone when `before` bytes stand before it in a group of three.
fn in_base64(value: &str, before: usize) -> String {
    let padded = [&[0; 3][..before], value.as_bytes()].concat();
    let encoded = STANDARD.encode(&padded);
    let from = [0, 2, 3][before];
    let to = padded.len() * 8 / 6;
    encoded.get(from..to).unwrap_or_default().to_owned()
}
