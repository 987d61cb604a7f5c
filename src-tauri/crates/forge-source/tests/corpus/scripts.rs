//! Real packages, in both module systems: what is said here is what Node says.
use std::{fs, path::Path};

use super::common::{Overlay, node, node_modules, spread, torn, walk};
use forge_source::{Folder, Outcome, Syntax, contract, syntax};
use serde_json::{Value, json};

const PACKAGES: [&str; 14] = [
    "@base-ui",
    "@tanstack",
    "@babel",
    "@shikijs",
    "micromark",
    "micromark-core-commonmark",
    "mdast-util-to-markdown",
    "cssstyle",
    "diff",
    "@testing-library",
    "react-i18next",
    "@tauri-apps",
    "aria-query",
    "@xyflow",
];

fn scripts(root: &Path) -> Vec<String> {
    let found = PACKAGES.iter().flat_map(|package| {
        let inner = walk(&root.join(package), &[".js", ".mjs", ".cjs"]);
        inner.into_iter().map(move |path| format!("{package}/{path}"))
    });
    found.filter(|path| !path.contains("/umd/") && !path.contains(".min.")).collect()
}

/// As Node decides: by the ending, then by the nearest package.json.
fn is_module(root: &Path, path: &str) -> bool {
    match path.rsplit_once('.').unwrap().1 {
        "mjs" => true,
        "cjs" => false,
        _ => Path::new(path)
            .ancestors()
            .skip(1)
            .find_map(|folder| fs::read_to_string(root.join(folder).join("package.json")).ok())
            .is_some_and(|text| serde_json::from_str::<Value>(&text).unwrap()["type"] == "module"),
    }
}

fn says(path: &str, text: &str) -> Option<bool> {
    match syntax(path, text.as_bytes()).unwrap() {
        Syntax::Sound => Some(true),
        Syntax::Broken(_) => Some(false),
        Syntax::Refused { .. } => None,
    }
}

