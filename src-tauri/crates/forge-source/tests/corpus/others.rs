//! Go by gofmt, data by Python's readers, TypeScript by its compiler.
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::common::{Overlay, judge, node_modules, registry, spread, torn, walk};
use forge_source::{Folder, Outcome, Syntax, contract, syntax};
use serde_json::json;

/// Writes texts into a folder; which of them a program complains about, by what it writes.
fn complaints(
    texts: &[(String, String)],
    folder: &Path,
    command: &mut Command,
    of: impl Fn(&str) -> Option<String>,
) -> BTreeSet<String> {
    for (name, text) in texts {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = command.current_dir(folder).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&told).lines().filter_map(of).collect()
}

/// Sound ones that differ, broken ones that differ, and how many of each there are.
fn compare(texts: &[(String, String)], broken: &BTreeSet<String>) -> ([usize; 2], [Vec<String>; 2]) {
    let (mut counts, mut differ) = ([0, 0], [Vec::new(), Vec::new()]);
    for (name, text) in texts {
        let answer = !broken.contains(name);
        counts[usize::from(!answer)] += 1;
        let verdict = syntax(name, text.as_bytes()).unwrap();
        if matches!(verdict, Syntax::Refused { .. }) || (verdict == Syntax::Sound) != answer {
            differ[usize::from(!answer)].push(format!("{name}: judged {answer}, here {verdict:?}"));
        }
    }
    (counts, differ)
}

