//! Previews of changed pictures: both sides as bytes, from commits and the worktree, limited in size and path.

use anyhow::Result;
use forge_testkit::{
    Board,
    board::{is, text},
    caller::{good, refused},
};
use reqwest::Method;
use serde_json::{Value, json};

/// A PNG with a header for 2 x 1 pixels, padded to a length.
fn png(length: usize) -> Vec<u8> {
    let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x01".to_vec();
    content.resize(length.max(content.len()), 0);
    content
}

/// [`png`] of 24 bytes.
const DATA: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAAB";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
const MAX: usize = 10_000_000;

async fn side(board: &Board, task: &Value, path: &str, side: &str) -> Result<Value> {
    let route = format!("/tasks/{}/diff/preview", text(task, "id"));
    let asked = board.engine.request(Method::GET, &route).query(&[("path", path), ("side", side)]);
    good(asked.send().await?)
}

/// Kind, size, media type, width, height, base64 content.
fn shown(preview: &Value) -> Value {
    json!([
        preview["kind"],
        preview["size"],
        preview["media_type"],
        preview["width"],
        preview["height"],
        preview["data"]
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_picture_are_served_from_worktree_and_commits() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let repo = &board.folder.repo;
    repo.write("icon.svg", "<svg xmlns='x'/>")?;
    repo.write("kept.png", POINTER)?;
    std::fs::write(repo.path().join("gone.gif"), b"GIF89a\x02\0\x01\0")?;
    repo.commit("pictures")?;
    let task = board.engine.task(&board.project, json!({ "title": "Pictures" })).await?;
    board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    let task = board.engine.until(&task, |task| task["workspace"]["status"] == "active").await?;
    let tree = std::path::PathBuf::from(text(&task["workspace"], "path"));
    std::fs::write(tree.join("new.png"), png(24))?;
    std::fs::write(tree.join("kept.png"), png(24))?;
    std::fs::write(tree.join("icon.svg"), "<svg></svg>")?;
    std::fs::write(tree.join("most.png"), png(MAX))?;
    std::fs::write(tree.join("large.png"), png(MAX + 1))?;
    std::fs::write(tree.join("data.bin"), b"PK\0\x01")?;
    std::fs::remove_file(tree.join("gone.gif"))?;
    let absent = json!(["absent", null, null, null, null, null]);
    let picture = json!(["image", 24, "image/png", 2, 1, DATA]);
    let wanted = [
        ("new.png", absent.clone(), picture.clone()),
        ("gone.gif", json!(["image", 10, "image/gif", 2, 1, "R0lGODlhAgABAA=="]), absent.clone()),
        ("kept.png", json!(["lfs_pointer", 12345, null, null, null, null]), picture),
        (
            "icon.svg",
            json!(["image", 16, "image/svg+xml", null, null, "PHN2ZyB4bWxucz0neCcvPg=="]),
            json!(["image", 11, "image/svg+xml", null, null, "PHN2Zz48L3N2Zz4="]),
        ),
        ("large.png", absent.clone(), json!(["too_large", MAX + 1, null, null, null, null])),
        ("data.bin", absent, json!(["other", 4, null, null, null, null])),
    ];
    let all = async || -> Result<()> {
        for (path, old, new) in &wanted {
            assert_eq!(shown(&side(&board, &task, path, "old").await?), *old, "{path}");
            assert_eq!(shown(&side(&board, &task, path, "new").await?), *new, "{path}");
        }
        let most = side(&board, &task, "most.png", "new").await?;
        assert_eq!((&most["kind"], &most["max_size"]), (&json!("image"), &json!(MAX)));
        // Four characters for three bytes, and the last one filled up.
        assert_eq!(most["data"].as_str().map(str::len), Some(MAX.div_ceil(3) * 4));
        Ok(())
    };
    all().await?;
    let git = std::process::Command::new("sh")
        .args(["-c", "git add --all && git commit -qm pictures"])
        .envs(forge_testkit::HERMETIC_GIT)
        .current_dir(&tree)
        .status()?;
    assert!(git.success());
    board.move_to(&task, "review").await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    board.act(&task, "review/approve", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    board.engine.until(&task, |task| task["workspace"]["status"] == "cleaned").await?;
    all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_outside_the_worktree_is_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.engine.task(&board.project, json!({ "title": "Pictures" })).await?;
    let route = format!("/tasks/{}/diff/preview", text(&task, "id"));
    let ask = async |path: &str, side: &str| {
        refused(board.engine.request(Method::GET, &route).query(&[("path", path), ("side", side)])).await
    };
    let (status, body) = ask("x.png", "new").await?;
    assert_eq!((status, &body["code"]), (409, &json!("workspace_missing")), "{body}");
    board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    let task = board.engine.until(&task, |task| task["workspace"]["status"] == "active").await?;
    let tree = std::path::PathBuf::from(text(&task["workspace"], "path"));
    let outside = board.folder.dir.path();
    std::fs::write(outside.join("secret.png"), png(24))?;
    std::os::unix::fs::symlink(outside, tree.join("out"))?;
    std::os::unix::fs::symlink(outside.join("secret.png"), tree.join("link.png"))?;
    for path in ["../secret.png", "/etc/passwd", "out/secret.png", "a/../../secret.png", ""] {
        for side in ["old", "new"] {
            let (status, body) = ask(path, side).await?;
            assert_eq!((status, &body["code"]), (400, &json!("path_escape")), "{path}: {body}");
            assert_eq!(body["details"]["findings"][0]["path"], "path");
        }
    }
    let link = side(&board, &task, "link.png", "new").await?;
    assert_eq!(shown(&link), json!(["other", null, null, null, null, null]), "it is not followed");
    let (status, body) = ask("absent.png", "new").await?;
    assert_eq!((status, &body["code"]), (404, &json!("not_found")), "{body}");
    let (status, body) = ask("link.png", "both").await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("side")), "{body}");
    Ok(())
}
