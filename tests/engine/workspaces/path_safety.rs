//! Paths and names from outside: those that lead out of their folder are refused with the name of their field.

use std::path::Path;

use anyhow::{Context as _, Result};
use forge_testkit::{Folder, Repository, board::text, caller::refused, script};
use reqwest::Method;
use serde_json::json;

use super::fixture::{WorkspaceFixture, tree};

const OUT: &[&str] = &["../secret", "/etc/passwd", "a/../../secret", "C:\\secret", "a\u{0}b", ""];

#[tokio::test(flavor = "multi_thread")]
async fn diff_path_outside_the_worktree_is_refused() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Guarded").await?;
    std::fs::write(fixture.folder.dir.path().join("secret"), "not yours")?;
    std::os::unix::fs::symlink(fixture.folder.dir.path(), tree(&task).join("out"))?;
    let route = format!("/tasks/{}/diff/file", text(&task, "id"));
    for path in OUT.iter().chain(&["out/secret"]) {
        let request = fixture.engine.request(Method::GET, &route).query(&[("path", path)]);
        let (status, body) = refused(request).await?;
        assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{path:?}: {body}");
        assert_eq!(body["details"]["findings"][0]["path"], "path");
        assert!(!body.to_string().contains("not yours"));
    }
    // The link itself is a change like any other.
    let link = fixture.engine.request(Method::GET, &route).query(&[("path", "out")]).send().await?;
    assert!(link.status < 300, "{link:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn log_or_backup_name_with_a_path_is_refused() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Guarded").await?;
    let id = text(&task, "id");
    for log in ["..%2F..%2Fforge", "%2Fetc%2Fpasswd", "a%00b", ".hidden"] {
        for more in ["", "/texts/1"] {
            let (status, body) =
                refused(fixture.engine.request(Method::GET, &format!("/tasks/{id}/logs/{log}{more}")))
                    .await?;
            assert_eq!(
                (status, body["details"]["findings"][0]["path"].as_str()),
                (400, Some("log_id")),
                "{log}: {body}"
            );
        }
    }
    for commit in ["HEAD", "main", "../x", "-x", "--output=/tmp/x"] {
        let (status, body) =
            fixture.refused(&format!("/tasks/{id}/backups/restore"), json!({ "commit": commit })).await?;
        assert_eq!((status, body["code"].as_str()), (404, Some("not_found")), "{commit}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphan_path_outside_the_root_is_refused() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Guarded").await?;
    let outside = fixture.folder.dir.path().join("outside");
    std::fs::create_dir(&outside)?;
    std::fs::write(outside.join("mine"), "mine")?;
    let folder = tree(&task).parent().unwrap().to_owned();
    let link = folder.with_file_name("link");
    std::os::unix::fs::symlink(&outside, &link)?;
    let inner_link = folder.with_file_name("inner");
    std::os::unix::fs::symlink(&folder, &inner_link)?;
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let escapes = [
        "relative".to_owned(),
        shown(&folder.join("../../..")),
        shown(&outside),
        shown(&fixture.root()),
        shown(&link),
        shown(&inner_link),
        format!("{}\u{0}", shown(&folder)),
    ];
    for path in escapes {
        for (route, body) in [
            ("reclaim", json!({ "path": path })),
            ("adopt", json!({ "path": path, "project_id": fixture.project })),
        ] {
            let (status, body) = fixture.refused(&format!("/workspaces/orphans/{route}"), body).await?;
            assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{path:?}: {body}");
            assert_eq!(body["details"]["findings"][0]["path"], "path");
        }
    }
    for path in [folder.clone(), folder.join("tree"), folder.with_file_name("nowhere")] {
        let body = json!({ "path": path });
        let (status, body) = fixture.refused("/workspaces/orphans/reclaim", body).await?;
        assert_eq!((status, body["code"].as_str()), (409, Some("not_an_orphan")), "{}", path.display());
    }
    assert!(folder.join("tree").exists() && outside.join("mine").exists());
    Ok(())
}

/// A plan is a regular file of the task's folder; a link in its place is neither read nor written.
#[tokio::test(flavor = "multi_thread")]
async fn plan_behind_a_link_is_neither_read_nor_written() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Guarded").await?;
    let secret = fixture.folder.dir.path().join("secret");
    std::fs::write(&secret, "not yours")?;
    let folder = tree(&task).parent().unwrap().to_owned();
    for name in ["plan.md", "plan.md.next", "plan.next"] {
        std::os::unix::fs::symlink(&secret, folder.join(name))?;
    }
    let route = format!("/tasks/{}/plan", text(&task, "id"));
    let (status, body) = refused(fixture.engine.request(Method::GET, &route)).await?;
    assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{body}");
    assert!(!body.to_string().contains("not yours"));
    let put = fixture.engine.request(Method::PUT, &route).json(&json!({ "text": "1. Mine." })).send().await?;
    let plan = forge_testkit::caller::good(put)?;
    assert_eq!(plan["text"], "1. Mine.");
    assert_eq!(std::fs::read_to_string(&secret)?, "not yours");
    assert!(folder.join("plan.md").symlink_metadata()?.is_file(), "the link itself was replaced");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_pattern_outside_the_repository_is_refused() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let route = format!("/projects/{}/settings", fixture.project);
    for pattern in ["../secret", "a/../../secret", "..", "a\u{0}b", "C:\\secret", "\\\\host\\share", " "] {
        let body = json!({ "copy_files": [{ "pattern": pattern }] });
        let (status, body) = refused(fixture.engine.request(Method::PATCH, &route).json(&body)).await?;
        assert_eq!((status, body["code"].as_str()), (400, Some("invalid")), "{pattern:?}: {body}");
        let field = text(&body["details"]["findings"][0], "path");
        assert!(field.ends_with("copy_files[0].pattern"), "{pattern:?}: {body}");
    }
    Ok(())
}