#[test]
fn node_and_the_parser_agree_on_what_compiles() {
    let Some(root) = node_modules() else { return };
    let mut asked = Vec::new();
    let mut questions = Vec::new();
    for (seed, path) in spread(scripts(&root), 700).into_iter().enumerate() {
        let text = fs::read_to_string(root.join(&path)).unwrap();
        // Its ending alone must say what it is, as that is all the parser is told.
        let kind = if is_module(&root, &path) { "module" } else { "commonjs" };
        let named = if kind == "module" { "a.mjs" } else { "a.cjs" };
        for text in [Some(text.clone()), torn(&text, seed)].into_iter().flatten() {
            questions.push(json!({ "ask": "syntax", "kind": kind, "text": text }));
            asked.push((path.clone(), named, text));
        }
    }
    let answers = node(&questions);
    let (mut sound, mut broken, mut differ) = (0, 0, Vec::new());
    for ((path, named, text), answer) in asked.iter().zip(answers) {
        let answer = answer.as_bool().unwrap();
        if answer {
            sound += 1;
        } else {
            broken += 1;
        }
        if says(named, text) != Some(answer) {
            differ.push(format!("{path}: node {answer}, here {:?}", syntax(named, text.as_bytes())));
        }
    }
    println!("scripts: {sound} that compile and {broken} that do not, {} differ", differ.len());
    assert!(sound >= 500 && broken >= 250, "{sound} {broken}");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Files that ask for others by a relative path that is a file.
fn pairs(root: &Path, module: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in scripts(root) {
        let text = fs::read_to_string(root.join(&path)).unwrap();
        let is_es = text.contains("import ") && (text.contains("from \"") || text.contains("from '"));
        if is_es != module || (module && !is_module(root, &path)) {
            continue;
        }
        let before = if module { ["from \"", "from '"] } else { ["require(\"", "require('"] };
        for quote in before {
            for rest in text.split(quote).skip(1) {
                let specifier = rest.split(['"', '\'']).next().unwrap();
                if !specifier.starts_with('.') {
                    continue;
                }
                let target = Path::new(&path).parent().unwrap().join(specifier);
                let real = [String::new(), ".js".to_owned(), "/index.js".to_owned()].into_iter().find_map(
                    |ending| {
                        let real =
                            fs::canonicalize(format!("{}{ending}", root.join(&target).display())).ok()?;
                        real.is_file().then_some(real)
                    },
                );
                if let Some(real) =
                    real.filter(|real| real.extension().is_some_and(|ending| ending != "json"))
                {
                    found.push((path.clone(), real.strip_prefix(root).unwrap().to_str().unwrap().to_owned()));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The exporter with one of its names gone.
fn renamed(text: &str, name: &str) -> Option<String> {
    for word in ["const", "function", "class", "let", "var", "async function", "function*"] {
        let declared = format!("export {word} {name}");
        if let Some(at) = text.find(&declared) {
            let end = at + declared.len();
            if !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
                return Some(format!("{}_gone{}", &text[..end], &text[end..]));
            }
        }
    }
    let assigned = format!("exports.{name} =");
    if text.contains(&assigned) {
        return Some(text.replace(&assigned, &format!("exports.{name}_gone =")));
    }
    let list = text.rfind("export {")?;
    let end = list + text[list..].find('}')?;
    for entry in text[list + 8..end].split(',').map(str::trim) {
        let exported = entry.rsplit(" as ").next().unwrap().trim();
        if exported == name {
            let inner = text[list..end].replacen(
                entry,
                &format!("{} as {name}_gone", entry.split(" as ").next().unwrap()),
                1,
            );
            return Some(format!("{}{inner}{}", &text[..list], &text[end..]));
        }
    }
    None
}

struct Case {
    told: String,
    result: Outcome,
    mutant: bool,
}

/// Compares every pair, and every pair whose exporter has lost a name.
fn compare(ask: &str, module: bool, count: usize) -> (usize, usize, usize) {
    let Some(root) = node_modules() else { return (usize::MAX, usize::MAX, 0) };
    let folder = Folder::new(&root).unwrap();
    let (mut cases, mut questions, mut unknown) = (Vec::new(), Vec::new(), 0);
    for (importer, exporter) in spread(pairs(&root, module), count) {
        let judged = contract(&folder, &exporter, &importer);
        let file = root.join(&exporter);
        if judged.result == Outcome::Unknown || judged.imported.is_empty() {
            unknown += usize::from(judged.result == Outcome::Unknown);
            continue;
        }
        questions.push(json!({ "ask": ask, "file": file, "names": judged.imported }));
        cases.push(Case {
            told: format!("{importer} <- {exporter}: {judged:?}"),
            result: judged.result,
            mutant: false,
        });
        let text = fs::read_to_string(&file).unwrap();
        for name in judged.imported.iter().take(2) {
            let Some(text) = renamed(&text, name) else { continue };
            let overlay = Overlay { folder: folder.clone(), path: exporter.clone(), text: text.clone() };
            let judged = contract(&overlay, &exporter, &importer);
            questions.push(json!({ "ask": ask, "file": file, "names": judged.imported, "text": text }));
            cases.push(Case {
                told: format!("{importer} <- {exporter} without {name}: {judged:?}"),
                result: judged.result,
                mutant: true,
            });
        }
    }
    let (mut compared, mut mutants, mut unsure, mut differ) = (0, 0, 0, Vec::new());
    for (case, answer) in cases.iter().zip(node(&questions)) {
        let Some(answer) = answer.as_bool() else { continue };
        match (case.result, case.mutant) {
            (Outcome::Unknown, _) => unsure += 1,
            (result, _) if (result == Outcome::Pass) != answer => {
                differ.push(format!("node {answer}, here {}", case.told));
            }
            (_, true) => mutants += 1,
            (_, false) => compared += 1,
        }
    }
    println!(
        "{ask}: {compared} pairs and {mutants} mutants agree, {} differ, {unknown} and {unsure} unknown",
        differ.len()
    );
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(unsure * 20 <= mutants, "{unsure}");
    (compared, mutants, unknown)
}

#[test]
fn node_and_the_contract_agree_on_es_modules() {
    let (compared, mutants, unknown) = compare("names", true, 400);
    assert!(compared >= 250 && mutants >= 150 && unknown * 10 <= compared, "{compared} {mutants} {unknown}");
}

#[test]
fn node_and_the_contract_agree_on_common_js() {
    let (compared, mutants, _) = compare("require", false, 400);
    assert!(compared >= 150 && mutants >= 100, "{compared} {mutants}");
}
