//! An ssh server on this computer, for the user of the test alone: a machine for tasks.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

/// An ssh server on this computer, for the user of the test alone.
pub struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
    /// How large its own disk is, on which it has the folder `forge`.
    disk: Option<u64>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Server {
    /// None where there is no server.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(folder: &Path) -> Result<Option<Self>> {
        Self::on_disk(folder, None)
    }

    /// One that has the folder `forge` on a small disk of its own, which only it sees and which goes with it. None where
    /// there is no server, or none may be given a disk.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_on_small_disk(folder: &Path, bytes: u64) -> Result<Option<Self>> {
        let can = Command::new("unshare").args(["--mount", "true"]).output()?;
        if !can.status.success() {
            eprintln!("skipped: this may not mount: {}", String::from_utf8_lossy(&can.stderr));
            return Ok(None);
        }
        Self::on_disk(folder, Some(bytes))
    }

    fn on_disk(folder: &Path, disk: Option<u64>) -> Result<Option<Self>> {
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
        fs::write(folder.join("known_hosts"), format!("forge-test {public}"))?;
        let child = listen(folder, disk)?;
        Ok(Some(Self { child, folder: folder.to_owned(), port, disk }))
    }

    /// Has the user whose home this is reach it under a name. Returns the folder with that user's `ssh`, which a login shell
    /// of theirs has on its path.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn make_known(&self, home: &Path, alias: &str) -> Result<PathBuf> {
        let bin = give_ssh(home, &self.configuration(alias))?;
        fs::write(home.join(".profile"), format!("export PATH=\"{}:$PATH\"\n", bin.display()))?;
        Ok(bin)
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The processes of keepers there.
    #[must_use]
    pub fn keepers(&self) -> Vec<u32> {
        let here = self.folder.to_string_lossy().into_owned();
        let is_keeper = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("forge-keeper\0serve\0") && line.contains(&here)
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(is_keeper).collect()
    }

    /// The folder `forge` as it is there.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        let root = self.folder.join("forge");
        match self.disk {
            None => root,
            Some(_) => Path::new("/proc")
                .join(self.child.id().to_string())
                .join("root")
                .join(root.strip_prefix("/").unwrap_or(&root)),
        }
    }

    /// Leaves no space on its disk.
    ///
    /// # Errors
    /// When the disk refuses for another reason.
    pub fn fill_disk(&self) -> Result<()> {
        let mut ballast = fs::File::create(self.root().join("ballast"))?;
        let mut length = 1024 * 1024;
        // To the last page.
        while length > 0 {
            match ballast.write_all(&vec![0; length]) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => length /= 2,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Makes space again.
    ///
    /// # Errors
    /// When the disk was not filled.
    pub fn make_space(&self) -> Result<()> {
        Ok(fs::remove_file(self.root().join("ballast"))?)
    }

    /// The folders that it has for tasks of an engine whose `root` there is `forge`.
    #[must_use]
    pub fn copies(&self) -> Vec<PathBuf> {
        let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
        list(self.root().join("keepers")).flat_map(|owner| list(owner.join("tasks"))).collect()
    }

    /// What the user's configuration says of it.
    #[must_use]
    pub fn configuration(&self, alias: &str) -> String {
        configuration(&self.folder, alias, self.port)
    }

    /// The same by a way that leads over another port.
    #[must_use]
    pub fn configuration_at(&self, alias: &str, port: u16) -> String {
        configuration(&self.folder, alias, port)
    }

    /// Ends every connection; the server goes on.
    pub fn cut(&self) {
        for session in descendants(self.child.id()) {
            if is_named(session, "sshd") {
                end(session);
            }
        }
    }

    /// Nobody can sign in any more, and nobody is connected.
    pub fn stop(&mut self) {
        // Programs that were started there have left the session.
        self.cut();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The server is back.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_again(&mut self) -> Result<()> {
        self.child = listen(&self.folder, self.disk)?;
        Ok(())
    }
}

fn configuration(folder: &Path, alias: &str, port: u16) -> String {
    let at = folder.display();
    format!(
        "Host {alias}\n HostName 127.0.0.1\n Port {port}\n HostKeyAlias forge-test\n IdentityFile {at}/key\n \
         IdentitiesOnly yes\n UserKnownHostsFile {at}/known_hosts\n GlobalKnownHostsFile /dev/null\n UpdateHostKeys no\n"
    )
}

/// Gives the user whose home this is a configuration of ssh, and a program `ssh` that reads it: ssh itself reads the home
/// of whoever runs the test, whatever the environment says. Returns the folder of the program.
///
/// # Errors
/// When the disk refuses.
pub fn give_ssh(home: &Path, configuration: &str) -> Result<PathBuf> {
    fs::create_dir_all(home.join(".ssh"))?;
    let config = home.join(".ssh/config");
    fs::write(&config, configuration)?;
    let bin = home.join("bin");
    fs::create_dir_all(&bin)?;
    fs::write(bin.join("ssh"), format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", config.display()))?;
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755))?;
    Ok(bin)
}

fn listen(folder: &Path, disk: Option<u64>) -> Result<Child> {
    let mut server = Command::new("/usr/sbin/sshd");
    if let Some(bytes) = disk {
        fs::create_dir_all(folder.join("forge"))?;
        server = Command::new("unshare");
        let mount = format!("mount -t tmpfs -o size={bytes} none \"$0\" && exec \"$@\"");
        server.args(["--mount", "sh", "-c", &mount]).arg(folder.join("forge")).arg("/usr/sbin/sshd");
    }
    let mut server = server
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
