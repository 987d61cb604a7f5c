//! A cluster of Slurm for tests: a controller, two nodes and a login node, each in a network, processes and a name of its
//! own that have no way out. `munged` listens at a socket in the cluster's folder, and everything else in there alone.
//!
//! Memory and processes of jobs are those of cgroups of version 1. Where one may not be made, tests say so and do nothing.

mod layout;
mod rest;

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
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_exec::Variables;
use forge_machines::{
    KeeperProgram,
    slurm::{SlurmConfig, SlurmSetup, Submit},
};
use rest::{remove_cgroups, sweep, until};
use tempfile::TempDir;

use crate::{host::keeper_program, processes, system::system};

/// How long the cluster may take to be up.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// How long what was ended may be there.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How many seconds the controller may take to save what it knows.
const SAVES_WITHIN: u64 = 6;

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

    /// Kills the controller at once, but not before it has saved that the jobs run: one that comes back without knowing
    /// that begins them again, which their nodes refuse, and cancels them.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill_controller(&self) -> Result<()> {
        until("the controller has saved what it knows", UP_WITHIN, || {
            let times = self.slurm(&["squeue", "--noheader", "--states=running", "--format=%M"])?;
            let is_young = |time: &str| {
                let seconds = time.strip_prefix("0:").and_then(|seconds| seconds.parse::<u64>().ok());
                seconds.is_some_and(|seconds| seconds <= SAVES_WITHIN)
            };
            Ok(!times.lines().any(|time| is_young(time.trim())))
        })?;
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
