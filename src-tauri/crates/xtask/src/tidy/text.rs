//! What no committed file may say, and how long a source may be.

use super::Finding;
use crate::codegen::GENERATED;

/// Past this a source is no longer one concept.
const LONGEST: usize = 800;

/// Put together, so that this file does not trip over itself.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const UNFINISHED_MACROS: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!(")];

/// Figures of speech that once named things which have a name of their own. "Room" is missing: it also means free space.
const RETIRED: &[(&str, &str)] = &[
    (concat!("do", "or"), "interface, API, CLI, MCP server or connection"),
    (concat!("do", "ors"), "interfaces, or what they are: API, CLI, MCP server"),
    (concat!("ho", "use"), "crate or module"),
    (concat!("ro", "oms"), "crates or modules"),
];

/// Names of types in crates that once stood for things with a name in the field. Only declarations are checked, as the
/// words occur in sentences, too.
const RETIRED_TYPES: &[(&str, &str)] = &[
    ("Aside", "GuardRedirect"),
    ("Carry", "EntryInput, or what is carried"),
    ("Ears", "LineReader"),
    ("Paper", "LogSink"),
    ("Play", "Replay"),
    ("Rehearsal", "FakeRun"),
    ("Said", "what it is: a result, an answer, a check"),
    ("Scene", "DialogueContext"),
    ("Sheet", "LogSink"),
    ("Stretch", "PageRange"),
    ("Talk", "DialogueRun"),
    ("Trouble", "BlockReason, or what it is: a fault, a failure"),
];

/// Names of modules of crates that say nothing of what is in them.
const RETIRED_MODULES: &[(&str, &str)] = &[
    ("ears", "line_reader"),
    ("paper", "log_sink"),
    ("play", "replay"),
    ("rehearsal", "fake_run"),
    ("scene", "dialogue"),
    ("talk", "dialogue"),
];

/// Files that write out contract names in which a retired word stays.
const CONTRACT: &[&str] = &[
    GENERATED,
    "src-tauri/crates/forge-api/src/operations.rs",
    "src-tauri/crates/forge-api/src/ops/access.rs",
];

/// Where the names of types and modules are checked.
const CRATE_SOURCES: &str = "src-tauri/crates/";

/// The beginnings of paths that only one machine has.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// The only place that cargo's lock file may name; npm's names none, so that whichever registry is configured
/// serves. A mirror is one machine's affair.
const CRATES: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks one text file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    match path.rsplit('/').next() {
        Some("Cargo.lock") => return lock_file(path, text, "source = \"", &[CRATES]),
        Some("package-lock.json") => return lock_file(path, text, "\"resolved\": \"", &[]),
        _ => {}
    }
    let is_source = [".rs", ".ts", ".tsx"].iter().any(|ending| path.ends_with(ending)) && path != GENERATED;
    let mut findings = Vec::new();
    let length = text.lines().count();
    if is_source && length > LONGEST {
        let message = format!("{length} lines; a source has at most {LONGEST}");
        findings.push(Finding::of_file(path, message));
    }
    for (index, line) in text.lines().enumerate() {
        let mut add = |message: String| findings.push(Finding::of_line(path, index + 1, message));
        for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
            add(format!("`{word}`: finish it, or say it in an issue"));
        }
        if is_source {
            for name in UNFINISHED_MACROS.iter().filter(|name| line.contains(*name)) {
                add(format!("`{name}`: finish it"));
            }
        }
        if !CONTRACT.contains(&path) {
            for (word, better) in RETIRED.iter().filter(|(word, _)| has_retired(line, word)) {
                add(format!("`{word}` is retired: say {better}"));
            }
        }
        if is_source && path.starts_with(CRATE_SOURCES) {
            for (name, better) in retired_declarations(line) {
                add(format!("the name `{name}` is retired: say {better}"));
            }
        }
        for prefix in MACHINE_PATHS.iter().filter(|prefix| has_path(line, prefix)) {
            add(format!("a path below `{prefix}` exists on one machine only"));
        }
    }
    findings
}

/// Every value after `key` must start with one of the places.
fn lock_file(path: &str, text: &str, key: &str, places: &[&str]) -> Vec<Finding> {
    let strays = text.lines().enumerate().filter_map(|(index, line)| {
        let value = line.trim_start().strip_prefix(key)?;
        (!places.iter().any(|place| value.starts_with(place))).then_some((index, value))
    });
    strays
        .map(|(index, value)| {
            let value = value.trim_end_matches(['"', ',']);
            Finding::of_line(
                path,
                index + 1,
                format!("comes from `{value}`, which is not the public registry"),
            )
        })
        .collect()
}

fn has_word(line: &str, word: &str) -> bool {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(of_word) && !line[at + word.len()..].starts_with(of_word))
}