#[test]
fn gofmt_and_the_parser_agree() {
    let Some(root) = Command::new("go")
        .args(["env", "GOROOT"])
        .output()
        .ok()
        .filter(|_| Command::new("gofmt").arg("-h").output().is_ok())
    else {
        eprintln!("not compared: there is no Go on this machine");
        return;
    };
    let root = PathBuf::from(String::from_utf8(root.stdout).unwrap().trim()).join("src");
    let files = walk(&root, &[".go"]).into_iter().filter(|path| !path.contains("testdata")).collect();
    let mut texts = Vec::new();
    for (at, path) in spread(files, 250).into_iter().enumerate() {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        texts.extend(torn(&text, at).map(|torn| (format!("torn{at}.go"), torn)));
        texts.push((format!("real{at}.go"), text));
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new("gofmt");
    command.args(["-e", "-l", "."]);
    let broken = complaints(&texts, scratch.path(), &mut command, |line| {
        line.contains(".go:").then(|| line.split(':').next().unwrap().trim_start_matches("./").to_owned())
    });
    let (counts, differ) = compare(&texts, &broken);
    println!("go: {counts:?} sound and broken, {} and {} differ", differ[0].len(), differ[1].len());
    assert!(counts[0] >= 150 && counts[1] >= 60, "{counts:?}");
    assert!(differ[0].is_empty(), "{}", differ[0].join("\n"));
    // The grammar forgives what the language does not, now and then.
    assert!(differ[1].len() * 20 <= counts[1], "{}", differ[1].join("\n"));
}

#[test]
fn pythons_readers_of_data_and_ours_agree() {
    // What has no reader of TOML in its library is asked about JSON alone.
    let script = "import json, sys\ntry:\n    import tomllib\nexcept ImportError:\n    tomllib = None\n\
        answers = []\nfor kind, text in json.load(sys.stdin):\n    reader = json if kind == 'json' else tomllib\n    \
        try:\n        answers.append(None if reader is None else reader.loads(text) is not reader)\n    \
        except ValueError:\n        answers.append(False)\nprint(json.dumps(answers))";
    let mut texts = Vec::new();
    let names = [
        "serde", "tokio", "syn", "regex", "proptest", "axum", "jiff", "uuid", "clap", "globset", "base64",
        "bytes", "memchr",
    ];
    let manifests = names.into_iter().filter_map(registry).map(|root| ("toml", root.join("Cargo.toml")));
    let packages = node_modules().map(|root| {
        let all = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path().join("package.json"));
        spread(all.filter(|path| path.is_file()).collect(), 150)
            .into_iter()
            .map(|path| ("json", path))
            .collect::<Vec<_>>()
    });
    for (at, (kind, path)) in manifests.chain(packages.into_iter().flatten()).enumerate() {
        let text = fs::read_to_string(path).unwrap();
        for seed in 0..4 {
            texts.extend(torn(&text, at + seed * 31).map(|torn| (kind, torn)));
        }
        texts.push((kind, text));
    }
    let questions: Vec<_> = texts.iter().map(|one| json!(one)).collect();
    let (mut sound, mut broken, mut differ) = (0, 0, Vec::new());
    for ((kind, text), answer) in texts.iter().zip(judge("python3", &["-I", "-c", script], &questions)) {
        let Some(answer) = answer.as_bool() else { continue };
        if answer {
            sound += 1;
        } else {
            broken += 1;
        }
        let verdict = syntax(&format!("a.{kind}"), text.as_bytes()).unwrap();
        if (verdict == Syntax::Sound) != answer {
            differ.push(format!("{kind}: Python {answer}, here {verdict:?}: {text}"));
        }
    }
    println!("data: {sound} sound and {broken} broken, {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(sound >= 12 && broken >= 40, "{sound} {broken}");
}

fn tsc(modules: &Path) -> Command {
    Command::new(modules.join(".bin/tsc"))
}

/// `file(line,column): error TS1234: ..` of the codes that are about a file's form.
fn of_form(line: &str) -> Option<String> {
    let (file, rest) = line.split_once('(')?;
    let code: u32 = rest.split("error TS").nth(1)?.split(':').next()?.parse().ok()?;
    ((1000..2000).contains(&code) || matches!(code, 2300 | 2451 | 17002 | 17008 | 17014))
        .then(|| file.to_owned())
}

#[test]
fn tsc_and_the_parser_agree() {
    let Some(modules) = node_modules() else { return };
    let source = modules.parent().unwrap().join("src");
    let mut texts = Vec::new();
    let files = spread(walk(&source, &[".ts", ".tsx"]), 160).into_iter().map(|path| source.join(path));
    let declarations = spread(walk(&modules.join("@tanstack"), &[".d.ts"]), 60)
        .into_iter()
        .map(|path| modules.join("@tanstack").join(path));
    for (at, path) in files.chain(declarations).enumerate() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.to_str().unwrap();
        let ending = [".d.ts", ".tsx", ".ts"].into_iter().find(|ending| name.ends_with(ending)).unwrap();
        texts.extend(torn(&text, at).map(|torn| (format!("torn{at}{ending}"), torn)));
        texts.push((format!("real{at}{ending}"), text));
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut command = tsc(&modules);
    command.args([
        "--noEmit",
        "--noCheck",
        "--noResolve",
        "--pretty",
        "false",
        "--jsx",
        "preserve",
        "--target",
        "esnext",
    ]);
    command.args(["--module", "preserve", "--types", ""]).args(texts.iter().map(|(name, _)| name));
    let broken = complaints(&texts, scratch.path(), &mut command, of_form);
    let (counts, differ) = compare(&texts, &broken);

    println!("typescript: {counts:?} sound and broken, {} and {} differ", differ[0].len(), differ[1].len());
    assert!(counts[0] >= 150 && counts[1] >= 80, "{counts:?}");
    // What tsc's parser lets through, its checker refuses: a name declared twice, a `const` without a value.
    assert!(differ[0].len() * 50 <= counts[0], "{}", differ[0].join("\n"));
    assert!(differ[1].is_empty(), "{}", differ[1].join("\n"));
}

/// `import { a, b } from "./c"` of one line, as the page's own files write them.
fn imports(text: &str) -> Vec<String> {
    let lines = text.split("from \"").chain(text.split("from '")).skip(1);
    lines
        .filter_map(|rest| Some(rest.split(['"', '\'']).next()?.to_owned()))
        .filter(|one| one.starts_with('.'))
        .collect()
}

#[test]
fn tsc_and_the_contract_agree() {
    let Some(modules) = node_modules() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui").canonicalize().unwrap();
    let folder = Folder::new(&root).unwrap();
    let files = walk(&root.join("src"), &[".ts", ".tsx"]);
    let (mut pairs, mut unknown, mut differ) = (Vec::new(), 0, Vec::new());
    for path in &files {
        let text = fs::read_to_string(root.join("src").join(path)).unwrap();
        for specifier in imports(&text).into_iter().collect::<BTreeSet<_>>() {
            let target = Path::new("src").join(path).parent().unwrap().join(&specifier);
            let target = ["", ".ts", ".tsx", "/index.ts", "/index.tsx"].into_iter().find_map(|ending| {
                let real = fs::canonicalize(root.join(format!("{}{ending}", target.display()))).ok()?;
                (real.is_file() && real.extension().is_some_and(|one| one == "ts" || one == "tsx"))
                    .then_some(real)
            });
            let Some(exporter) =
                target.map(|real| real.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
            else {
                continue;
            };
            let importer = format!("src/{path}");
            let judged = contract(&folder, &exporter, &importer);
            match judged.result {
                // The page is checked by tsc before it lands.
                Outcome::Fail => differ.push(format!("{importer} <- {exporter}: {judged:?}")),
                Outcome::Unknown => unknown += 1,
                // `skipLibCheck`: tsc does not look at what a declaration file takes.
                Outcome::Pass if importer.ends_with(".d.ts") => {}
                Outcome::Pass => pairs.push((importer, exporter, judged.imported)),
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    let mutants = spread(pairs.clone(), 25).into_iter().filter_map(|(importer, exporter, names)| {
        let text = fs::read_to_string(root.join(&exporter)).unwrap();
        let (name, text) = names.iter().find_map(|name| {
            let words = ["const", "function", "interface", "type", "class", "async function"];
            let declared = words.into_iter().map(|word| format!("export {word} {name}"));
            let found = declared.into_iter().find(|declared| {
                text.split(declared.as_str())
                    .nth(1)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            })?;
            Some((name.clone(), text.replacen(&found, &format!("{found}_gone"), 1)))
        })?;
        Some((importer, exporter, name, text))
    });
    // A file is mutated once: a second mutant of it would overwrite the first.
    let mut mutated = BTreeSet::new();
    let mutants: Vec<_> = mutants.filter(|(_, exporter, ..)| mutated.insert(exporter.clone())).collect();
    let scratch = tempfile::tempdir().unwrap();
    for path in walk(&root.join("src"), &[""]) {
        let to = scratch.path().join("src").join(&path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root.join("src").join(&path), to).unwrap();
    }
    for entry in fs::read_dir(&root).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), scratch.path().join(entry.file_name())).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&modules, scratch.path().join("node_modules")).unwrap();
    for (_, exporter, _, text) in &mutants {
        fs::write(scratch.path().join(exporter), text).unwrap();
    }
    let mut command = tsc(&modules);
    let output = command
        .args(["--noEmit", "--pretty", "false", "-p", "."])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for (importer, exporter, name, text) in &mutants {
        let quoted = format!("'{name}'");
        let missed = |line: &&str| {
            ["TS2305", "TS2724", "TS2614", "TS2459", "TS2460"].iter().any(|code| line.contains(code))
                && line.contains(&quoted)
        };
        let judge = told.lines().filter(|line| line.starts_with(importer.as_str())).any(|line| missed(&line));
        let overlay = Overlay { folder: folder.clone(), path: exporter.clone(), text: text.clone() };
        let judged = contract(&overlay, exporter, importer);
        if !judge || judged.result != Outcome::Fail {
            differ.push(format!(
                "{importer} <- {exporter} without {name}: tsc misses it: {judge}, here {judged:?}"
            ));
        }
    }
    println!(
        "typescript: {} pairs and {} mutants, {unknown} unknown, {} differ",
        pairs.len(),
        mutants.len(),
        differ.len()
    );
    assert!(
        differ.is_empty(),
        "{}\n{}",
        differ.join("\n"),
        &told.lines().take(20).collect::<Vec<_>>().join("\n")
    );
    assert!(
        pairs.len() >= 400 && mutants.len() >= 12 && unknown * 5 <= pairs.len(),
        "{} {}",
        pairs.len(),
        mutants.len()
    );
}
