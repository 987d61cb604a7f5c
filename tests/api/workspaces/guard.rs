//! Paths and names from outside: what could lead out of its folder is refused, and says which field it was.

use anyhow::Result;
use reqwest::Method;
use serde_json::json;

use super::bench::{Bench, tree};
use crate::forge::{refused, text};

const OUT: &[&str] = &["../secret", "/etc/passwd", "a/../../secret", "C:\\secret", "a\u{0}b", ""];

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_diffs_stay_inside() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Guarded").await?;
    std::fs::write(bench.sandbox.dir.path().join("secret"), "not yours")?;
    std::os::unix::fs::symlink(bench.sandbox.dir.path(), tree(&task).join("out"))?;
    let route = format!("/tasks/{}/diff/file", text(&task, "id"));
    for path in OUT.iter().chain(&["out/secret"]) {
        let request = bench.server.request(Method::GET, &route).query(&[("path", path)]);
        let (status, body) = refused(request).await?;
        assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{path:?}: {body}");
        assert_eq!(body["details"]["findings"][0]["path"], "path");
        assert!(!body.to_string().contains("not yours"));
    }
    // The link itself is a change like any other.
    let link = bench.server.request(Method::GET, &route).query(&[("path", "out")]).send().await?;
    assert!(link.status().is_success());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_logs_and_backups_are_names() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Guarded").await?;
    let id = text(&task, "id");
    for log in ["..%2F..%2Fforge", "%2Fetc%2Fpasswd", "a%00b", ".hidden"] {
        for more in ["", "/texts/1"] {
            let (status, body) =
                refused(bench.server.request(Method::GET, &format!("/tasks/{id}/logs/{log}{more}"))).await?;
            assert_eq!(
                (status, body["details"]["findings"][0]["path"].as_str()),
                (400, Some("log_id")),
                "{log}: {body}"
            );
        }
    }
    for commit in ["HEAD", "main", "../x", "-x", "--output=/tmp/x"] {
        let (status, body) =
            bench.refused(&format!("/tasks/{id}/backups/restore"), json!({ "commit": commit })).await?;
        assert_eq!((status, body["code"].as_str()), (404, Some("not_found")), "{commit}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_named_by_their_real_paths_inside_the_root() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Guarded").await?;
    let outside = bench.sandbox.dir.path().join("outside");
    std::fs::create_dir(&outside)?;
    std::fs::write(outside.join("mine"), "mine")?;
    let folder = tree(&task).parent().unwrap().to_owned();
    let link = folder.with_file_name("link");
    std::os::unix::fs::symlink(&outside, &link)?;
    let inner_link = folder.with_file_name("inner");
    std::os::unix::fs::symlink(&folder, &inner_link)?;
    let shown = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let escapes = [
        "relative".to_owned(),
        shown(&folder.join("../../..")),
        shown(&outside),
        shown(&bench.root()),
        shown(&link),
        shown(&inner_link),
        format!("{}\u{0}", shown(&folder)),
    ];
    for path in escapes {
        for (route, body) in [
            ("reclaim", json!({ "path": path })),
            ("adopt", json!({ "path": path, "project_id": bench.project })),
        ] {
            let (status, body) = bench.refused(&format!("/workspaces/orphans/{route}"), body).await?;
            assert_eq!((status, body["code"].as_str()), (400, Some("path_escape")), "{path:?}: {body}");
            assert_eq!(body["details"]["findings"][0]["path"], "path");
        }
    }
    for path in [folder.clone(), folder.join("tree"), folder.with_file_name("nowhere")] {
        let body = json!({ "path": path });
        let (status, body) = bench.refused("/workspaces/orphans/reclaim", body).await?;
        assert_eq!((status, body["code"].as_str()), (409, Some("not_an_orphan")), "{}", path.display());
    }
    assert!(folder.join("tree").exists() && outside.join("mine").exists());
    Ok(())
}
