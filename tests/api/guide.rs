//! The user guide: every `console` block of a chapter runs in one shell session in a fresh repository and prints
//! what the chapter shows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::program;

use forge_testkit::Folder;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../src-tauri/docs");
/// Separates the output of two commands.
const MARK: &str = "--- end of command";

/// A command with the output that the guide shows.
#[derive(Debug, Default)]
struct DocumentedCommand {
    command: String,
    lines: Vec<String>,
}

fn chapters() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(GUIDE)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The commands of a chapter, in order.
fn commands(text: &str) -> Vec<DocumentedCommand> {
    let mut all: Vec<DocumentedCommand> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line, line.strip_prefix("$ ")) {
            (_, "```console", _) => inside = true,
            (true, "```", _) => inside = false,
            (true, _, Some(command)) => {
                all.push(DocumentedCommand { command: command.to_owned(), lines: Vec::new() });
            }
            (true, _, None) => all.last_mut().into_iter().for_each(|shown| shown.lines.push(line.to_owned())),
            (false, ..) => {}
        }
    }
    all
}

/// Compares output with the guide: a line `...` matches any lines, `...` inside a line any text.
fn fits(shown: &[String], said: &[&str]) -> bool {
    match (shown, said) {
        ([], []) => true,
        ([dots, shown @ ..], _) if dots == "..." => (0..=said.len()).any(|skip| fits(shown, &said[skip..])),
        ([first, shown @ ..], [line, said @ ..]) => line_fits(first, line) && fits(shown, said),
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

fn line_fits(shown: &str, said: &str) -> bool {
    let mut parts = shown.split("...");
    let Some(mut rest) = parts.next().and_then(|head| said.strip_prefix(head)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((tail, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(tail)
}

/// Runs the commands of a chapter and compares their output.
fn play(chapter: &Path) -> Result<()> {
    let commands = commands(&fs::read_to_string(chapter)?);
    let sandbox = Folder::new()?;
    let script: String = commands
        .iter()
        .map(|shown| format!("{}\nend=$?; echo; echo \"{MARK} $end\"\n", shown.command))
        .collect();
    let file = sandbox.dir.path().join("chapter.sh");
    fs::write(&file, script)?;
    let forge = program("forge")?;
    let mut path = forge.parent().context("no folder")?.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").context("no PATH")?);
    // The surroundings of the program, for the shell that runs it.
    let mut shell = std::process::Command::new("sh");
    for (name, value) in sandbox.command([""])?.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    let played = shell
        .env("PATH", path)
        .env("COLUMNS", "100")
        .args(["-c", "exec 2>&1; . \"$0\""])
        .arg(&file)
        .current_dir(sandbox.repo.path())
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8(played.stdout)?;
    let mut rest = said.as_str();
    for shown in &commands {
        let (text, after) =
            rest.split_once(MARK).with_context(|| format!("`{}` never ended: {said}", shown.command))?;
        let (code, after) = after.split_once('\n').context("no exit code")?;
        rest = after;
        let mut lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        let code = format!("(exit code {})", code.trim());
        if code != "(exit code 0)" {
            lines.push(&code);
        }
        ensure!(
            fits(&shown.lines, &lines),
            "{}: $ {}\nis to say:\n{}\nand says:\n{}",
            chapter.display(),
            shown.command,
            shown.lines.join("\n"),
            lines.join("\n")
        );
    }
    Ok(())
}

#[test]
fn commands_of_each_chapter_print_the_documented_output() -> Result<()> {
    let (mut played, mut wrong) = (0, Vec::new());
    for chapter in chapters()? {
        played += commands(&fs::read_to_string(&chapter)?).len();
        wrong.extend(play(&chapter).err().map(|error| format!("{error:#}")));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    ensure!(played > 60, "only {played} commands were played");
    Ok(())
}

#[test]
fn links_of_the_guide_lead_to_existing_targets() -> Result<()> {
    let readme = Path::new(GUIDE).join("../../README.md");
    let index = fs::read_to_string(Path::new(GUIDE).join("README.md"))?;
    for file in chapters()?.iter().chain([&readme]) {
        let text = fs::read_to_string(file)?;
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let there =
                link.starts_with("http") || file.parent().is_some_and(|folder| folder.join(target).exists());
            assert!(there, "{}: {link}", file.display());
        }
        let name = file.file_name().context("no name")?.to_string_lossy();
        assert!(name == "README.md" || index.contains(&format!("({name})")), "{name} is in no list");
    }
    Ok(())
}

#[test]
fn dots_in_documented_output_match_any_text() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, said, fit) in [
        ("a\n...\nz", "a\nb\nc\nz", true),
        ("a\n...", "a", true),
        ("a\nb", "a", false),
        ("a", "a\nb", false),
        ("Made (...).", "Made (7).", true),
        ("Made (...).", "Made (7)", false),
        ("x ... y ... z", "x 1 y 2 z", true),
        ("x...x", "x", false),
    ] {
        assert_eq!(fits(&lines(shown), &said.lines().collect::<Vec<_>>()), fit, "{shown} / {said}");
    }
}
