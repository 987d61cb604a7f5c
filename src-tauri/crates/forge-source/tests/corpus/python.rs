//! Python's own library: what is said here is what CPython says.
use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use super::common::{judge, spread, torn, walk};
use forge_source::{Folder, Outcome, Syntax, Texts, contract, syntax};
use serde_json::{Value, json};

fn python(questions: &[Value]) -> Vec<Value> {
    judge("python3", &["-I", "-S", "-B", "python.py"], questions)
}

fn library() -> PathBuf {
    let script = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new("python3").args(["-c", script]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// What another version of the language may take, and its library's tests of broken texts.
fn of_this_version(path: &str) -> bool {
    !["lib2to3/", "site-packages/", "test/", "tests/", "config-"].iter().any(|part| path.contains(part))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn cpython_and_the_parser_agree_on_what_compiles() {
    let root = library();
    let files: Vec<String> = walk(&root, &[".py"]).into_iter().filter(|path| of_this_version(path)).collect();
    let (mut asked, mut questions) = (Vec::new(), Vec::new());
    for (seed, path) in spread(files, 450).into_iter().enumerate() {
        let bytes = fs::read(root.join(&path)).unwrap();
        let broken =
            std::str::from_utf8(&bytes).ok().and_then(|text| torn(text, seed)).map(String::into_bytes);
        for bytes in [Some(bytes), broken].into_iter().flatten() {
            questions.push(json!({ "ask": "syntax", "hex": hex(&bytes) }));
            asked.push((path.clone(), bytes));
        }
    }
    let (mut sound, mut broken, mut differ) = (0, 0, Vec::new());
    for ((path, bytes), answer) in asked.iter().zip(python(&questions)) {
        let Some(answer) = answer.as_bool() else { continue };
        if answer {
            sound += 1;
        } else {
            broken += 1;
        }
        let verdict = syntax("a.py", bytes).unwrap();
        if matches!(verdict, Syntax::Refused { .. }) || (verdict == Syntax::Sound) != answer {
            differ.push(format!("{path}: CPython {answer}, here {verdict:?}"));
        }
    }
    println!("python: {sound} that compile and {broken} that do not, {} differ", differ.len());
    assert!(sound >= 300 && broken >= 150, "{sound} {broken}");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Modules whose import does something to the machine or needs what is not there.
const LEFT_OUT: [&str; 12] = [
    "antigravity",
    "this",
    "idlelib",
    "turtledemo",
    "turtle",
    "tkinter",
    "__main__",
    "msilib",
    "ensurepip",
    "pty",
    "lib2to3",
    "__phello__",
];

#[test]
fn cpython_and_the_contract_agree_on_its_library() {
    let root = library();
    let files: Vec<String> = walk(&root, &[".py"])
        .into_iter()
        .filter(|path| of_this_version(path) && !LEFT_OUT.iter().any(|part| path.contains(part)))
        .collect();
    let module = |path: &str| path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".");
    let by_name: BTreeMap<String, String> = files.iter().map(|path| (module(path), path.clone())).collect();
    let folder = Folder::new(&root).unwrap();
    let (mut cases, mut questions, mut unknown) = (Vec::new(), Vec::new(), 0);
    for importer in spread(files, 500) {
        let text = String::from_utf8_lossy(&fs::read(root.join(&importer)).unwrap()).into_owned();
        let mut wanted: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("from ")?.split(' ').next()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for exporter in wanted.into_iter().filter_map(|name| by_name.get(name)) {
            let judged = contract(&folder, exporter, &importer);
            if judged.result == Outcome::Unknown || judged.imported.is_empty() {
                unknown += usize::from(judged.result == Outcome::Unknown);
                continue;
            }
            for asked in [judged.imported.clone(), vec![format!("{}_gone", judged.imported[0])]] {
                questions.push(json!({ "ask": "names", "module": module(exporter), "names": asked }));
                let line = format!("from {} import {}\n", module(exporter), asked.join(", "));
                cases.push((line, exporter.clone()));
            }
        }
    }
    let (mut compared, mut unsure, mut differ) = ([0, 0], 0, Vec::new());
    for ((line, exporter), answer) in cases.iter().zip(python(&questions)) {
        let Some(answer) = answer.as_bool() else { continue };
        let files = With { folder: folder.clone(), line: line.clone() };
        let judged = contract(&files, exporter, "judged_importer.py");
        match judged.result {
            Outcome::Unknown => unsure += 1,
            result if (result == Outcome::Pass) == answer => compared[usize::from(answer)] += 1,
            _ => differ.push(format!("CPython {answer}, here {:?} for {line}", judged.missing)),
        }
    }
    println!(
        "python: {} pairs that hold and {} that do not agree, {} differ, {unknown} and {unsure} unknown",
        compared[1],
        compared[0],
        differ.len()
    );
    assert!(differ.is_empty(), "{}", differ.join(""));
    assert!(compared[1] >= 200 && compared[0] >= 150 && unsure * 4 <= compared[0], "{compared:?} {unsure}");
}

/// The library, and one more file that imports from it.
struct With {
    folder: Folder,
    line: String,
}

impl forge_source::Files for With {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        if path == "judged_importer.py" { Ok(self.line.clone().into_bytes()) } else { self.folder.read(path) }
    }

    fn is_file(&self, path: &str) -> bool {
        path == "judged_importer.py" || self.folder.is_file(path)
    }
}

/// Both sides made up, the exporter with every way to bind a name, renamed one after the other.
#[test]
fn a_renamed_name_is_missed_by_both() {
    let scratch = tempfile::tempdir().unwrap();
    let text = "import os, sys as name1\nfrom os import path as name2\nname3 = 1\n(name4, [*name5]) = 1, [2]\n\
        def name6(): pass\nclass name7: pass\nfor name8 in [1]: pass\nwith open(os.devnull) as name9: pass\n\
        name10: int = 1\n[1 for _ in [1] if (name11 := 1)]\nif name3:\n    name12 = 1\ntry:\n    name13 = 1\nfinally: pass\n\
        async def name14(): pass\nname15 = name16 = lambda: 1\nwhile True:\n    name17 = 1\n    break\n";
    let names: Vec<String> = (1..=17).map(|at| format!("name{at}")).collect();
    let (mut questions, mut told) = (Vec::new(), Vec::new());
    for (at, gone) in std::iter::once(None).chain(names.iter().map(Some)).enumerate() {
        let text = gone.map_or_else(
            || text.to_owned(),
            |gone| {
                let mut words = text.to_owned();
                for (end, _) in text
                    .match_indices(gone.as_str())
                    .map(|(at, _)| (at + gone.len(), ()))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                {
                    if !text[end..].starts_with(|c: char| c.is_ascii_digit()) {
                        words.insert_str(end, "_gone");
                    }
                }
                words
            },
        );
        let module = format!("renamed_{at}");
        fs::write(scratch.path().join(format!("{module}.py")), &text).unwrap();
        questions.push(json!({ "ask": "names", "module": module, "names": names }));
        let importer = format!("from {module} import {}", names.join(", "));
        let files = Texts::default().with(&format!("{module}.py"), text).with("b.py", importer);
        told.push(contract(&files, &format!("{module}.py"), "b.py"));
    }
    let script =
        format!("import sys; sys.path.insert(0, {:?}); exec(open('python.py').read())", scratch.path());
    let answers = judge("python3", &["-B", "-c", &script], &questions);
    for (at, (answer, judged)) in answers.iter().zip(told).enumerate() {
        let expected = if at == 0 { Outcome::Pass } else { Outcome::Fail };
        assert_eq!(judged.result, expected, "{at} {judged:?}");
        assert_eq!(answer, &json!(at == 0), "{at}");
        assert_eq!(judged.missing.len(), usize::from(at > 0), "{at}");
    }
}
