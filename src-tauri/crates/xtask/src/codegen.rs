//! What is generated, compared with what is committed: the UI's types, written by the contract's own program, and the
//! table of the engine's modules in its document.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{
    program::{program, run as run_program},
    tidy::modules,
    workspace::Workspace,
};

/// Where the UI expects them, from the root.
pub const GENERATED: &str = "ui/src/api/generated.ts";

/// Writes the types, or with `check` fails when the committed ones are stale.
pub fn run(workspace: &Workspace, check: bool) -> Result<()> {
    write_document(workspace, check)?;
    // `--workspace` for its feature set alone: only this program and what it needs is built.
    let arguments = ["build", "--workspace", "--bin", "forge-codegen"];
    run_program(&mut program("cargo", arguments, &workspace.root))?;

    let scratch = workspace.scratch();
    fs::create_dir_all(&scratch).with_context(|| format!("failed to make {}", scratch.display()))?;
    let fresh_path = scratch.join("generated.ts");
    run_program(
        Command::new(workspace.built("forge-codegen")).arg(&fresh_path).current_dir(&workspace.root),
    )?;
    let fresh = fs::read_to_string(&fresh_path)
        .with_context(|| format!("failed to read {}", fresh_path.display()))?;

    let committed_path = workspace.root.join(GENERATED);
    let committed = match fs::read_to_string(&committed_path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("failed to read {GENERATED}")),
    };
    if let Some((line, was, is)) = first_difference(&committed, &fresh) {
        if check {
            bail!(
                "{GENERATED}:{line} is stale: run `cargo xtask codegen` and commit it\n  committed: {was}\n  contract:  {is}"
            );
        }
        fs::write(&committed_path, fresh).with_context(|| format!("failed to write {GENERATED}"))?;
        eprintln!("{GENERATED} is written.");
    }
    Ok(())
}

fn write_document(workspace: &Workspace, check: bool) -> Result<()> {
    let path = workspace.root.join(modules::DOCUMENT);
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", modules::DOCUMENT))?;
    let fresh = modules::with_engine_table(&text).with_context(|| {
        format!("{} has no place for the table of the engine's modules", modules::DOCUMENT)
    })?;
    if fresh != text {
        if check {
            bail!("{} is stale: run `cargo xtask codegen` and commit it", modules::DOCUMENT);
        }
        fs::write(&path, fresh).with_context(|| format!("failed to write {}", modules::DOCUMENT))?;
        eprintln!("{} is written.", modules::DOCUMENT);
    }
    Ok(())
}

/// The number of the first line that differs, as it was and as it is.
pub fn first_difference<'a>(was: &'a str, is: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if was == is {
        return None;
    }
    let (mut old, mut new) = (was.lines(), is.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (Some(a), Some(b)) if a == b => {}
            // Both at their end: they differ in the last line's end alone.
            (a, b) => return Some((number, a.unwrap_or("(end)"), b.unwrap_or("(end)"))),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_difference_is_named() {
        for (was, is, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", Some((2, "b", "c"))),
            ("a\n", "a\nc\n", Some((2, "(end)", "c"))),
            ("", "a\n", Some((1, "(end)", "a"))),
            ("a\n", "a", Some((2, "(end)", "(end)"))),
        ] {
            assert_eq!(first_difference(was, is), expected, "{was:?} to {is:?}");
        }
    }
}
