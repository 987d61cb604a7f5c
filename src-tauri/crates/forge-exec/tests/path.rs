//! Programs are found where the login shell would find them.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::{ffi::OsString, path::Path, time::Duration};

use forge_exec::{LoginPath, find_program, login_path, path::LoginPathError};

const PATIENCE: Duration = Duration::from_secs(60);

/// Written by another process: had this one ever held it open for writing, a child that another test
/// forks at that moment would hold it too, and it could not be run.
fn executable(path: &Path, text: &str) {
    let script = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let made = std::process::Command::new("sh").args(["-c", script, "make", text]).arg(path).status();
    assert!(made.expect("sh runs").success());
}

/// A shell whose login path is in a file beside it, and that greets.
fn shell(dir: &Path, path: &str) -> OsString {
    let shell = dir.join("shell");
    std::fs::write(dir.join("path"), path).expect("written");
    let text = "#!/bin/sh\necho Welcome!\n[ \"$1\" = -lc ] || exit 9\nPATH=$(cat \"${0%/*}/path\") eval \"$2\"\necho Bye!\n";
    executable(&shell, text);
    shell.into_os_string()
}

#[tokio::test]
async fn asks_the_login_shell_whatever_it_prints_around() {
    let dir = tempfile::tempdir().expect("a folder");
    let shell = shell(dir.path(), "/usr/bin:/bin:/opt/with space/bin");
    let path = login_path(&shell, PATIENCE).await.expect("a path");
    assert_eq!(path, "/usr/bin:/bin:/opt/with space/bin");
}

#[tokio::test]
async fn asks_once_and_again_when_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let known = LoginPath::new(shell(dir.path(), "/usr/bin:/bin"), PATIENCE);
    assert_eq!(known.get().await.expect("a path"), "/usr/bin:/bin");
    shell(dir.path(), "/usr/bin:/bin:/new");
    assert_eq!(known.get().await.expect("a path"), "/usr/bin:/bin");
    assert_eq!(known.refresh().await.expect("a path"), "/usr/bin:/bin:/new");
    assert_eq!(known.get().await.expect("a path"), "/usr/bin:/bin:/new");
}

#[tokio::test]
async fn says_why_there_is_no_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    let mute = dir.path().join("mute");
    executable(&mute, "#!/bin/sh\nexit 4\n");
    let error = login_path(mute.as_os_str(), PATIENCE).await.expect_err("no answer");
    assert!(matches!(error, LoginPathError::NoAnswer { .. }), "{error}");

    let slow = dir.path().join("slow");
    executable(&slow, "#!/bin/sh\nsleep 3600\n");
    let error = login_path(slow.as_os_str(), Duration::from_millis(50)).await.expect_err("no answer");
    assert!(matches!(error, LoginPathError::TimedOut { .. }), "{error}");

    let missing = dir.path().join("missing");
    let error = login_path(missing.as_os_str(), PATIENCE).await.expect_err("no shell");
    assert!(matches!(error, LoginPathError::Run(_)), "{error}");
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
