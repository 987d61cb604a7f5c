//! A second host: a network, processes, mounts and a name of its own, with a real sshd of an ordinary user.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use forge_machines::{KeeperProgram, MachineConfig, SshConfig};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

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
    pub folder: TempDir,
    setup: Setup,
    namespace: String,
    link: String,
    address: String,
    route: String,
    uid: u32,
    first: Option<Child>,
    log: Arc<Mutex<Vec<String>>>,
}

/// Runs a program of the system. What it printed, when it did what it should.
fn system(line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (program, arguments) = words.split_first().ok_or("nothing to run")?;
    let done =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() {
        Ok(text(&done.stdout))
    } else {
        Err(format!("{line}: {}", text(&done.stderr)))
    }
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

impl Host {
    /// A host that runs; none where this may not be done, with the reason on standard error.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub fn start(setup: Setup) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        sweep();
        let (pid, made) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let namespace = format!("forge-far-{pid}-{made}");
        for needed in ["/usr/sbin/sshd", "/usr/bin/ssh-keygen"] {
            if !Path::new(needed).exists() {
                eprintln!("skipped: {needed} is missing");
                return None;
            }
        }
        if let Err(why) = system(&format!("ip netns add {namespace}")) {
            eprintln!("skipped: this may not make network namespaces: {}", why.trim());
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let low = pid % 16384 * 4;
        let net = format!("10.{}.{}", 192 + (pid / 16384 + made * 7) % 64, low / 256);
        let at = low % 256;
        let mut host = Self {
            folder,
            setup,
            namespace,
            link: format!("ffa{pid}-{made}"),
            address: format!("{net}.{}", at + 2),
            route: format!("{net}.{at}/30"),
            uid: 30_000 + (pid * 4 + made) % 20_000,
            first: None,
            log: Arc::default(),
        };
        if let Err(why) = host.lay_out(&format!("{net}.{}", at + 1)) {
            eprintln!("skipped: this may not make a second host: {}", why.trim());
            return None;
        }
        host.power_on();
        Some(host)
    }

    fn lay_out(&self, here: &str) -> Result<(), String> {
        let Self { namespace, link, address, route, .. } = self;
        let far = link.replace("ffa", "ffb");
        for line in [
            format!("ip link add {link} type veth peer name {far}"),
            format!("ip link set {far} netns {namespace}"),
            format!("ip addr add {here}/30 dev {link}"),
            format!("ip link set {link} up"),
            format!("ip -n {namespace} addr add {address}/30 dev {far}"),
            format!("ip -n {namespace} link set {far} up"),
            format!("ip -n {namespace} link set lo up"),
            // A cut link would send what is for it to the default gateway.
            format!("ip route add blackhole {route} metric 9999"),
        ] {
            system(&line)?;
        }
        let io = |error: std::io::Error| error.to_string();
        let folder = self.folder.path();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(io)?;
        for key in ["host_key", "other_key", "key"] {
            keygen(&folder.join(key))?;
        }
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).map_err(io);
        fs::create_dir_all(self.home().join(".ssh")).map_err(io)?;
        fs::create_dir(folder.join("control")).map_err(io)?;
        let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(io);
        fs::write(self.home().join(".ssh/authorized_keys"), read("key.pub")?).map_err(io)?;
        self.know_key("host_key")?;
        let home = self.home();
        let home = home.display();
        write("passwd", &format!("root:x:0:0::/root:/bin/sh\nfar:x:{0}:{0}::{home}:/bin/sh\n", self.uid))?;
        write("machine-id", "00000000000000000000000000000far\n")?;
        let at = folder.display();
        write(
            "sshd_config",
            &format!(
                "ListenAddress {address}\nPort 2222\nHostKey {at}/host_key\nPidFile none\nAuthorizedKeysFile .ssh/authorized_keys\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel VERBOSE\n{}\n",
                self.setup.sshd.replace("HOME", &home.to_string())
            ),
        )?;
        write(
            "ssh_config",
            &format!(
                "Host far\n HostName {address}\n Port 2222\n User far\n IdentityFile {at}/key\n IdentitiesOnly yes\n \
                 UserKnownHostsFile {at}/known_hosts\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n UpdateHostKeys no\n \
                 KexAlgorithms curve25519-sha256\n"
            ),
        )?;
        write("ssh", &format!("#!/bin/sh\nexec /usr/bin/ssh -F {at}/ssh_config \"$@\"\n"))?;
        fs::set_permissions(folder.join("ssh"), fs::Permissions::from_mode(0o755)).map_err(io)?;
        for own in [
            &self.home(),
            &self.home().join(".ssh"),
            &self.home().join(".ssh/authorized_keys"),
            &folder.join("host_key"),
        ] {
            chown(own, Some(self.uid), Some(self.uid)).map_err(io)?;
        }
        Ok(())
    }

    /// The home of the user there, as it is seen from here.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Makes something the user's there.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub fn give(&self, path: &Path) {
        chown(path, Some(self.uid), Some(self.uid)).expect("another owner");
    }

    /// Which host key is known here.
    pub fn know_key(&self, name: &str) -> Result<(), String> {
        let folder = self.folder.path();
        let key =
            fs::read_to_string(folder.join(name).with_extension("pub")).map_err(|error| error.to_string())?;
        fs::write(folder.join("known_hosts"), format!("[{}]:2222 {key}", self.address))
            .map_err(|error| error.to_string())
    }

    /// Starts its first process, and returns when its sshd listens.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub fn power_on(&mut self) {
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
            .spawn()
            .expect("a second host");
        let mut lines = BufReader::new(first.stderr.take().expect("its messages")).lines();
        let log = Arc::clone(&self.log);
        let note = move |line: String| log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let listens = lines.by_ref().map_while(Result::ok).any(|line| {
            let listens = line.contains("Server listening on");
            note(line);
            listens
        });
        assert!(listens, "no sshd: {:?}", self.log);
        // Read on, so that nobody waits for a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(note));
        self.first = Some(first);
    }

    /// How often somebody signed in.
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

    /// Cuts the network, or joins it again.
    pub fn set_link(&self, state: &str) -> Result<String, String> {
        system(&format!("ip link set {} {state}", self.link))
    }

    /// The processes of the user there, with their arguments.
    pub fn processes(&self) -> Vec<(i32, String)> {
        all_processes()
            .into_iter()
            .filter(|(_, uid, _)| *uid == self.uid)
            .map(|(pid, _, line)| (pid, line))
            .collect()
    }

    /// The processes of ssh that connect to it from here, with their arguments.
    pub fn clients(&self) -> Vec<(i32, String)> {
        let config = self.folder.path().join("ssh_config").display().to_string();
        let all = all_processes().into_iter();
        all.filter(|(_, _, line)| line.contains(&config)).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// Kills what serves the sessions there.
    pub fn kill_sessions(&self) -> usize {
        let sessions = self.processes().into_iter().filter(|(_, line)| line.starts_with("sshd: far"));
        sessions.filter(|(pid, _)| end(*pid)).count()
    }

    /// Kills the relays there.
    pub fn kill_relays(&self) -> usize {
        let relays = self.processes().into_iter().filter(|(_, line)| line.contains("forge-keeper relay"));
        relays.filter(|(pid, _)| end(*pid)).count()
    }

    /// Kills the clients here.
    pub fn kill_clients(&self) -> usize {
        self.clients().into_iter().filter(|(pid, _)| end(*pid)).count()
    }

    /// How it is reached.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
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
}

impl Drop for Host {
    fn drop(&mut self) {
        self.power_off();
        self.kill_clients();
        let _ = system(&format!("ip route del blackhole {} metric 9999", self.route));
        // The link goes with the namespace.
        if let Err(why) = system(&format!("ip netns del {}", self.namespace)) {
            eprintln!("a network namespace is left: {why}");
        }
        let _ = system(&format!("ip link del {}", self.link));
    }
}

fn keygen(key: &Path) -> Result<(), String> {
    let done = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).output();
    let done = done.map_err(|error| error.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// The keeper as the build of this workspace left it.
#[expect(clippy::expect_used, reason = "a helper of tests")]
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

fn end(pid: i32) -> bool {
    kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok()
}

fn all_processes() -> Vec<(i32, u32, String)> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let uid = entry.metadata().ok()?.uid();
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some((pid, uid, String::from_utf8_lossy(&line).replace('\0', " ")))
    })
    .collect()
}