/// Whether the word is there in small or capital letters. After a slash it is a route of the contract.
fn has_retired(line: &str, word: &str) -> bool {
    has_word(&line.to_lowercase().replace(&format!("/{word}"), "/"), word)
}

/// The retired names that a line of Rust declares, each with a better one.
fn retired_declarations(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let mut words =
        line.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|it| !it.is_empty());
    let kind = words.by_ref().find(|word| !matches!(*word, "pub" | "crate" | "super" | "self"));
    let retired: &[_] = match kind {
        Some("struct" | "enum" | "trait" | "type" | "union") => RETIRED_TYPES,
        Some("mod") => RETIRED_MODULES,
        _ => &[],
    };
    let declared = words.next();
    retired.iter().filter(move |(name, _)| declared == Some(*name))
}

/// Whether a path starts there: a longer path that has the same words inside is another one.
fn has_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '}' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_unfinished_is_committed() {
        let note = format!("ok\n// {}: later", UNFINISHED[0]);
        assert_eq!(
            messages("a.rs", &note),
            [format!("a.rs:2: `{}`: finish it, or say it in an issue", UNFINISHED[0])]
        );
        let call = format!("fn f() {{ {}) }}", UNFINISHED_MACROS[0]);
        assert_eq!(messages("a.rs", &call).len(), 1);
        assert!(messages("a.md", &call).is_empty(), "only a source calls macros");
        for fine in ["a todo list", "let todo = 1;", "MY_TODOS", "STATUS_TODO"] {
            assert!(messages("a.ts", fine).is_empty(), "{fine}");
        }
    }

    #[test]
    fn retired_words_are_refused_and_contract_names_are_not() {
        for (word, better) in RETIRED {
            let found = [format!("a.md:1: `{word}` is retired: say {better}")];
            let capital = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            for line in [format!("every {word}."), format!("let {word} = 1;"), format!("<{capital} />")] {
                assert_eq!(messages("a.md", &line), found, "{line}");
            }
            for fine in [format!("{word}_get"), format!("\"/{word}/token\""), format!("in{word}")] {
                assert!(messages("a.rs", &fine).is_empty(), "{fine}");
            }
            for path in CONTRACT {
                assert!(messages(path, word).is_empty(), "{path}");
            }
        }
        assert!(messages("a.rs", "there is room for one more").is_empty());
    }

    #[test]
    fn retired_names_are_refused_where_crates_declare_them() {
        let path = "src-tauri/crates/forge-agents/src/lib.rs";
        for (name, better) in RETIRED_TYPES {
            let found = [format!("{path}:1: the name `{name}` is retired: say {better}")];
            for line in [
                format!("struct {name};"),
                format!("    pub(crate) enum {name}<'r> {{"),
                format!("type {name} = u8;"),
            ] {
                assert_eq!(messages(path, &line), found, "{line}");
            }
            for fine in [format!("/// {name} it."), format!("struct {name}Range;"), format!("use x::{name};")]
            {
                assert!(messages(path, &fine).is_empty(), "{fine}");
            }
            assert!(messages("tests/api/main.rs", &format!("struct {name};")).is_empty());
        }
        for (name, _) in RETIRED_MODULES {
            assert_eq!(messages(path, &format!("pub mod {name};")).len(), 1, "{name}");
            assert!(messages(path, &format!("fn {name}() {{}}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn sources_are_short_and_generated_ones_are_not_sources() {
        let text = "x\n".repeat(LONGEST + 1);
        assert_eq!(messages("a.tsx", &text), ["a.tsx: 801 lines; a source has at most 800"]);
        assert!(messages(GENERATED, &text).is_empty());
        assert!(messages("a.json", &text).is_empty());
        assert!(messages("a.rs", &"x\n".repeat(LONGEST)).is_empty());
    }

    #[test]
    fn no_path_of_one_machine() {
        let path = format!("{}repo", MACHINE_PATHS[0]);
        for line in [format!("see {path}"), format!("\"{path}\""), format!("file://{path}"), path.clone()] {
            assert_eq!(messages("a.md", &line).len(), 1, "{line}");
        }
        assert!(messages("a.md", &format!("src{path}")).is_empty());
    }

    #[test]
    fn lock_files_name_public_registries() {
        let good = format!("source = \"{CRATES}\"\n");
        assert!(messages("Cargo.lock", &good).is_empty());
        assert_eq!(
            messages("Cargo.lock", &format!("{good}source = \"registry+https://mirror.local/index\"\n")),
            [
                "Cargo.lock:2: comes from `registry+https://mirror.local/index`, which is not the public registry"
            ]
        );
        assert_eq!(
            messages("ui/package-lock.json", "  \"resolved\": \"https://mirror.local/a.tgz\",\n"),
            [
                "ui/package-lock.json:1: comes from `https://mirror.local/a.tgz`, which is not the public registry"
            ]
        );
        assert!(messages("ui/package-lock.json", "  \"version\": \"1.0.0\",\n").is_empty());
    }
}
