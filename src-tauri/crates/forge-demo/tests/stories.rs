//! The demo's tasks, worked on by the scripted agent as a program: each story ends as it says.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::{
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use forge_demo::{
    sample_repo,
    scenario::{DemoTask, Story, tasks},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

const AGENT: &str = env!("CARGO_BIN_EXE_forge-scripted-agent");

struct Sandbox {
    _dir: tempfile::TempDir,
    repo: PathBuf,
    prompt: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let (repo, prompt) = (dir.path().join("repo"), dir.path().join("prompt.md"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(sample_repo::create(&repo)).expect("a repository");
        Self { _dir: dir, repo, prompt }
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(&self.repo)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.repo)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        command
    }

    fn agent(&self, prompt: &str, attempt: u32) -> Output {
        std::fs::write(&self.prompt, prompt).expect("a prompt");
        self.run(attempt, "")
    }

    /// The same as an entry of a race.
    fn entry(&self, prompt: &str, strategy: &str) -> Output {
        std::fs::write(&self.prompt, prompt).expect("a prompt");
        self.run(1, strategy)
    }

    fn run(&self, attempt: u32, strategy: &str) -> Output {
        self.command(AGENT)
            .args(["scripted-agent", "--prompt-file"])
            .arg(&self.prompt)
            .env("FORGE_ATTEMPT", attempt.to_string())
            .env("FORGE_STRATEGY", strategy)
            .output()
            .expect("the agent runs")
    }

    fn passes(&self, checks: &[&str]) -> bool {
        checks
            .iter()
            .all(|check| self.command("sh").args(["-c", check]).output().expect("sh runs").status.success())
    }
}

fn entries(output: &Output) -> Vec<Value> {
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("an entry"))
        .collect()
}

/// What an agent is told of a task, with its script without the pauses.
fn hurried(task: &DemoTask) -> String {
    let script = task.script.lines().filter(|line| !line.starts_with("sleep "));
    format!("{}\n{}\n", told(task), script.collect::<Vec<_>>().join("\n"))
}

/// What an agent is told of a task.
fn told(task: &DemoTask) -> String {
    format!("# Rules\n\nBe good.\n\n# Task #1: {}\n\n{}\n", task.title, task.description)
}

#[test]
fn task_of_the_demo_is_known_by_its_title() {
    let find = |story| tasks().into_iter().find(|task| task.story == story).expect("the task");
    let sandbox = Sandbox::new();
    let done = find(Story::Done);
    assert!(!told(&done).contains("forge-script"), "a person would write no script");
    assert!(sandbox.agent(&told(&done), 1).status.success());
    assert!(sandbox.repo.join("src/greetings/fr.txt").is_file());
    assert!(!sandbox.repo.join("notes").exists(), "it was taken for a task without a script");
}

#[test]
fn every_story_ends_as_it_says() {
    for task in tasks().into_iter().filter(|task| ![Story::Conflict, Story::Race].contains(&task.story)) {
        let sandbox = Sandbox::new();
        let outcomes: Vec<bool> = (1..=3)
            .map(|attempt| {
                let output = sandbox.agent(&hurried(&task), attempt);
                assert!(output.status.success(), "{}: {output:?}", task.title);
                sandbox.passes(task.checks)
            })
            .collect();
        let first = match task.story {
            Story::Done | Story::Lively | Story::ConflictFirst => Some(0),
            Story::FailThenFix => Some(1),
            Story::Blocked | Story::Conflict | Story::Race => None,
        };
        assert_eq!(outcomes.iter().position(|passed| *passed), first, "{}: {outcomes:?}", task.title);
    }
}

#[test]
fn the_conflict_conflicts_and_its_second_attempt_resolves_it() {
    let find = |story| tasks().into_iter().find(|task| task.story == story).expect("the task");
    let sandbox = Sandbox::new();
    let git = |args: &str| {
        let names = "-c user.name=T -c user.email=t@localhost -c core.hooksPath=/dev/null";
        let line = format!("git {names} {args}");
        sandbox.command("sh").args(["-c", &line]).output().expect("git runs").status.success()
    };
    assert!(git("checkout --quiet -b first"));
    assert!(sandbox.agent(&hurried(&find(Story::ConflictFirst)), 1).status.success());
    assert!(git("commit --quiet --all --message first") && git("branch second main"));
    // The first is merged, which the second waits for; it works on what was there before.
    assert!(git("branch --force main first") && git("checkout --quiet second"));
    assert!(sandbox.agent(&hurried(&find(Story::Conflict)), 1).status.success());
    assert!(git("commit --quiet --all --message second"));
    assert!(!git("merge --quiet main"), "there is no conflict");
    assert!(git("merge --abort"));

    assert!(sandbox.agent(&hurried(&find(Story::Conflict)), 2).status.success());
    assert!(git("merge-base --is-ancestor main HEAD") && git("diff --exit-code HEAD"));
    let readme = std::fs::read_to_string(sandbox.repo.join("README.md")).expect("the README");
    assert!(readme.contains("for good. Newcomers are welcome!") && !readme.contains("<<<<"), "{readme}");
    assert!(sandbox.passes(find(Story::Conflict).checks));
}