/// A folder of the path is swapped for an outside link repeatedly while files below it are requested.
#[tokio::test(flavor = "multi_thread")]
async fn folder_swapped_for_a_link_leaks_no_file() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Swapped").await?;
    let outside = fixture.folder.dir.path().join("outside");
    std::fs::create_dir(&outside)?;
    std::fs::write(outside.join("file"), "not yours")?;
    let (here, aside) = (tree(&task).join("folder"), tree(&task).join("aside"));
    std::fs::create_dir(&here)?;
    std::fs::write(here.join("file"), "mine")?;
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (stop, target) = (std::sync::Arc::clone(&over), outside.clone());
    let swapper = std::thread::spawn(move || -> std::io::Result<()> {
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            std::fs::rename(&here, &aside)?;
            std::os::unix::fs::symlink(&target, &here)?;
            std::fs::remove_file(&here)?;
            std::fs::rename(&aside, &here)?;
        }
        Ok(())
    });
    let route = format!("/tasks/{}/diff/file", text(&task, "id"));
    for _ in 0..200 {
        let asked =
            fixture.engine.request(Method::GET, &route).query(&[("path", "folder/file")]).send().await?;
        let said = asked.body.to_string();
        assert!(!said.contains("not yours"), "{said}");
    }
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap()?;
    // A file that is not there is none; one behind a link is refused though it is not there either.
    std::os::unix::fs::symlink(&outside, tree(&task).join("out"))?;
    let asked = fixture.engine.request(Method::GET, &route).query(&[("path", "out/new/file")]);
    let (status, body) = refused(asked).await?;
    assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{body}");
    let asked = fixture.engine.request(Method::GET, &route).query(&[("path", "folder/new/file")]);
    assert_ne!(refused(asked).await?.1["code"], "path_escape");
    Ok(())
}

/// The variables that select git's repository, as a git hook or alias passes them to its children.
fn of_another(repository: &Path) -> Vec<(&'static str, String)> {
    let at = |name: &str| repository.join(name).to_string_lossy().into_owned();
    vec![
        ("GIT_DIR", at(".git")),
        ("GIT_WORK_TREE", at("")),
        ("GIT_INDEX_FILE", at(".git/index")),
        ("GIT_COMMON_DIR", at(".git")),
        ("GIT_OBJECT_DIRECTORY", at(".git/objects")),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", at(".git/objects")),
        ("GIT_PREFIX", "deep/".to_owned()),
        ("GIT_NAMESPACE", "elsewhere".to_owned()),
        ("GIT_CONFIG_PARAMETERS", "'core.bare=true'".to_owned()),
        ("GIT_LITERAL_PATHSPECS", "1".to_owned()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn inherited_git_variables_reach_neither_git_nor_scripts() -> Result<()> {
    let sandbox = Folder::new()?;
    let other = Repository::create(&sandbox.dir.path().join("other"), &[("theirs.txt", "theirs")])?;
    let state = || -> Result<String> {
        let refs = other.git(&["for-each-ref"])?;
        Ok([refs, other.git(&["worktree", "list"])?, other.git(&["status", "--porcelain"])?].join("\n"))
    };
    let before = state()?;
    let inherited = of_another(other.path());
    let engine = sandbox.serve_in(&inherited)?;
    let seen = |who: &str| sandbox.dir.path().join(format!("seen-by-{who}"));
    let look = |who: &str| format!("env > '{}' && git rev-parse --show-toplevel", seen(who).display());
    let hook =
        |who: &str, blocking: bool| json!({ "type": "script", "command": look(who), "blocking": blocking });
    let settings = json!({
        "shell": ["sh", "-c"],
        "setup": [look("setup")],
        "review_config": { "ci_steps": [look("check")] },
        "auto_approve": true,
        "lifecycle_hooks": {
            "before_work": [hook("before_work", true)],
            "on_work_start": [hook("on_work_start", false)],
            "on_task_done": [hook("on_task_done", false)],
        },
    });
    let (project, agent) = engine.project(&sandbox.repo, settings).await?;
    let work = script(&["edit ours.txt <<< \"ours\"", &format!("run {}", look("agent"))]);
    let new = json!({ "description": work, "roles": { "coder": agent } });
    let task = engine.task(&project, new).await?;
    let tested = json!({ "event": "before_work", "hook_index": 0, "hook": hook("a test", false) });
    let path = format!("/projects/{project}/hooks/test");
    engine.post(&path, tested).await?;
    let claim = json!({ "agent_id": agent, "version": task["version"] });
    engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
    engine.until(&task, |task| task["status"] == "done" || task["error_annotation"].is_object()).await?;
    engine.until(&task, |task| task["workspace"]["status"] == "cleaned").await?;
    for who in ["a test", "setup", "before_work", "on_work_start", "agent", "check", "on_task_done"] {
        let env = std::fs::read_to_string(seen(who)).with_context(|| format!("{who} saw nothing"))?;
        for (name, _) in &inherited {
            let has = env.lines().any(|line| line.starts_with(&format!("{name}=")));
            assert!(!has, "{who} got {name}");
        }
    }
    assert_eq!(sandbox.repo.git(&["show", "main:ours.txt"])?, "ours");
    assert_eq!(state()?, before, "the other repository is as it was");
    Ok(())
}
