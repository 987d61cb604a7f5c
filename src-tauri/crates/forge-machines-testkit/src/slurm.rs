//! A cluster of Slurm for tests: a controller, two nodes and a login node, each in a network, processes and a name of its
//! own that have no way out. `munged` listens at a socket in the cluster's folder, and everything else in there alone.
//!
//! Memory and processes of jobs are those of cgroups of version 1. Where one may not be made, tests say so and do nothing.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_exec::Variables;
use forge_machines::{
    KeeperProgram,
    slurm::{SlurmConfig, SlurmSetup, Submit},
};
use tempfile::TempDir;

use crate::{host::keeper_program, processes, system::system};

/// How long the cluster may take to be up.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// How long what was ended may be there.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// From one look to the next.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Where the memory and the processes of jobs are limited and found.
const CGROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/freezer"];

/// The commands of Slurm, which a stand-in runs on the login node.
const COMMANDS: [&str; 7] = ["sbatch", "squeue", "scontrol", "srun", "scancel", "sinfo", "sacct"];

/// The nodes of a cluster; there is a processor and some memory on each.
const NODES: [u32; 2] = [1, 2];

/// A cluster. Nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// Its configuration, and what its nodes share with this computer.
    pub folder: TempDir,
    name: String,
    munged: Option<Child>,
    /// The first processes of the controller's host and of the nodes'.
    firsts: BTreeMap<String, Child>,
}

