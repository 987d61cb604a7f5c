//! `cargo xtask test`: all that must hold before a change lands, cheapest first; the first failure ends it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::{
    codegen, dependencies,
    memory_folder::MemoryFolder,
    package,
    program::{program, run as run_program},
    python,
    system::{self, Purpose},
    tidy, ui,
    workspace::Workspace,
};

type Stage = (&'static str, fn(&Workspace) -> Result<()>);

/// In order. The UI is built before any Rust, since its bundle is put into the program; one selection of
/// packages and features throughout, since another one would build half the dependencies again; and the
/// programs are built before the tests that start them.
const STAGES: &[Stage] = &[
    ("system packages and tools", |w| {
        system::prepare(Purpose::Test)?;
        system::prepare_cargo_tools(&w.root)?;
        system::prepare_cargo_deny(&w.root)
    }),
    ("tidy", tidy::run),
    ("rust format", |w| cargo(w, &["fmt", "--all", "--check"])),
    ("licences, bans and sources of dependencies", dependencies::check),
    ("ui packages", ui::install),
    ("ui types", |w| ui::npm(&w.ui(), ["run", "typecheck"])),
    ("ui lint and format", |w| ui::npm(&w.ui(), ["run", "lint"])),
    ("ui tests", |w| ui::npm(&w.ui(), ["run", "test"])),
    ("ui bundle", ui::build),
    ("agent programs", |w| ui::install_packages(&w.agent_programs())),
    ("judges of the http contract", python::install_api_tools),
    ("build", |w| cargo(w, &["build", "--locked", "--workspace"])),
    ("generated types", |w| codegen::run(w, true)),
    ("rust lints", |w| {
        cargo(w, &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"])
    }),
    ("package", package::of_debug),
    ("rust tests", rust_tests),
];

/// Runs all stages.
pub fn run(workspace: &Workspace) -> Result<()> {
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for (index, (name, stage)) in STAGES.iter().enumerate() {
        eprintln!("\n==> [{}/{}] {name}", index + 1, STAGES.len());
        let start = Instant::now();
        let outcome = stage(workspace);
        let took = start.elapsed();
        if outcome.is_err() {
            eprintln!("\n{}", summary(&done, Some((name, took))));
        }
        outcome.with_context(|| format!("the stage `{name}` failed"))?;
        eprintln!("==> {name}: ok in {:.1} s", took.as_secs_f64());
        done.push((name, took));
    }
    eprintln!("\n{}", summary(&done, None));
    Ok(())
}

/// Tests that start real agent programs. Their sandboxes show programs a `/dev` of their own, without the memory that other
/// tests keep their files in.
const REAL_AGENTS: &str = "package(forge-tests) and binary(agents)";

/// Half of what a test takes is waiting, for programs and for events: more tests than cores run at once.
fn rust_tests(workspace: &Workspace) -> Result<()> {
    let at_once = format!("--test-threads={}", 2 * std::thread::available_parallelism()?.get());
    let tests = |filter: &str| {
        let arguments =
            ["nextest", "run", "--locked", "--workspace", &at_once, "--filterset", filter].map(str::to_owned);
        program("cargo", arguments, &workspace.root)
    };
    let folder = MemoryFolder::create()?;
    let mut others = tests(&format!("not ({REAL_AGENTS})"));
    if let Some(folder) = &folder {
        others.env("TMPDIR", folder.path());
    }
    run_program(&mut others)?;
    run_program(&mut tests(REAL_AGENTS))
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    run_program(&mut program("cargo", arguments, &workspace.root))
}

fn summary(done: &[(&str, Duration)], failed: Option<(&str, Duration)>) -> String {
    let line = |mark: &str, name: &str, took: Duration| {
        format!("{mark:>6}  {:>7.1} s  {name}\n", took.as_secs_f64())
    };
    let mut text: String = done.iter().map(|(name, took)| line("ok", name, *took)).collect();
    if let Some((name, took)) = failed {
        text.push_str(&line("FAILED", name, took));
    }
    let total: Duration = done.iter().map(|(_, took)| *took).chain(failed.map(|(_, took)| took)).sum();
    let verdict = if failed.is_some() { "FAILED" } else { "ok" };
    text + &line(verdict, &format!("{} of {} stages", done.len(), STAGES.len()), total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_failed_and_what_was_not_reached() {
        let second = Duration::from_secs(1);
        let text = summary(&[("tidy", second)], Some(("rust format", second * 2)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "    ok      1.0 s  tidy");
        assert_eq!(lines[1], "FAILED      2.0 s  rust format");
        assert_eq!(lines[2], format!("FAILED      3.0 s  1 of {} stages", STAGES.len()));
    }
}
