//! A second host: a network, processes, mounts and a name of its own, with a real sshd of an ordinary user.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead as _, BufReader},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use forge_machines::{KeeperProgram, MachineConfig, SshConfig};
use tempfile::TempDir;

use crate::{processes, system::system};

/// What may be different about a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup {
    /// Lines of the configuration of its sshd; `HOME` stands for the home there.
    pub sshd: &'static str,
    /// What its first process does before sshd starts, with `HOME` likewise.
    pub before: &'static str,
}

/// A host. Nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct Host {
    /// Its disk and the configuration of `ssh` here.
    pub folder: TempDir,
    setup: Setup,
    namespace: String,
    link: String,
    /// The network namespace at this end of its link; none is the one of this process.
    link_in: Option<String>,
    address: String,
    route: String,
    uid: u32,
    first: Option<Child>,
    log: Arc<Mutex<Vec<String>>>,
}

/// Takes away the hosts of tests that were killed.
fn sweep() {
    for name in system("ip netns list").unwrap_or_default().lines().filter_map(|line| line.split(' ').next())
    {
        let Some(pid) = name.strip_prefix("forge-far-").and_then(|rest| rest.split('-').next()) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            let _ = system(&format!("ip netns del {name}"));
        }
    }
}

/// The words of `ip` for a namespace.
fn ip_in(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "ip".to_owned(), |namespace| format!("ip -n {namespace}"))
}

impl Host {
    /// A host that runs; none where this may not be done, with the reason on standard error.
    #[must_use]
    pub fn start(setup: Setup) -> Option<Self> {
        Self::made(tempfile::tempdir().map_err(Into::into).and_then(|folder| Self::try_start(setup, folder)))
    }

    /// A host that only another one has a link to: the way to it leads over that one, by the user's configuration.
    #[must_use]
    pub fn start_behind(near: &Self) -> Option<Self> {
        let folder = tempfile::tempdir().map_err(Into::into);
        Self::made(folder.and_then(|folder| Self::begin(Setup::default(), folder, Some(near))))
    }

    fn made(host: Result<Self>) -> Option<Self> {
        host.inspect_err(|why| eprintln!("skipped: {why:#}")).ok()
    }

    /// A host that runs, with its disk in a folder.
    ///
    /// # Errors
    /// When it cannot be made here, which is why what needs one is skipped.
    pub fn try_start(setup: Setup, folder: TempDir) -> Result<Self> {
        Self::begin(setup, folder, None)
    }

