//! An ssh server of a test's own, and a board whose user reaches it.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::EngineConfig;
use forge_testkit::Sandbox;
use serde_json::Value;

/// A board whose user has a home in its folder, with this ssh configuration.
pub(crate) async fn board(configuration: &str, settings: Value) -> Result<Sandbox> {
    board_of(configuration, settings, |_| {}).await
}

/// The same with an engine that is configured further.
pub(crate) async fn board_of(
    configuration: &str,
    settings: Value,
    further: impl FnOnce(&mut EngineConfig),
) -> Result<Sandbox> {
    let dir = tempfile::tempdir()?;
    let home = dir.path().join("home");
    fs::create_dir_all(home.join(".ssh"))?;
    let config = home.join(".ssh/config");
    fs::write(&config, configuration)?;
    // ssh reads the home of the user, whatever the environment says.
    let bin = dir.path().join("bin");
    fs::create_dir(&bin)?;
    fs::write(bin.join("ssh"), format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", config.display()))?;
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755))?;
    let configure = configuring(dir.path())?;
    let both = |config: &mut EngineConfig| {
        configure(config);
        further(config);
    };
    Sandbox::in_folder(dir, settings, both).await
}

/// What makes an engine in the folder of such a board that user's, with a keeper that outlives it.
pub(crate) fn configuring(folder: &Path) -> Result<impl FnOnce(&mut EngineConfig) + use<>> {
    let mut variables: BTreeMap<OsString, OsString> =
        (*forge_exec::variables_of(std::env::vars_os())).clone();
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path)))?;
    variables.extend([("PATH".into(), path), ("HOME".into(), folder.join("home").into())]);
    let keeper = forge_engine::KeeperPlace::Program(forge_testkit::program("forge-keeper")?);
    Ok(move |config: &mut EngineConfig| {
        config.environment = Arc::new(variables);
        config.keeper = keeper;
    })
}

/// An ssh server on this computer, for the user of the test alone.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Server {
    /// None where there is no server, or it cannot be started.
    pub(crate) fn start(folder: &Path) -> Result<Option<Self>> {
        if !Path::new("/usr/sbin/sshd").exists() {
            eprintln!("skipped: /usr/sbin/sshd is missing");
            return Ok(None);
        }
        if nix::unistd::geteuid().is_root() {
            fs::create_dir_all("/run/sshd")?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        for key in ["host_key", "key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status()?;
            ensure!(made.success(), "ssh-keygen failed");
        }
        fs::copy(folder.join("key.pub"), folder.join("authorized_keys"))?;
        let at = folder.display();
        fs::create_dir(folder.join("home"))?;
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host_key\nPidFile none\nStrictModes no\nUsePAM no\n\
             AuthorizedKeysFile {at}/authorized_keys\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             SetEnv \"HOME={at}/home\"\n"
        );
        fs::write(folder.join("sshd_config"), config)?;
        let public = fs::read_to_string(folder.join("host_key.pub"))?;
        fs::write(folder.join("known_hosts"), format!("[127.0.0.1]:{port} {public}"))?;
        let child = listen(folder)?;
        Ok(Some(Self { child, folder: folder.to_owned(), port }))
    }

    /// What the user's configuration says of it.
    pub(crate) fn configuration(&self, alias: &str) -> String {
        let (at, port) = (self.folder.display(), self.port);
        format!(
            "Host {alias}\n HostName 127.0.0.1\n Port {port}\n IdentityFile {at}/key\n IdentitiesOnly yes\n \
             UserKnownHostsFile {at}/known_hosts\n GlobalKnownHostsFile /dev/null\n UpdateHostKeys no\n"
        )
    }

    /// Ends every connection; the server goes on.
    pub(crate) fn cut(&self) {
        for session in descendants(self.child.id()) {
            if is_named(session, "sshd") {
                end(session);
            }
        }
    }

    /// Nobody can sign in any more, and nobody is connected.
    pub(crate) fn stop(&mut self) {
        // Programs that were started there have left the session.
        self.cut();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The server is back.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        self.child = listen(&self.folder)?;
        Ok(())
    }
}

fn listen(folder: &Path) -> Result<Child> {
    let mut server = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f"])
        .arg(folder.join("sshd_config"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(server.stderr.take().context("its messages")?).lines();
    let listens = lines.by_ref().map_while(Result::ok).any(|line| line.contains("Server listening on"));
    ensure!(listens, "the ssh server did not begin to listen");
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok(server)
}

/// What a process has started, and that in turn.
fn descendants(pid: u32) -> Vec<u32> {
    let of = |pid: u32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<u32> = of(pid).split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    children.iter().flat_map(|pid| std::iter::once(*pid).chain(descendants(*pid))).collect()
}

fn is_named(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim().starts_with(name))
}

fn end(pid: u32) {
    let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
    // It may have gone by itself.
    let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
}
