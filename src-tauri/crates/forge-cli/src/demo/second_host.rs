//! A second host that the demo makes for itself: an ssh server of the same user on this computer, with a home of its own.
//!
//! It listens on 127.0.0.1 alone, accepts one key that was made for it, and ends with the demo.

use std::{
    fs, io,
    net::TcpListener,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_api::{
    Client as _,
    operations::{MachineCreate, ProjectSettingsUpdate},
    ops::{machines::CreateMachine, projects::PatchSettings},
};
use forge_exec::{Caps, Command, Exit, Piped, collect, find_program, start_piped};
use forge_model::{ids::ProjectId, machine::SshConfig};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::{connection::Connection, error::CliError};

/// Name of the machine.
pub(super) const NAME: &str = "second-host";

/// Where servers are that the search path of a user does not name.
const SERVERS: &str = "/usr/sbin:/usr/local/sbin:/sbin";

/// A server that does not say by then that it listens will not.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

const CAPS: Caps = Caps { stdout: 64 * 1024, stderr: 64 * 1024 };

/// The server; it ends when this is dropped.
pub(super) struct SecondHost {
    _server: Piped,
    folder: PathBuf,
    port: u16,
}

impl SecondHost {
    /// Starts it with everything in a folder. Its programs are told where the demo's repository is: one story waits until
    /// another one is merged there.
    pub(super) async fn start(folder: PathBuf, repo: &Path) -> Result<Self, CliError> {
        let io = |error| CliError::io("make a second host")(error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join("home")).map_err(io)?;
        // The server of a system's root changes its root to it before anybody has signed in; others do not need it.
        let _ = fs::create_dir_all("/run/sshd");
        let program = find_program("sshd", SERVERS).ok_or_else(|| CliError::NotFound {
            message: "no ssh server is installed".to_owned(),
            hint: "Install the package openssh-server, or run the demo without --machine.",
        })?;
        for key in ["host_key", "key"] {
            make_key(&folder, key).await.map_err(io)?;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).map_err(io)?.port();
        let written = || {
            fs::copy(folder.join("key.pub"), folder.join("authorized_keys"))?;
            fs::write(folder.join("sshd_config"), configuration(&folder, port, repo))?;
            let public = fs::read_to_string(folder.join("host_key.pub"))?;
            fs::write(folder.join("known_hosts"), format!("[127.0.0.1]:{port} {public}"))
        };
        written().map_err(io)?;
        let server = listen(&program, &folder).await.map_err(io)?;
        Ok(Self { _server: server, folder, port })
    }

    /// Has the tasks of a project run on it.
    pub(super) async fn take_in(&self, connection: &Connection, project: &ProjectId) -> Result<(), CliError> {
        let option = |name: &str, value: &Path| format!("{name}={}", value.display());
        let options = vec![
            option("UserKnownHostsFile", &self.folder.join("known_hosts")),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "IdentitiesOnly=yes".to_owned(),
            "UpdateHostKeys=no".to_owned(),
        ];
        let ssh = SshConfig {
            host: "127.0.0.1".to_owned(),
            user: None,
            port: Some(self.port),
            identity_file: Some(self.folder.join("key").to_string_lossy().into_owned()),
            options,
        };
        let root = self.folder.join("forge").to_string_lossy().into_owned();
        let machine = CreateMachine {
            name: NAME.to_owned(),
            ssh: Some(ssh),
            container: None,
            slurm: None,
            kubernetes: None,
            root: Some(root),
            labels: None,
            caps: None,
            quota: None,
        };
        connection.call(MachineCreate, machine).await?;
        let patch = [
            ("machines".to_owned(), json!([NAME])),
            ("environment".to_owned(), json!({ "pass": ["FORGE_DEMO_REPO"] })),
        ];
        let patch = patch.into_iter().collect();
        let settings = PatchSettings { project_id: project.clone(), patch };
        connection.call(ProjectSettingsUpdate, settings).await?;
        Ok(())
    }
}

async fn make_key(folder: &Path, name: &str) -> io::Result<()> {
    let made = Command::tool("ssh-keygen", folder)
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(folder.join(name))
        .timeout(LISTENS_WITHIN);
    let made = collect(made, CAPS).await.map_err(io::Error::other)?;
    match made.exit {
        Exit::Code(0) => Ok(()),
        _ => Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned())),
    }
}

fn configuration(folder: &Path, port: u16, repo: &Path) -> String {
    let (at, repo) = (folder.display(), repo.display());
    format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host_key\nPidFile none\nStrictModes no\nUsePAM no\n\
         AuthorizedKeysFile {at}/authorized_keys\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PrintMotd no\nSetEnv \"HOME={at}/home\" \"FORGE_DEMO_REPO={repo}\"\n"
    )
}

async fn listen(program: &Path, folder: &Path) -> io::Result<Piped> {
    let server = Command::tool(program, folder).args(["-D", "-e", "-f"]).arg(folder.join("sshd_config"));
    let (server, pipes) = start_piped(server).await.map_err(io::Error::other)?;
    let mut lines = BufReader::new(pipes.stderr).lines();
    let mut said = String::new();
    let listens = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains("Server listening on") {
                return Ok(());
            }
            said = line;
        }
        Err(io::Error::other(said))
    };
    tokio::time::timeout(LISTENS_WITHIN, listens).await??;
    // It says something of each who signs in, and must not wait for a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok(server)
}
