//! Crates that Forge is built from: what is said here is what rustc says, by rustfmt where only its parser counts.
use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use super::common::{Overlay, registry, spread, torn, walk};
use forge_source::{Folder, Outcome, Syntax, contract, syntax};

/// Without dependencies, so that rustc alone can judge them.
const ALONE: [&str; 5] = ["httpdate", "bytes", "base64", "httparse", "percent-encoding"];

fn edition(root: &Path) -> String {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let line = manifest.lines().find_map(|line| line.strip_prefix("edition = \"")).unwrap_or("2015\"");
    line.trim_end_matches('"').to_owned()
}

/// Whether rustc's parser takes it, through rustfmt.
fn parses(text: &str, edition: &str) -> bool {
    let mut command = Command::new("rustfmt");
    command.args(["--edition", edition, "--emit", "stdout", "--quiet"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    !(output.stdout.is_empty() && told.contains("error"))
}

#[test]
fn rustc_and_the_parser_agree_on_what_parses() {
    let names = [
        "serde_json",
        "tokio",
        "syn",
        "regex",
        "proptest",
        "axum",
        "jiff",
        "uuid",
        "clap_builder",
        "globset",
    ];
    let (mut sound, mut broken, mut differ) = (0, 0, Vec::new());
    for root in ALONE.into_iter().chain(names).filter_map(registry) {
        let edition = edition(&root);
        for (seed, path) in spread(walk(&root.join("src"), &[".rs"]), 9).into_iter().enumerate() {
            let text = fs::read_to_string(root.join("src").join(&path)).unwrap();
            // rustfmt writes nothing for nothing.
            let more = format!("{text}\nconst _: () = ();\n");
            for text in [Some(more.clone()), torn(&more, seed)].into_iter().flatten() {
                let answer = parses(&text, &edition);
                let verdict = syntax("a.rs", text.as_bytes()).unwrap();
                if answer {
                    sound += 1;
                } else {
                    broken += 1;
                }
                if matches!(verdict, Syntax::Refused { .. }) || (verdict == Syntax::Sound) != answer {
                    differ.push(format!("{}/{path}: rustc {answer}, here {verdict:?}", root.display()));
                }
            }
        }
    }
    println!("rust: {sound} that parse and {broken} that do not, {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(sound >= 90 && broken >= 50, "{sound} {broken}");
}

/// Whether a crate compiles, as far as names and types go.
fn compiles(root: &Path, edition: &str) -> bool {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new("rustc");
    command.args(["--edition", edition, "--crate-type", "lib", "--emit", "metadata", "--cap-lints", "allow"]);
    for feature in ["std", "alloc", "default"] {
        command.arg("--cfg").arg(format!("feature=\"{feature}\""));
    }
    command.arg("--out-dir").arg(out.path()).arg(root.join("src/lib.rs"));
    command.env("CARGO_PKG_NAME", "judged").env("CARGO_PKG_VERSION", "1.0.0");
    command.stderr(Stdio::null()).status().unwrap().success()
}

/// The exporter with one of its items renamed.
fn renamed(text: &str, name: &str) -> Option<String> {
    for word in ["fn", "struct", "enum", "trait", "const", "static", "type", "union"] {
        let declared = format!("{word} {name}");
        let found = text.match_indices(&declared).find(|(at, _)| {
            let before = text[..*at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let line = text[..*at].rsplit('\n').next().unwrap();
            // Items of the file itself, as they are written at its margin.
            let margin = !line.starts_with(char::is_whitespace) && !line.starts_with("//");
            let after =
                text[at + declared.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            before && margin && after
        });
        if let Some((at, _)) = found {
            let end = at + declared.len();
            return Some(format!("{}_gone{}", &text[..end], &text[end..]));
        }
    }
    None
}

fn copy(from: &Path, to: &Path) {
    for path in walk(from, &[""]) {
        fs::create_dir_all(to.join(&path).parent().unwrap()).unwrap();
        fs::copy(from.join(&path), to.join(&path)).unwrap();
    }
}

/// Pairs of files of which one writes the other's module before two colons.
fn named_pairs(root: &Path, files: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for importer in files {
        let text = fs::read_to_string(root.join(importer)).unwrap();
        for exporter in files.iter().filter(|exporter| *exporter != importer) {
            let (folder, file) = exporter.rsplit_once('/').unwrap();
            let module = if file == "mod.rs" {
                folder.rsplit('/').next().unwrap()
            } else {
                file.trim_end_matches(".rs")
            };
            if module == "lib" || text.contains(&format!("{module}::")) {
                found.push((importer.clone(), exporter.clone()));
            }
        }
    }
    found
}

#[test]
fn rustc_and_the_contract_agree() {
    let (mut pairs, mut mutants, mut unknown, mut unsure, mut unjudged, mut differ) =
        (0, 0, 0, 0, 0, Vec::new());
    for root in ALONE.into_iter().filter_map(registry) {
        let edition = edition(&root);
        if !compiles(&root, &edition) {
            continue;
        }
        let folder = Folder::new(&root).unwrap();
        let files: Vec<String> =
            walk(&root.join("src"), &[".rs"]).into_iter().map(|path| format!("src/{path}")).collect();
        let mut candidates = Vec::new();
        for (importer, exporter) in spread(named_pairs(&root, &files), 24) {
            let judged = contract(&folder, &exporter, &importer);
            match judged.result {
                Outcome::Pass if !judged.imported.is_empty() => {
                    pairs += 1;
                    candidates.push((importer, exporter, judged.imported));
                }
                Outcome::Pass => {}
                Outcome::Unknown => unknown += usize::from(!judged.imported.is_empty()),
                // rustc has just taken it.
                Outcome::Fail => {
                    differ.push(format!("{}: {importer} <- {exporter}: {judged:?}", root.display()));
                }
            }
        }
        for (importer, exporter, names) in spread(candidates, 4) {
            let text = fs::read_to_string(root.join(&exporter)).unwrap();
            let Some((name, text)) = names.iter().find_map(|name| Some((name, renamed(&text, name)?))) else {
                continue;
            };
            let scratch = tempfile::tempdir().unwrap();
            copy(&root, scratch.path());
            fs::write(scratch.path().join(&exporter), &text).unwrap();
            let overlay = Overlay { folder: folder.clone(), path: exporter.clone(), text };
            let judged = contract(&overlay, &exporter, &importer);
            match (compiles(scratch.path(), &edition), judged.result) {
                (false, Outcome::Fail) => mutants += 1,
                // What this machine or these features leave out.
                (true, _) => unjudged += 1,
                // A macro may make it; rustc has run it.
                (false, Outcome::Unknown) => unsure += 1,
                (false, Outcome::Pass) => differ
                    .push(format!("{}: {importer} <- {exporter} without {name}: {judged:?}", root.display())),
            }
        }
    }
    println!(
        "rust: {pairs} pairs and {mutants} mutants agree, {} differ, {unknown} and {unsure} unknown, {unjudged} not judged",
        differ.len()
    );
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(
        pairs >= 40 && mutants >= 8 && unsure <= mutants && unknown * 5 <= pairs,
        "{pairs} {mutants} {unsure} {unknown}"
    );
}