impl Cluster {
    /// A cluster that runs; none where this may not be done, with the reason on standard error.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::possible().inspect_err(|why| eprintln!("skipped: {why:#}")).ok()?;
        #[expect(clippy::expect_used, reason = "a helper of tests")]
        Some(Self::begin().expect("a cluster of Slurm"))
    }

    fn possible() -> Result<()> {
        ensure!(nix::unistd::Uid::effective().is_root(), "only root makes a cluster of Slurm");
        for needed in ["slurmctld", "slurmd", "munged"] {
            ensure!(Path::new("/usr/sbin").join(needed).exists(), "/usr/sbin/{needed} is missing");
        }
        for needed in CGROUPS {
            ensure!(
                Path::new(needed).is_dir(),
                "{needed} is missing: jobs are limited by cgroups of version 1"
            );
        }
        let probe = format!("forge-slurm-probe-{}", std::process::id());
        system(&format!("ip netns add {probe}")).context("this may not make network namespaces")?;
        system(&format!("ip netns del {probe}")).map(drop)
    }

    fn begin() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        sweep();
        let name = format!("f{}x{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let mut cluster = Self { folder, name, munged: None, firsts: BTreeMap::new() };
        cluster.lay_out()?;
        cluster.start_munged()?;
        for host in ["ctl".to_owned(), cluster.node(1), cluster.node(2)] {
            cluster.power_on_host(&host)?;
        }
        cluster.start_controller()?;
        for node in NODES {
            cluster.start_slurmd(node)?;
        }
        cluster.until_nodes("idle", 2)?;
        Ok(cluster)
    }

    /// The name of a node.
    #[must_use]
    pub fn node(&self, number: u32) -> String {
        format!("{}n{number}", self.name)
    }

    fn namespace(&self, host: &str) -> String {
        format!("forge-slurm-{}-{}", self.name, host.trim_start_matches(&self.name))
    }

    fn lay_out(&self) -> Result<()> {
        let controller = self.namespace("ctl");
        system(&format!("ip netns add {controller}"))?;
        for line in
            ["link add br0 type bridge", "addr add 10.99.0.1/24 dev br0", "link set br0 up", "link set lo up"]
        {
            system(&format!("ip -n {controller} {line}"))?;
        }
        for number in NODES {
            let node = self.namespace(&self.node(number));
            system(&format!("ip netns add {node}"))?;
            for line in [
                format!("ip -n {controller} link add v{number} type veth peer name eth0 netns {node}"),
                format!("ip -n {controller} link set v{number} master br0 up"),
                format!("ip -n {node} addr add 10.99.0.1{number}/24 dev eth0"),
                format!("ip -n {node} link set eth0 up"),
                format!("ip -n {node} link set lo up"),
            ] {
                system(&line)?;
            }
        }
        let at = self.folder.path();
        for made in ["munge", "state", "bin", "shared", "control"] {
            fs::create_dir(at.join(made))?;
        }
        let mut hosts = "127.0.0.1 localhost\n10.99.0.1 ctl\n".to_owned();
        for number in NODES {
            fs::create_dir_all(at.join(self.node(number)).join("spool"))?;
            hosts.push_str(&format!("10.99.0.1{number} {}\n", self.node(number)));
        }
        fs::write(at.join("hosts"), hosts)?;
        fs::write(at.join("slurm.conf"), self.configuration())?;
        fs::write(
            at.join("cgroup.conf"),
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainSwapSpace=no\n",
        )?;
        for command in COMMANDS {
            self.stand_in(command, &format!("/usr/bin/{command}"))?;
        }
        self.lay_out_login()
    }

    /// A login node is an sshd that `ssh` starts by itself, on the host of the controller.
    fn lay_out_login(&self) -> Result<()> {
        let at = self.folder.path();
        for key in ["host_key", "key"] {
            let done = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at.join(key))
                .status()?;
            ensure!(done.success(), "ssh-keygen failed");
        }
        let folder = at.display();
        fs::write(
            at.join("sshd_config"),
            format!(
                "HostKey {folder}/host_key\nPidFile none\nAuthorizedKeysFile {folder}/key.pub\nStrictModes no\nUsePAM no\n\
                 PermitRootLogin yes\nPasswordAuthentication no\nSetEnv SLURM_CONF={folder}/slurm.conf\n"
            ),
        )?;
        let key = fs::read_to_string(at.join("host_key.pub"))?;
        fs::write(at.join("known_hosts"), format!("login {key}"))?;
        self.stand_in("login", &format!("/usr/sbin/sshd -i -f {folder}/sshd_config"))
    }

    /// A program that runs another one on the host of the controller.
    fn stand_in(&self, name: &str, program: &str) -> Result<()> {
        let (folder, namespace) = (self.folder.path().display(), self.namespace("ctl"));
        let path = self.folder.path().join("bin").join(name);
        let script = format!(
            "#!/bin/sh\nexport SLURM_CONF={folder}/slurm.conf\n\
             exec nsenter --net=/run/netns/{namespace} unshare --mount sh -c 'mount --bind {folder}/hosts /etc/hosts; exec \"$@\"' sh {program} \"$@\"\n"
        );
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn configuration(&self) -> String {
        let (at, name) = (self.folder.path().display(), &self.name);
        let mut text = format!(
            "ClusterName={name}\nSlurmctldHost=ctl(10.99.0.1)\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge/socket\nSlurmctldPort=6817\nSlurmdPort=6818\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/%n/spool\nSlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n/slurmd.pid\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n/slurmd.log\nMailProg=/bin/true\n\
             ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=5\nSlurmctldTimeout=5\nInactiveLimit=0\nKillWait=2\n\
             MessageTimeout=5\nMinJobAge=300\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\nJobRequeue=1\nCompleteWait=0\n"
        );
        for number in NODES {
            let node = self.node(number);
            text.push_str(&format!("NodeName={node} NodeAddr=10.99.0.1{number} Sockets=2 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=1024\n"));
        }
        let nodes = NODES.map(|number| self.node(number)).join(",");
        text.push_str(&format!("PartitionName=main Nodes={nodes} Default=YES MaxTime=INFINITE State=UP\n"));
        text.push_str(&format!("PartitionName=short Nodes={nodes} MaxTime=1 State=UP\n"));
        text
    }

    fn start_munged(&mut self) -> Result<()> {
        let folder = self.folder.path().join("munge");
        fs::write(folder.join("key"), [7; 1024])?;
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o600))?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))?;
        let at = folder.display();
        system(&format!("chown -R munge:munge {at}"))?;
        let file = |name: &str, file: &str| format!("--{name}={at}/{file}");
        let munged = Command::new("setpriv")
            .args([
                "--reuid",
                "munge",
                "--regid",
                "munge",
                "--clear-groups",
                "munged",
                "--foreground",
                "--num-threads=2",
            ])
            .args([file("socket", "socket"), file("key-file", "key"), file("log-file", "log")])
            .args([file("pid-file", "pid"), file("seed-file", "seed"), "--origin=127.0.0.1".to_owned()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.munged = Some(munged);
        let socket = folder.join("socket");
        until("munged listens", UP_WITHIN, || Ok(socket.exists()))
    }

    /// Starts the first process of a host, which takes the ends of others and does nothing else.
    fn power_on_host(&mut self, host: &str) -> Result<()> {
        let folder = self.folder.path().display();
        let ready = self.folder.path().join(format!("{host}.up"));
        let _ = fs::remove_file(&ready);
        // What it is said first for tells later tests whose it was.
        let script = format!(
            ": forge-slurm-{}; hostname {host}; mount --bind {folder}/hosts /etc/hosts; touch {}; while :; do wait; sleep 1; done",
            self.name,
            ready.display()
        );
        let first = Command::new("nsenter")
            .arg(format!("--net=/run/netns/{}", self.namespace(host)))
            .args([
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--uts",
                "--mount",
                "sh",
                "-c",
                &script,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.firsts.insert(host.to_owned(), first);
        until(&format!("{host} is up"), UP_WITHIN, || Ok(ready.exists()))
    }

    /// The first process of a host as this computer numbers it.
    fn first_of(&self, host: &str) -> Result<u32> {
        let outer = self.firsts.get(host).with_context(|| format!("{host} is off"))?.id();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"))?;
        children.split_whitespace().next().and_then(|pid| pid.parse().ok()).context("no first process")
    }

    /// Starts a service of Slurm on a host.
    fn start_service(&self, host: &str, words: &[&str]) -> Result<()> {
        let target = self.first_of(host)?.to_string();
        let done = Command::new("nsenter")
            .args(["--target", &target, "--net", "--pid", "--mount", "--uts"])
            .args(words)
            .env("SLURM_CONF", self.folder.path().join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(done.success(), "{} does not start: {:?}", words.join(" "), self.log(host));
        Ok(())
    }

    fn log(&self, host: &str) -> String {
        let file = if host == "ctl" { "ctld.log".to_owned() } else { format!("{host}/slurmd.log") };
        fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    /// Starts the controller.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_controller(&self) -> Result<()> {
        self.start_service("ctl", &["slurmctld"])?;
        until("the controller answers", UP_WITHIN, || {
            Ok(self.slurm(&["scontrol", "ping"]).is_ok_and(|said| said.contains(" UP")))
        })
    }

    /// Kills the controller at once.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill_controller(&self) -> Result<()> {
        self.kill("slurmctld", "ctld.pid")
    }

    /// Starts the program of Slurm on a node.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_slurmd(&self, number: u32) -> Result<()> {
        let node = self.node(number);
        self.start_service(&node, &["slurmd", "-N", &node])
    }

    /// Kills the program of Slurm on a node. Its jobs go on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill_slurmd(&self, number: u32) -> Result<()> {
        let node = self.node(number);
        self.kill(&format!("slurmd -N {node}"), &format!("{node}/slurmd.pid"))
    }

    /// Kills the processes with this in their arguments that are of this cluster.
    fn kill(&self, text: &str, pid_file: &str) -> Result<()> {
        let namespace =
            if text.contains(&self.name) { text.rsplit(' ').next().unwrap_or_default() } else { "ctl" };
        let net = fs::metadata(format!("/run/netns/{}", self.namespace(namespace)))?.ino();
        let is_here =
            |pid: i32| fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|found| found.ino() == net);
        let found: Vec<i32> = processes::all()
            .into_iter()
            .filter(|(pid, _, line)| line.trim_end().ends_with(text) && is_here(*pid))
            .map(|(pid, _, _)| pid)
            .collect();
        ensure!(!found.is_empty(), "`{text}` does not run");
        for pid in &found {
            processes::end(*pid);
        }
        let _ = fs::remove_file(self.folder.path().join(pid_file));
        until("it is gone", ENDS_WITHIN, || {
            Ok(found.iter().all(|pid| !Path::new("/proc").join(pid.to_string()).join("fd/0").exists()))
        })
    }

    /// Ends everything that runs on a node at once.
    pub fn power_off(&mut self, number: u32) {
        let node = self.node(number);
        self.power_off_host(&node);
    }

    fn power_off_host(&mut self, host: &str) {
        if let Some(mut first) = self.firsts.remove(host) {
            let _ = first.kill();
            let _ = first.wait();
        }
    }

    /// Starts a node that was powered off.
    ///
    /// # Errors
    /// When it does not start.
    pub fn power_on(&mut self, number: u32) -> Result<()> {
        let node = self.node(number);
        remove_cgroups(&node);
        self.power_on_host(&node)?;
        self.start_slurmd(number)
    }

    /// Runs a command of Slurm. What it printed, when it did what it should.
    ///
    /// # Errors
    /// When it did not.
    pub fn slurm(&self, words: &[&str]) -> Result<String> {
        let (program, arguments) = words.split_first().context("no command")?;
        let done = Command::new(self.folder.path().join("bin").join(program)).args(arguments).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{}: {}", words.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Waits until so many nodes are in a state.
    ///
    /// # Errors
    /// When they do not come to it.
    pub fn until_nodes(&self, state: &str, count: usize) -> Result<()> {
        until(&format!("{count} nodes are {state}"), UP_WITHIN, || {
            let told = self.slurm(&["sinfo", "--noheader", "-N", "--partition=main", "--format=%T"])?;
            Ok(told.lines().filter(|line| line.trim() == state).count() == count)
        })
    }

    /// The jobs that are not over, with their states.
    ///
    /// # Errors
    /// When Slurm does not tell.
    pub fn jobs(&self) -> Result<Vec<(u64, String)>> {
        let told = self.slurm(&["squeue", "--noheader", "--format=%A %T"])?;
        let read = |line: &str| {
            let (job, state) = line.trim().split_once(' ')?;
            Some((job.parse().ok()?, state.to_owned()))
        };
        Ok(told.lines().filter_map(read).collect())
    }

    /// Jobs of a machine of this test's own.
    ///
    /// # Panics
    /// When the keeper is not built.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    #[must_use]
    pub fn setup(&self, config: SlurmConfig) -> SlurmSetup {
        SlurmSetup {
            config,
            root: self.root(),
            owner: self.owner().to_owned(),
            keepers: vec![KeeperProgram::read(&keeper_program()).expect("the keeper's program")],
            submit: Submit::Here(Arc::new(self.environment())),
        }
    }

    /// Whose jobs those of the test are.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.name
    }

    /// A job that leaves room for others.
    #[must_use]
    pub fn small() -> SlurmConfig {
        SlurmConfig { cpus: Some(1), memory_mb: Some(256), ..SlurmConfig::default() }
    }

    /// The folder of Forge that the nodes share with this computer.
    #[must_use]
    pub fn root(&self) -> String {
        self.folder.path().join("shared").display().to_string()
    }

    /// Where the commands of Slurm are found.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn environment(&self) -> Variables {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", self.programs().display());
        let variables = [
            ("PATH", path),
            ("HOME", self.folder.path().display().to_string()),
            ("FORGE_TEST_OWN", "here".to_owned()),
        ];
        variables.map(|(name, value)| (name.into(), value.into())).into()
    }

    /// The way to the login node for whoever starts `ssh`.
    #[must_use]
    pub fn login(&self) -> forge_machines::MachineConfig {
        let at = self.folder.path().display();
        let options = [
            format!("ProxyCommand={at}/bin/login"),
            format!("UserKnownHostsFile={at}/known_hosts"),
            "StrictHostKeyChecking=yes".to_owned(),
            "UpdateHostKeys=no".to_owned(),
        ];
        forge_machines::MachineConfig {
            ssh: forge_machines::SshConfig {
                host: "login".to_owned(),
                user: Some("root".to_owned()),
                identity_file: Some(self.folder.path().join("key")),
                options: options.into(),
                ..forge_machines::SshConfig::default()
            },
            root: self.root(),
            owner: format!("{}l", self.name),
            keepers: self.setup(SlurmConfig::default()).keepers,
            control_folder: self.folder.path().join("control"),
            program: "ssh".into(),
            environment: Arc::new([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into()),
            known_as: None,
        }
    }

    /// The processes of this cluster that have something in their arguments.
    #[must_use]
    pub fn running(&self, text: &str) -> Vec<(i32, String)> {
        let all = processes::all().into_iter();
        all.filter(|(_, _, line)| line.contains(text)).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// Kills what connects to jobs of this cluster from here. How many that were.
    pub fn kill_clients(&self) -> usize {
        let clients = self.running("/usr/bin/srun --jobid=").into_iter();
        clients.filter(|(pid, _)| self.is_of_this(*pid) && processes::end(*pid)).count()
    }

    fn is_of_this(&self, pid: i32) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let own = self.folder.path().display().to_string();
        environment.windows(own.len()).any(|window| window == own.as_bytes())
    }

    /// Takes it away, and checks that nothing of it is left.
    ///
    /// # Errors
    /// When something is.
    pub fn close(self) -> Result<()> {
        let (name, folder) = (self.name.clone(), self.folder.path().to_owned());
        drop(self);
        let own = folder.display().to_string();
        until("no process of the cluster is left", ENDS_WITHIN, || {
            Ok(!processes::all().iter().any(|(_, _, line)| line.contains(&own)))
        })?;
        ensure!(
            !system("ip netns list")?.contains(&format!("forge-slurm-{name}-")),
            "a network namespace is left"
        );
        let left = NODES.iter().flat_map(|number| CGROUPS.map(|at| format!("{at}/slurm_{name}n{number}")));
        let left: Vec<String> = left.filter(|path| Path::new(path).exists()).collect();
        ensure!(left.is_empty(), "cgroups are left: {left:?}");
        ensure!(!folder.exists(), "the folder {own} is left");
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let hosts: Vec<String> = self.firsts.keys().cloned().collect();
        hosts.iter().for_each(|host| self.power_off_host(host));
        self.kill_clients();
        let own = self.folder.path().display().to_string();
        if let Some(mut munged) = self.munged.take() {
            let _ = munged.kill();
            let _ = munged.wait();
        }
        // Keepers here that looked at what jobs left, and sessions with the login node.
        for (pid, _, line) in processes::all() {
            if line.contains(&own) {
                processes::end(pid);
            }
        }
        for host in ["ctl".to_owned(), self.node(1), self.node(2)] {
            if let Err(why) = system(&format!("ip netns del {}", self.namespace(&host))) {
                eprintln!("a network namespace is left: {why}");
            }
        }
        for number in NODES {
            remove_cgroups(&self.node(number));
        }
    }
}

