//! Machines: adding, changing and removing them, and testing one by a real ssh server.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use forge_api::ApiError;
use forge_testkit::Sandbox;
use serde_json::{Value, json};

/// A board whose user has a home in its folder, with this ssh configuration.
async fn board(configuration: &str) -> Result<Sandbox> {
    let dir = tempfile::tempdir()?;
    let home = dir.path().join("home");
    fs::create_dir_all(home.join(".ssh"))?;
    fs::write(home.join(".ssh/config"), configuration)?;
    // ssh reads the home of the user, whatever the environment says.
    let bin = dir.path().join("bin");
    fs::create_dir(&bin)?;
    let config = home.join(".ssh/config");
    fs::write(bin.join("ssh"), format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", config.display()))?;
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755))?;
    let mut variables: BTreeMap<OsString, OsString> =
        (*forge_exec::variables_of(std::env::vars_os())).clone();
    let path = variables.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)))?;
    variables.extend([("PATH".into(), path), ("HOME".into(), home.into())]);
    let keeper = forge_engine::KeeperPlace::Program(forge_testkit::program("forge-keeper")?);
    let set = move |config: &mut forge_engine::EngineConfig| {
        config.environment = Arc::new(variables);
        config.keeper = keeper;
    };
    Sandbox::in_folder(dir, json!({}), set).await
}

fn refusal(answer: Result<Value, ApiError>) -> Result<Value> {
    let error = answer.err().context("it was not refused")?;
    Ok(serde_json::to_value(error)?)
}

#[tokio::test]
async fn machines_are_added_changed_found_by_name_and_removed() -> Result<()> {
    let board = board("Host near\n HostName near.example\n User me\nHost *.lan\n Port 1\n").await?;
    let new = json!({ "name": "box", "ssh": { "host": "near" }, "labels": ["gpu"] });
    let added = board.call("machine_create", new.clone()).await?;
    assert_eq!((&added["root"], &added["contact"]), (&json!("~/.forge"), &json!("unknown")));
    let taken = refusal(board.call("machine_create", new).await)?;
    assert_eq!(taken["code"], "name_taken", "{taken:#}");
    let wrong = json!({ "name": "b", "ssh": { "host": "-oProxyCommand=x" } });
    let wrong = refusal(board.call("machine_create", wrong).await)?;
    ensure!(wrong.to_string().contains("ssh.host"), "{wrong:#}");
    let change = json!({ "machine_id": "box", "name": "crate", "caps": { "runs": 2 } });
    board.call("machine_update", change).await?;
    let found = board.call("machine_get", json!({ "machine_id": "crate" })).await?;
    assert_eq!((&found["id"], &found["caps"]["runs"]), (&added["id"], &json!(2)));
    let hosts = board.call("machine_hosts", json!({})).await?;
    assert_eq!(hosts["items"].as_array().map(Vec::len), Some(1), "patterns are no hosts: {hosts:#}");
    let host = &hosts["items"][0];
    assert_eq!((&host["target"], &host["machine_id"]), (&json!("me@near.example:22"), &added["id"]));
    board.call("machine_delete", json!({ "machine_id": "crate" })).await?;
    assert_eq!(board.call("machine_list", json!({})).await?["items"], json!([]));
    Ok(())
}

#[tokio::test]
async fn machine_that_does_not_answer_is_told_with_a_remedy() -> Result<()> {
    // Nobody listens on a port that was given back.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let board = board(&format!("Host gone\n HostName 127.0.0.1\n Port {port}\n")).await?;
    board.call("machine_create", json!({ "name": "gone", "ssh": { "host": "gone" } })).await?;
    let test = board.call("machine_test", json!({ "machine_id": "gone" })).await?;
    assert_eq!(test["ok"], false);
    let step = &test["steps"][0];
    assert_eq!((&step["name"], &step["ok"]), (&json!("reach"), &json!(false)), "{test:#}");
    ensure!(step["remedy"].is_string(), "{test:#}");
    Ok(())
}

/// An ssh server on this computer, for the user of the test alone.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// None where there is no server, or it cannot be started.
    fn start(folder: &Path, port: u16) -> Result<Option<Self>> {
        if !Path::new("/usr/sbin/sshd").exists() {
            eprintln!("skipped: /usr/sbin/sshd is missing");
            return Ok(None);
        }
        if nix::unistd::geteuid().is_root() {
            fs::create_dir_all("/run/sshd")?;
        }
        for key in ["host_key", "key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status()?;
            ensure!(made.success(), "ssh-keygen failed");
        }
        fs::copy(folder.join("key.pub"), folder.join("authorized_keys"))?;
        let at = folder.display();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host_key\nPidFile none\nStrictModes no\nUsePAM no\n\
             AuthorizedKeysFile {at}/authorized_keys\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        );
        fs::write(folder.join("sshd_config"), config)?;
        let mut server = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(server.stderr.take().context("its messages")?).lines();
        let server = Self(server);
        let listens = lines.by_ref().map_while(Result::ok).any(|line| line.contains("Server listening on"));
        ensure!(listens, "the ssh server did not begin to listen");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let public = fs::read_to_string(folder.join("host_key.pub"))?;
        fs::write(folder.join("known_hosts"), format!("[127.0.0.1]:{port} {public}"))?;
        Ok(Some(server))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_is_tested_through_a_real_server_and_its_keeper_is_brought_there() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let Some(_server) = Server::start(folder.path(), port)? else { return Ok(()) };
    let at = folder.path().display();
    let board = board(&format!(
        "Host here\n HostName 127.0.0.1\n Port {port}\n IdentityFile {at}/key\n IdentitiesOnly yes\n \
         UserKnownHostsFile {at}/known_hosts\n GlobalKnownHostsFile /dev/null\n UpdateHostKeys no\n"
    ))
    .await?;
    let root = folder.path().join("forge");
    let new = json!({ "name": "here", "ssh": { "host": "here" }, "root": root });
    board.call("machine_create", new).await?;
    let test = board.call("machine_test", json!({ "machine_id": "here" })).await?;
    let steps = test["steps"].as_array().context("no steps")?;
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    ensure!(names.starts_with(&["reach", "host key", "sign-in", "keeper", "git"]), "{test:#}");
    let way = steps.iter().take(5);
    ensure!(way.into_iter().all(|step| step["ok"] == true), "{test:#}");
    ensure!(fs::read_dir(root.join("bin"))?.next().is_some(), "the keeper is there");
    Ok(())
}