#[test]
fn the_lively_one_is_rich_and_takes_its_time() {
    let task = tasks().into_iter().find(|task| task.story == Story::Lively).expect("a lively task");
    let pauses = task.script.lines().filter_map(|line| line.strip_prefix("sleep "));
    let pauses: Vec<u64> = pauses.map(|ms| ms.parse().expect("a number")).collect();
    assert!(pauses.len() >= 10 && pauses.iter().all(|ms| (300..=800).contains(ms)), "{pauses:?}");

    let sandbox = Sandbox::new();
    let entries = entries(&sandbox.agent(&hurried(&task), 1));
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    for kind in ["assistant_text", "reasoning", "command", "file_change", "plan", "usage", "turn_ended"] {
        assert!(count(kind) > 0, "no {kind}");
    }
    let commands: Vec<_> = entries.iter().filter(|entry| entry["kind"] == "command").collect();
    for pair in commands.chunks(2) {
        assert_eq!((&pair[0]["status"], &pair[0]["id"]), (&"running".into(), &pair[1]["id"]));
        assert!(pair[1]["body"]["exit_code"].is_number(), "{pair:?}");
    }
    // The mistake on the way is real: the first run of the tests fails, the second passes.
    let tests = commands.iter().filter(|entry| entry["body"]["command"] == "sh test.sh");
    let codes: Vec<_> = tests.filter_map(|entry| entry["body"]["exit_code"].as_i64()).collect();
    assert_eq!(codes, [1, 0]);
}

#[test]
fn a_task_without_a_script_leaves_a_note() {
    let sandbox = Sandbox::new();
    let output = sandbox.agent("# Rules\n\nBe good.\n\n# Task #7: Water the plants\n", 1);
    assert!(output.status.success(), "{output:?}");
    let note = std::fs::read_to_string(sandbox.repo.join("notes/water-the-plants.md")).expect("a note");
    assert!(note.starts_with("# Water the plants\n"), "{note}");
    assert_eq!(
        entries(&output).last().expect("an end")["body"]["summary"],
        "Wrote `notes/water-the-plants.md`."
    );
}

#[test]
fn a_mistake_in_the_script_is_told_before_anything_is_done() {
    let sandbox = Sandbox::new();
    let output = sandbox.agent("```forge-script\nedit x <<< \"y\"\nfly\n```\n", 1);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("line 3 of the prompt, `fly`: there is no directive `fly`"), "{told}");
    assert!(!sandbox.repo.join("x").exists());
    assert!(output.stdout.is_empty());
}

#[test]
fn commits_as_itself_and_shows_the_diff() {
    let sandbox = Sandbox::new();
    let prompt =
        "```forge-script\nappend README.md <<< \"More.\\n\"\ndelete docs/ideas.md\ncommit Tidy \"up\"\n```\n";
    let output = sandbox.agent(prompt, 1);
    let entries = entries(&output);
    assert_eq!(entries[0]["body"]["change"], "update");
    assert!(entries[0]["body"]["diff"].as_str().expect("a diff").ends_with("\n+More.\n"), "{}", entries[0]);
    assert_eq!(entries[1]["body"]["change"], "delete");
    let log = sandbox.command("git").args(["log", "-1", "--format=%an|%s", "--stat"]).output().expect("git");
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert!(log.starts_with("Scripted Agent|Tidy \"up\"\n"), "{log}");
    assert!(log.contains("2 files changed"), "{log}");
}

/// Starts the agent and waits until it has printed `ready`.
fn ready(sandbox: &Sandbox, script: &str) -> (Child, impl BufRead) {
    std::fs::write(&sandbox.prompt, format!("```forge-script\n{script}\n```\n")).expect("a prompt");
    let mut command = sandbox.command(AGENT);
    command.arg("--prompt-file").arg(&sandbox.prompt).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the agent runs");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert_ne!(output.read_line(&mut line).expect("a line"), 0, "it ended before it was ready");
    }
    (child, output)
}

