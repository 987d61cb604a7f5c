//! The engine at a socket: who reaches it, and what becomes of one that is there.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::Folder;
use reqwest::{Client, StatusCode};
use serde_json::Value;

async fn ask(socket: &Path, token: Option<&str>, headers: &[(&str, &str)]) -> Result<(StatusCode, Value)> {
    let client = Client::builder().no_proxy().unix_socket(socket).build()?;
    let mut request = client.get("http://localhost/api/v1/meta");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await?;
    Ok((answer.status(), answer.json().await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_serves_its_owner_at_a_socket_beside_the_port() -> Result<()> {
    let folder = Folder::new()?;
    let socket = folder.dir.path().join("engine.sock");
    let path = socket.to_str().context("no text")?;
    let mut server = folder.serve_with(&["--socket", path])?;
    assert_eq!(server.line["socket"], path);
    assert_eq!(fs::metadata(&socket)?.permissions().mode() & 0o777, 0o600);
    let token = server.token.clone().context("no token")?;
    let (status, meta) = ask(&socket, Some(&token), &[]).await?;
    assert_eq!(status, 200, "{meta}");
    assert_eq!(meta, server.get("/meta").await?, "it is the same engine");
    assert_eq!(ask(&socket, None, &[]).await?.0, 401);
    assert_eq!(ask(&socket, Some(&token), &[("host", "127.0.0.1:1")]).await?.0, 200);
    assert_eq!(ask(&socket, Some(&token), &[("host", "evil.test")]).await?.1["code"], "forbidden_host");
    let page = [("origin", "http://localhost")];
    assert_eq!(ask(&socket, Some(&token), &page).await?.1["code"], "forbidden_origin");

    // A second engine, of other data, leaves a socket alone at which somebody serves.
    let other = folder.dir.path().join("other").to_string_lossy().into_owned();
    let refused = folder.run(&["serve", "--port", "0", "--data-dir", &other, "--socket", path])?;
    ensure!(
        refused.code == Some(1) && refused.stderr.contains("another program listens there"),
        "{refused:?}"
    );
    ensure!(!Path::new(&other).join("forge.db").exists(), "nothing was begun");
    assert_eq!(ask(&socket, Some(&token), &[]).await?.0, 200);

    // A killed engine leaves it; the next one takes its place. One that ends in order removes it.
    server.kill()?;
    ensure!(socket.exists(), "it is left");
    let mut again = folder.serve_with(&["--socket", path])?;
    assert_eq!(ask(&socket, again.token.as_deref(), &[]).await?.0, 200);
    again.terminate().await?;
    ensure!(!socket.exists(), "it is removed");
    Ok(())
}

#[test]
fn socket_that_cannot_be_made_is_refused_with_a_remedy() -> Result<()> {
    let folder = Folder::new()?;
    let long = format!("/tmp/{}", "x".repeat(120));
    let file = folder.dir.path().join("file");
    fs::write(&file, "mine")?;
    let file = file.to_string_lossy().into_owned();
    for (path, said) in [
        (long.as_str(), "a socket path can have at most"),
        ("/nowhere/at/all.sock", "No such file"),
        (file.as_str(), "is not a socket"),
    ] {
        let refused = folder.run(&["serve", "--port", "0", "--socket", path])?;
        ensure!(refused.code == Some(1) && refused.stderr.contains(said), "{refused:?}");
        ensure!(refused.stderr.contains("\nhint: ") && refused.stderr.contains("--socket"), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(&file)?, "mine");
    Ok(())
}

#[test]
fn engine_in_the_background_is_found_by_the_next_start() -> Result<()> {
    let folder = Folder::new()?;
    let line = folder.run(&["serve", "--background"])?.json()?;
    let again = folder.run(&["serve", "--background"])?.json();
    let pid = i32::try_from(line["pid"].as_i64().context("no pid")?)?;
    let ended = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGINT);
    let again = again?;
    assert_eq!((&again["pid"], &again["url"]), (&line["pid"], &line["url"]));
    assert_eq!(line["socket"].as_str(), folder.data_dir().join("engine.sock").to_str());
    assert_eq!(again["socket"], line["socket"]);
    Ok(ended?)
}
