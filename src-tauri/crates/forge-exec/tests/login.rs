//! The environment of a login shell is taken once, and programs are found on its path.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::{
    ffi::{OsStr, OsString},
    io::Write as _,
    path::Path,
    sync::Arc,
    time::Duration,
};

use forge_exec::{LoginEnvironments, LoginError, LoginShell, Variables, find_program};

const PATIENCE: Duration = Duration::from_secs(60);

/// Written by another process: had this one ever held it open for writing, a child that another test
/// forks at that moment would hold it too, and it could not be run.
fn executable(path: &Path, text: &str) {
    let script = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let made = std::process::Command::new("sh").args(["-c", script, "make", text]).arg(path).status();
    assert!(made.expect("sh runs").success());
}

fn home(dir: &Path) -> Arc<Variables> {
    let own =
        [("HOME", dir.as_os_str()), ("PATH", OsStr::new("/usr/bin:/bin")), ("OUTER", OsStr::new("kept"))];
    Arc::new(own.into_iter().map(|(name, value)| (OsString::from(name), value.to_owned())).collect())
}

fn bash() -> LoginShell {
    LoginShell::read(&["bash".to_owned(), "-lc".to_owned()]).expect("a login shell")
}

fn value<'v>(variables: &'v Variables, name: &str) -> Option<&'v str> {
    variables.get(OsStr::new(name)).and_then(|value| value.to_str())
}

/// A profile that counts how often it runs, and greets.
fn profile(dir: &Path, rest: &str) {
    let text = format!("echo Welcome!\necho x >> \"$HOME/runs\"\n{rest}\n");
    std::fs::write(dir.join(".profile"), text).expect("written");
}

fn runs(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("runs")).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn concurrent_callers_share_one_run_of_the_profile() {
    let dir = tempfile::tempdir().expect("a folder");
    profile(dir.path(), "export GREETING='a b\nc'\nPATH=$PATH:/opt/with\\ space");
    let known = LoginEnvironments::new(home(dir.path()), PATIENCE);
    let shell = bash();
    let (one, two, three) = tokio::join!(known.get(&shell), known.get(&shell), known.get(&shell));
    let variables = one.expect("an environment");
    assert_eq!((&variables, &variables), (&two.expect("the same"), &three.expect("the same")));
    assert_eq!(value(&variables, "GREETING"), Some("a b\nc"));
    assert_eq!(value(&variables, "OUTER"), Some("kept"));
    assert!(value(&variables, "PATH").is_some_and(|path| path.ends_with(":/opt/with space")));
    for own in ["SHLVL", "PWD", "_", "FORGE_PROCESS"] {
        assert_eq!(value(&variables, own), None, "{own}");
    }
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test]
async fn changed_profile_is_run_again_and_refresh_runs_it_anyway() {
    let dir = tempfile::tempdir().expect("a folder");
    profile(dir.path(), "export STATE=old");
    let known = LoginEnvironments::new(home(dir.path()), PATIENCE);
    assert_eq!(value(&known.get(&bash()).await.expect("taken"), "STATE"), Some("old"));
    assert_eq!(value(&known.get(&bash()).await.expect("known"), "STATE"), Some("old"));
    assert_eq!(runs(dir.path()), 1);
    profile(dir.path(), "export STATE=newer");
    assert_eq!(value(&known.get(&bash()).await.expect("taken again"), "STATE"), Some("newer"));
    assert_eq!(runs(dir.path()), 2);
    known.refresh(&bash()).await.expect("taken again");
    assert_eq!(runs(dir.path()), 3);
}

#[tokio::test]
async fn caller_that_goes_away_leaves_the_profile_running() {
    let dir = tempfile::tempdir().expect("a folder");
    let fifo = dir.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    profile(dir.path(), "read -r line < \"$HOME/gate\"\nexport LINE=$line");
    let known = LoginEnvironments::new(home(dir.path()), PATIENCE);
    let shell = bash();
    // A pipe opens for writing once somebody reads from it.
    let opening = tokio::task::spawn_blocking(move || std::fs::OpenOptions::new().write(true).open(fifo));
    let gate = tokio::select! {
        _ = known.get(&shell) => None,
        opened = opening => Some(opened.expect("no panic").expect("opened")),
    };
    // The profile is half-way, and the caller is gone.
    let mut gate = gate.expect("the profile waits");
    gate.write_all(b"through\n").expect("written");
    drop(gate);
    assert_eq!(value(&known.get(&shell).await.expect("taken"), "LINE"), Some("through"));
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test]
async fn profile_that_nobody_waits_for_any_more_ends_before_the_program() {
    let dir = tempfile::tempdir().expect("a folder");
    profile(dir.path(), "touch \"$HOME/begun\"; sleep 0.3; touch \"$HOME/ended\"");
    let (begun, ended) = (dir.path().join("begun"), dir.path().join("ended"));
    let known = Arc::new(LoginEnvironments::new(home(dir.path()), PATIENCE));
    let asking = tokio::spawn({
        let known = Arc::clone(&known);
        async move { known.get(&bash()).await }
    });
    while !begun.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    asking.abort();
    known.settle(PATIENCE).await;
    assert!(ended.exists(), "the profile was cut off");
}

#[tokio::test]
async fn failure_says_the_shell_and_the_reason() {
    let dir = tempfile::tempdir().expect("a folder");
    profile(dir.path(), "echo 'pyenv: cannot rehash' >&2\nexit 4");
    let known = LoginEnvironments::new(home(dir.path()), PATIENCE);
    let error = known.get(&bash()).await.expect_err("no answer").to_string();
    assert_eq!(
        error,
        "Could not read the login environment of bash: its profile ended the shell (exit 4). It printed: pyenv: cannot rehash"
    );

    profile(dir.path(), "sleep 3600");
    let hasty = LoginEnvironments::new(home(dir.path()), Duration::from_millis(50));
    let error = hasty.get(&bash()).await.expect_err("no answer");
    assert!(matches!(error, LoginError::TimedOut { .. }), "{error}");

    let missing = LoginShell::of_user(dir.path().join("missing").as_os_str());
    let error = known.get(&missing).await.expect_err("no shell");
    assert!(matches!(error, LoginError::NotRun { .. }), "{error}");
}

#[test]
fn finds_the_first_executable_on_the_path() {
    let dir = tempfile::tempdir().expect("a folder");
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    for folder in [&one, &two] {
        std::fs::create_dir(folder).expect("made");
    }
    std::fs::write(one.join("tool"), "not executable").expect("written");
    std::fs::create_dir(one.join("other")).expect("made");
    executable(&two.join("tool"), "");
    executable(&two.join("other"), "");
    let path = std::env::join_paths([Path::new("relative"), &one, &two]).expect("a path");
    assert_eq!(find_program("tool", &path), Some(two.join("tool")));
    assert_eq!(find_program("other", &path), Some(two.join("other")));
    assert_eq!(find_program("none", &path), None);
    assert_eq!(find_program(two.join("tool"), ""), Some(two.join("tool")));
    assert_eq!(find_program(one.join("tool"), &path), None);
}