fn status_field(pid: u32, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
    line.trim_start_matches(':').trim().to_owned()
}

#[test]
fn can_be_deaf_to_the_gentle_signal() {
    let sandbox = Sandbox::new();
    let (mut child, _output) = ready(&sandbox, "ignore-sigterm\nprint ready\nhang");
    let pid = child.id();
    kill(Pid::from_raw(i32::try_from(pid).expect("a number")), Signal::SIGTERM).expect("sent");
    // The signal waits at the process and changes nothing.
    let pending = u64::from_str_radix(&status_field(pid, "ShdPnd"), 16).expect("a mask");
    assert_eq!(pending >> (Signal::SIGTERM as u32 - 1) & 1, 1);
    assert!(child.try_wait().expect("asked").is_none());
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

#[test]
fn can_leave_a_process_behind_that_keeps_its_output_open() {
    let sandbox = Sandbox::new();
    let (mut child, _output) = ready(&sandbox, "run echo $$\nfork\nprint ready");
    assert!(child.wait().expect("it ends").success());
    let own = std::fs::canonicalize(&sandbox.repo).expect("the folder");
    let left: Vec<i32> = std::fs::read_dir("/proc")
        .expect("processes")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == own))
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    for pid in left {
        kill(Pid::from_raw(pid), Signal::SIGKILL).expect("killed");
    }
}

#[test]
fn can_print_what_no_log_likes() {
    let sandbox = Sandbox::new();
    let output = sandbox.agent("```forge-script\ninvalid-utf8\nlong-line 100000\nflood 1000\n```\n", 1);
    assert!(output.status.success());
    assert!(std::str::from_utf8(&output.stdout).is_err());
    assert!(output.stdout.split(|byte| *byte == b'\n').any(|line| line.len() == 100_000));
    assert!(output.stdout.len() > 101_000);
}

#[test]
fn ends_as_told() {
    let sandbox = Sandbox::new();
    let run = |script: &str| sandbox.agent(&format!("```forge-script\n{script}\n```\n"), 1);
    assert_eq!(run("fail 7\nsay never").status.code(), Some(7));
    let error = run("error refused I would rather not");
    assert_eq!(error.status.code(), Some(1));
    assert_eq!(
        entries(&error)[0]["body"]["error"],
        serde_json::json!({ "code": "refused", "message": "I would rather not" })
    );
    let limited = entries(&run("rate-limit 60000"));
    assert!(limited[0]["body"]["error"]["until_ms"].as_u64().expect("a time") > 1_600_000_000_000);
}

#[test]
fn waits_for_a_file() {
    let sandbox = Sandbox::new();
    let (mut child, mut output) = ready(&sandbox, "print ready\nwait-for go\nprint gone");
    assert!(child.try_wait().expect("asked").is_none());
    std::fs::write(sandbox.repo.join("go"), "").expect("written");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert!(rest.starts_with("gone\n"), "{rest}");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn reviews_what_has_no_script_for_a_reviewer() {
    let sandbox = Sandbox::new();
    std::fs::write(&sandbox.prompt, "# Task #1: x\n```forge-script\nfail 9\n```\n").expect("a prompt");
    let review = sandbox
        .command(AGENT)
        .env("FORGE_ROLE", "reviewer")
        .arg("--prompt-file")
        .arg(&sandbox.prompt)
        .output();
    let review = review.expect("the agent runs");
    assert!(review.status.success(), "{review:?}");
    let said = entries(&review);
    let text = said[1]["body"]["text"].as_str().expect("a verdict");
    assert!(text.lines().any(|line| line == "===REVIEW: PASS==="), "{text}");
}

#[test]
fn says_how_it_is_started() {
    let sandbox = Sandbox::new();
    let output = sandbox.command(AGENT).output().expect("the agent runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--prompt-file"));
    let unreadable = sandbox.command(AGENT).args(["--prompt-file", "none"]).output().expect("the agent runs");
    assert_eq!(unreadable.status.code(), Some(2));
}

#[test]
fn of_the_entries_that_race_only_the_hasty_one_fails() {
    let task = tasks().into_iter().find(|task| task.story == Story::Race).expect("a race");
    for &name in task.race {
        let sandbox = Sandbox::new();
        assert!(sandbox.entry(&told(&task), name).status.success(), "{name}");
        assert_eq!(sandbox.passes(task.checks), name != "hasty", "{name}");
    }
}