    fn begin(setup: Setup, folder: TempDir, near: Option<&Self>) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        sweep();
        let (pid, made) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let namespace = format!("forge-far-{pid}-{made}");
        for needed in ["/usr/sbin/sshd", "/usr/bin/ssh-keygen"] {
            ensure!(Path::new(needed).exists(), "{needed} is missing");
        }
        system(&format!("ip netns add {namespace}")).context("this may not make network namespaces")?;
        let low = pid % 16384 * 4;
        let net = format!("10.{}.{}", 192 + (pid / 16384 + made * 7) % 64, low / 256);
        let at = low % 256;
        let mut host = Self {
            folder,
            setup,
            namespace,
            link: format!("ffa{pid}-{made}"),
            link_in: near.map(|near| near.namespace.clone()),
            address: format!("{net}.{}", at + 2),
            route: format!("{net}.{at}/30"),
            uid: 30_000 + (pid * 4 + made) % 20_000,
            first: None,
            log: Arc::default(),
        };
        host.lay_out(&format!("{net}.{}", at + 1), near).context("this may not make a second host")?;
        host.power_on()?;
        Ok(host)
    }

    fn lay_out(&self, here: &str, near: Option<&Self>) -> Result<()> {
        let Self { namespace, link, address, route, .. } = self;
        let (ip, far) = (ip_in(self.link_in.as_deref()), link.replace("ffa", "ffb"));
        for line in [
            format!("{ip} link add {link} type veth peer name {far} netns {namespace}"),
            format!("{ip} addr add {here}/30 dev {link}"),
            format!("{ip} link set {link} up"),
            format!("ip -n {namespace} addr add {address}/30 dev {far}"),
            format!("ip -n {namespace} link set {far} up"),
            format!("ip -n {namespace} link set lo up"),
            // A cut link would send what is for it to the default gateway.
            format!("{ip} route add blackhole {route} metric 9999"),
        ] {
            system(&line)?;
        }
        let folder = self.folder.path();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        for key in ["host_key", "other_key", "key"] {
            keygen(&folder.join(key))?;
        }
        let home = self.home();
        fs::create_dir_all(home.join(".ssh"))?;
        fs::create_dir(folder.join("control"))?;
        fs::copy(folder.join("key.pub"), home.join(".ssh/authorized_keys"))?;
        self.know_key("host_key")?;
        self.configure(&home)?;
        let sections =
            near.map(|near| format!("{}{}", near.section("near", ""), self.section("far", "near")));
        fs::write(folder.join("ssh_config"), sections.unwrap_or_else(|| self.section("far", "")))?;
        let wrapper = format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/ssh_config \"$@\"\n", folder.display());
        fs::write(folder.join("ssh"), wrapper)?;
        fs::set_permissions(folder.join("ssh"), fs::Permissions::from_mode(0o755))?;
        for own in [&home, &home.join(".ssh"), &home.join(".ssh/authorized_keys"), &folder.join("host_key")] {
            chown(own, Some(self.uid), Some(self.uid))?;
        }
        Ok(())
    }

    /// Writes what is different there.
    fn configure(&self, home: &Path) -> Result<()> {
        let (folder, uid, address) = (self.folder.path(), self.uid, &self.address);
        let (home, at) = (home.display(), folder.display());
        fs::write(
            folder.join("passwd"),
            format!("root:x:0:0::/root:/bin/sh\nfar:x:{uid}:{uid}::{home}:/bin/sh\n"),
        )?;
        fs::write(folder.join("machine-id"), "00000000000000000000000000000far\n")?;
        let own = self.setup.sshd.replace("HOME", &home.to_string());
        fs::write(
            folder.join("sshd_config"),
            format!(
                "ListenAddress {address}\nPort 2222\nHostKey {at}/host_key\nPidFile none\nAuthorizedKeysFile .ssh/authorized_keys\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel VERBOSE\n{own}\n"
            ),
        )?;
        Ok(())
    }

    /// Its section of the user's configuration of `ssh`.
    fn section(&self, name: &str, jump: &str) -> String {
        let (address, at) = (&self.address, self.folder.path().display());
        let jump = if jump.is_empty() { String::new() } else { format!(" ProxyJump {jump}\n") };
        format!(
            "Host {name}\n HostName {address}\n Port 2222\n User far\n IdentityFile {at}/key\n IdentitiesOnly yes\n \
             UserKnownHostsFile {at}/known_hosts\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n UpdateHostKeys no\n \
             KexAlgorithms curve25519-sha256\n{jump}"
        )
    }

    /// The way to it for whoever starts `ssh` with the user's own configuration.
    #[must_use]
    pub fn ssh_config(&self) -> SshConfig {
        let section = self.section("far", "");
        let settings = section.lines().skip(1).filter_map(|line| line.trim().split_once(' '));
        let (port, others): (Vec<_>, Vec<_>) = settings.partition(|(name, _)| *name == "Port");
        SshConfig {
            host: "far".to_owned(),
            port: port.first().and_then(|(_, port)| port.parse().ok()),
            options: others.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            ..SshConfig::default()
        }
    }

    /// The home of the user there, as it is seen from here.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where its sshd listens.
    pub(crate) fn address(&self) -> String {
        format!("{}:2222", self.address)
    }

    /// The name under which its host key is known.
    pub(crate) fn key_name(&self) -> String {
        format!("[{}]:2222", self.address)
    }

    /// Makes something the user's there.
    ///
    /// # Errors
    /// When this may not be done.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.uid))
    }

    /// Which host key is known here.
    ///
    /// # Errors
    /// When there is no such key.
    pub fn know_key(&self, name: &str) -> io::Result<()> {
        let folder = self.folder.path();
        let key = fs::read_to_string(folder.join(name).with_extension("pub"))?;
        fs::write(folder.join("known_hosts"), format!("{} {key}", self.key_name()))
    }

    /// Starts its first process, and returns when its sshd listens.
    ///
    /// # Errors
    /// When no sshd listens there.
    pub fn power_on(&mut self) -> Result<()> {
        let (folder, uid) = (self.folder.path().display(), self.uid);
        let before = self.setup.before.replace("HOME", &self.home().display().to_string());
        let script = format!(
            "hostname far; mount --bind {folder}/passwd /etc/passwd; mount --bind {folder}/machine-id /etc/machine-id; {before}\n\
             setpriv --reuid {uid} --regid {uid} --clear-groups /usr/sbin/sshd -D -e -f {folder}/sshd_config &\n\
             while :; do wait; sleep 1; done"
        );
        let mut first = Command::new("ip")
            .args(["netns", "exec", &self.namespace, "unshare", "--pid", "--fork", "--kill-child"])
            .args(["--mount-proc", "--uts", "--mount", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let messages = first.stderr.take().context("its messages")?;
        self.first = Some(first);
        let mut lines = BufReader::new(messages).lines();
        let log = Arc::clone(&self.log);
        let note = move |line: String| log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let listens = lines.by_ref().map_while(io::Result::ok).any(|line| {
            let listens = line.contains("Server listening on");
            note(line);
            listens
        });
        ensure!(listens, "no sshd listens on the second host: {:?}", self.log);
        // Read on, so that nobody waits for a full pipe.
        std::thread::spawn(move || lines.map_while(io::Result::ok).for_each(note));
        Ok(())
    }

    /// How often somebody signed in.
    #[must_use]
    pub fn sign_ins(&self) -> usize {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().filter(|line| line.contains("Accepted publickey")).count()
    }

    /// Ends everything that runs there at once. The disk stays.
    pub fn power_off(&mut self) {
        if let Some(mut first) = self.first.take() {
            let _ = first.kill();
            let _ = first.wait();
        }
    }

    /// Cuts the network (`down`), or joins it again (`up`).
    ///
    /// # Errors
    /// When this may not be done.
    pub fn set_link(&self, state: &str) -> Result<()> {
        system(&format!("{} link set {} {state}", ip_in(self.link_in.as_deref()), self.link)).map(drop)
    }

    /// The processes of the user there, with their arguments.
    #[must_use]
    pub fn processes(&self) -> Vec<(i32, String)> {
        let all = processes::all().into_iter();
        all.filter(|(_, uid, _)| *uid == self.uid).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// The processes of ssh that connect to it from here, with their arguments.
    #[must_use]
    pub fn clients(&self) -> Vec<(i32, String)> {
        let config = self.folder.path().join("ssh_config").display().to_string();
        let all = processes::all().into_iter();
        all.filter(|(_, _, line)| line.contains(&config)).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// The processes of the user there that have something in their arguments.
    #[must_use]
    pub fn running(&self, text: &str) -> Vec<(i32, String)> {
        self.processes().into_iter().filter(|(_, line)| line.contains(text)).collect()
    }

    /// Returns when none of the user's processes there has this in its arguments.
    ///
    /// # Errors
    /// When the system does not tell.
    pub async fn gone(&self, text: &str) -> io::Result<()> {
        processes::gone(|| self.running(text)).await
    }

    /// Returns when no process of ssh connects to it from here.
    ///
    /// # Errors
    /// When the system does not tell.
    pub async fn clients_gone(&self) -> io::Result<()> {
        processes::gone(|| self.clients()).await
    }

    /// Kills what serves the sessions there. How many that were.
    pub fn kill_sessions(&self) -> usize {
        let sessions = self.processes().into_iter().filter(|(_, line)| line.starts_with("sshd: far"));
        sessions.filter(|(pid, _)| processes::end(*pid)).count()
    }

    /// Kills the relays there. How many that were.
    pub fn kill_relays(&self) -> usize {
        let relays = self.running("forge-keeper relay").into_iter();
        relays.filter(|(pid, _)| processes::end(*pid)).count()
    }

    /// Kills the clients here. How many that were.
    pub fn kill_clients(&self) -> usize {
        self.clients().into_iter().filter(|(pid, _)| processes::end(*pid)).count()
    }

    /// How it is reached.
    ///
    /// # Panics
    /// When the keeper is not built.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    #[must_use]
    pub fn config(&self) -> MachineConfig {
        let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        MachineConfig {
            ssh: SshConfig { host: "far".to_owned(), ..SshConfig::default() },
            root: "~/.forge".to_owned(),
            owner: "test".to_owned(),
            keepers: vec![KeeperProgram::read(&keeper_program()).expect("the keeper's program")],
            control_folder: self.folder.path().join("control"),
            program: self.folder.path().join("ssh").into(),
            environment: Arc::new(BTreeMap::from([path])),
            known_as: None,
        }
    }

    /// Takes it away, and checks that nothing of it is left.
    ///
    /// # Errors
    /// When something is.
    pub fn close(self) -> Result<()> {
        let (namespace, link, uid) = (self.namespace.clone(), self.link.clone(), self.uid);
        let folder = self.folder.path().to_owned();
        drop(self);
        let of_host: Vec<_> = processes::all().into_iter().filter(|(_, user, _)| *user == uid).collect();
        ensure!(of_host.is_empty(), "processes of the second host are left: {of_host:?}");
        ensure!(!system("ip netns list")?.contains(&namespace), "the network namespace {namespace} is left");
        ensure!(!system("ip -o link show")?.contains(&link), "the link {link} is left");
        ensure!(!folder.exists(), "the folder {} is left", folder.display());
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.power_off();
        self.kill_clients();
        let ip = ip_in(self.link_in.as_deref());
        let _ = system(&format!("{ip} route del blackhole {} metric 9999", self.route));
        // The link goes with the namespace.
        if let Err(why) = system(&format!("ip netns del {}", self.namespace)) {
            eprintln!("a network namespace is left: {why}");
        }
        let _ = system(&format!("{ip} link del {}", self.link));
    }
}

fn keygen(key: &Path) -> Result<()> {
    let done = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).output()?;
    ensure!(done.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// The keeper as the build of this workspace left it.
///
/// # Panics
/// When it is not built.
#[expect(clippy::expect_used, reason = "a helper of tests")]
#[must_use]
pub fn keeper_program() -> PathBuf {
    let mut folder = std::env::current_exe().expect("a path of this test");
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join("forge-keeper");
    assert!(path.is_file(), "{} is not built: run `cargo build --workspace`", path.display());
    path
}