/// Removes the cgroups of a node whose processes were ended. One that ended just now may be in them for a moment.
fn remove_cgroups(node: &str) {
    let roots = CGROUPS.map(|at| PathBuf::from(at).join(format!("slurm_{node}")));
    let _ = until("cgroups are gone", ENDS_WITHIN, || {
        roots.iter().filter(|root| root.is_dir()).for_each(|root| remove_folders(root));
        Ok(!roots.iter().any(|root| root.exists()))
    });
}

fn remove_folders(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    entries.flatten().filter(|entry| entry.path().is_dir()).for_each(|entry| remove_folders(&entry.path()));
    let _ = fs::remove_dir(folder);
}

/// Takes away the clusters of tests that were killed.
fn sweep() {
    let is_gone = |name: &str| {
        let pid = name.split('x').next().unwrap_or_default();
        pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
    };
    for (pid, _, line) in processes::all() {
        let first = line.split_once(": forge-slurm-f").filter(|_| line.starts_with("unshare "));
        if first.is_some_and(|(_, rest)| is_gone(rest)) {
            processes::end(pid);
        }
    }
    for name in system("ip netns list").unwrap_or_default().lines().filter_map(|line| line.split(' ').next())
    {
        let Some(rest) = name.strip_prefix("forge-slurm-f") else { continue };
        if is_gone(rest) {
            let _ = system(&format!("ip netns del {name}"));
        }
    }
}

fn until(what: &str, within: Duration, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    loop {
        match is() {
            Ok(true) => return Ok(()),
            Ok(false) if begun.elapsed() > within => bail!("{what}: not within {} s", within.as_secs()),
            Err(error) if begun.elapsed() > within => return Err(error.context(what.to_owned())),
            _ => sleep(LOOKS_EVERY),
        }
    }
}
