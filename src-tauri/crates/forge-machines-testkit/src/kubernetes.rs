//! Kubernetes for tests: a server that gives the answers of one, and pods that are processes, mounts and a name of their own
//! on this computer.
//!
//! No real cluster is behind it. The client is a real `kubectl`, which speaks plain HTTP with the server for everything but
//! `exec`: that takes a protocol which the server does not have, so a stand-in of `kubectl` on the search path asks the
//! server by the real one whether the pod runs, and then enters its namespaces. What the server answers was written down
//! after the answers of real ones; when pods run, wait and end is what a test says.

mod answers;
mod objects;
mod pods;

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_exec::Variables;
use forge_machines::{
    KeeperProgram,
    kubernetes::{KubernetesConfig, KubernetesSetup},
};
use objects::Objects;
use serde_json::Value;
use tempfile::TempDir;

use crate::{host::keeper_program, processes};

/// How long what was ended may be there.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// From one look to the next.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// The namespace that there is.
pub const NAMESPACE: &str = "agents";

/// What becomes of the pods of Jobs that are created.
#[derive(Debug, Clone, PartialEq)]
pub enum Pods {
    /// They run.
    Run,
    /// They are there and wait, with this status.
    Wait(Value),
    /// None is made, and an event says this.
    AreRefused(String),
}

/// How a pod ends.
#[derive(Debug, Clone, PartialEq)]
pub enum PodEnd {
    /// By itself, with this status beside its phase.
    Failed(Value),
    /// Its node does not answer: its programs go on, and it is about to be deleted.
    NodeLost,
    /// The cluster takes it from its node for this reason: it is about to go at the next look, and gone at the one after.
    Taken(&'static str),
    /// It is there no more.
    Gone,
}

/// How the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As it should.
    Well,
    /// That nobody is signed in.
    Unauthorized,
    /// That this is forbidden.
    Forbidden,
    /// That something is wrong with it.
    Broken,
    /// Never.
    Never,
    /// It takes Jobs, and never says so.
    Mute,
}

/// A server with its Jobs and pods. Nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct FakeKubernetes {
    /// Its pods, the configuration of `kubectl`, and what else a test has here.
    pub folder: TempDir,
    objects: Arc<Mutex<Objects>>,
    address: SocketAddr,
    server: Option<Server>,
}

/// The thread that answers.
#[derive(Debug)]
struct Server {
    stop: tokio::sync::oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl FakeKubernetes {
    /// A server that answers; none where pods may not be made, with the reason on standard error.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::possible().inspect_err(|why| eprintln!("skipped: {why:#}")).ok()?;
        #[expect(clippy::expect_used, reason = "a helper of tests")]
        Some(Self::begin().expect("a server of Kubernetes"))
    }

    fn possible() -> Result<()> {
        ensure!(nix::unistd::Uid::effective().is_root(), "only root makes the namespaces of pods");
        for needed in ["kubectl", "unshare", "nsenter", "mount"] {
            ensure!(found(needed).is_some(), "`{needed}` is missing");
        }
        Ok(())
    }

    fn begin() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["bin", "home", "pods", "forge"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let objects = Objects::new(folder.path().to_owned());
        let mut cluster = Self { objects: Arc::new(Mutex::new(objects)), address, server: None, folder };
        cluster.write_client()?;
        cluster.up()?;
        Ok(cluster)
    }

    /// Writes the configuration of `kubectl`, and the stand-in.
    fn write_client(&self) -> Result<()> {
        let at = self.folder.path().display();
        self.lead_to(self)?;
        let real = found("kubectl").context("`kubectl` is missing")?;
        let script = format!(
            r#"#!/bin/sh
real={real}
options=
for word; do
case $word in --*) options="$options $word";; *) break;; esac
done
[ "$word" = exec ] || exec "$real" "$@"
while [ "$1" != exec ]; do shift; done
shift
while [ "$1" != -- ]; do
case $1 in -i) ;; -c) shift;; *) pod=$1;; esac
shift
done
shift
phase=$("$real" $options get pod "$pod" --output='jsonpath={{.status.phase}}') || exit 1
[ "$phase" = Running ] || {{ echo "error: cannot exec into a container in a completed pod; current phase is $phase" >&2; exit 1; }}
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root HOSTNAME="$pod" \
nsenter --target "$(cat {at}/pods/"$pod"/pid)" --mount --pid --uts -- "$@"
"#,
            real = real.display()
        );
        let stand_in = self.programs().join("kubectl");
        fs::write(&stand_in, script)?;
        fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Has the configuration of this one's `kubectl` lead to another one, as a person does who works with several.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn lead_to(&self, other: &Self) -> Result<()> {
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: other\nclusters:\n- name: here\n  cluster: {{server: 'http://{}'}}\n\
             contexts:\n- name: here\n  context: {{cluster: here, user: me}}\nusers:\n- name: me\n  user: {{token: t0ken-of-the-cluster}}\n",
            other.address
        );
        fs::write(self.kubeconfig(), config)?;
        Ok(())
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the server answer again, where it did before.
    ///
    /// # Errors
    /// When the port was taken meanwhile.
    pub fn up(&mut self) -> Result<()> {
        let listener = TcpListener::bind(self.address)?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let objects = Arc::clone(&self.objects);
        let thread = std::thread::spawn(move || answers::serve(listener, objects, stopped));
        self.server = Some(Server { stop, thread });
        Ok(())
    }

    /// Has nobody answer. The connections with pods are cut, and what runs in them goes on.
    pub fn down(&mut self) {
        if let Some(Server { stop, thread }) = self.server.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
        self.kill_clients();
    }

    /// Has the server answer in some way from now on.
    pub fn answer(&self, how: Answers) {
        self.objects().how = how;
    }

    /// What becomes of the pods of Jobs from now on, of those that wait also.
    ///
    /// # Errors
    /// When a pod cannot be made.
    pub fn pods(&self, pods: Pods) -> Result<()> {
        self.objects().change(pods)
    }

    /// Ends all pods that run.
    pub fn end_pods(&self, end: &PodEnd) {
        self.objects().end_all(end);
    }

    /// Deletes all Jobs, as a person does who does not wait for their pods.
    pub fn delete_jobs(&self) {
        self.objects().delete_all();
    }

    /// The names of the Jobs that there are.
    #[must_use]
    pub fn jobs(&self) -> Vec<String> {
        self.objects().jobs.keys().cloned().collect()
    }

    /// How many Jobs were ever created.
    #[must_use]
    pub fn created(&self) -> usize {
        self.objects().created
    }

    /// All that the server was sent.
    #[must_use]
    pub fn sent(&self) -> String {
        self.objects().sent.join("\n")
    }

    /// The configuration of `kubectl`. Its current context is not the one that leads here.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Where the stand-in of `kubectl` is found.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// The folder of Forge, of which each pod sees one of its own.
    #[must_use]
    pub fn root(&self) -> String {
        self.folder.path().join("forge").display().to_string()
    }

    /// What a Job asks for.
    #[must_use]
    pub fn config(&self) -> KubernetesConfig {
        KubernetesConfig {
            context: Some("here".to_owned()),
            kubeconfig: Some(self.kubeconfig().display().to_string()),
            namespace: NAMESPACE.to_owned(),
            image: "registry.example/agent:1".to_owned(),
            ..KubernetesConfig::default()
        }
    }

    /// Jobs of a machine of this test's own.
    ///
    /// # Panics
    /// When the keeper is not built.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    #[must_use]
    pub fn setup(&self, config: KubernetesConfig) -> KubernetesSetup {
        KubernetesSetup {
            config,
            root: self.root(),
            owner: "owner1".to_owned(),
            keepers: vec![KeeperProgram::read(&keeper_program()).expect("the keeper's program")],
            environment: Arc::new(self.environment()),
        }
    }

    fn environment(&self) -> Variables {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", self.programs().display());
        let variables = [
            ("PATH", path),
            ("HOME", self.folder.path().join("home").display().to_string()),
            ("FORGE_TEST_OWN", "here".to_owned()),
        ];
        variables.map(|(name, value)| (name.into(), value.into())).into()
    }

    /// Kills what connects to pods from here. How many that were.
    pub fn kill_clients(&self) -> usize {
        let targets = self.objects().first_pids();
        let is_client = |line: &str| {
            let target = line.strip_prefix("nsenter --target ").and_then(|rest| rest.split(' ').next());
            target.and_then(|pid| pid.parse().ok()).is_some_and(|pid: u32| targets.contains(&pid))
        };
        let clients = processes::all().into_iter().filter(|(_, _, line)| is_client(line));
        clients.filter(|(pid, _, _)| processes::end(*pid)).count()
    }

    /// The processes that have something in their arguments.
    #[must_use]
    pub fn running(&self, text: &str) -> Vec<(i32, String)> {
        let all = processes::all().into_iter();
        all.filter(|(_, _, line)| line.contains(text)).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// Takes it away, and checks that no Job and no process of it is left.
    ///
    /// # Errors
    /// When something is.
    pub fn close(self) -> Result<()> {
        let (jobs, own) = (self.jobs(), self.folder.path().display().to_string());
        ensure!(jobs.is_empty(), "Jobs are left: {jobs:?}");
        drop(self);
        let begun = Instant::now();
        loop {
            let left: Vec<String> =
                processes::all().into_iter().map(|it| it.2).filter(|line| line.contains(&own)).collect();
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > ENDS_WITHIN {
                bail!("processes are left: {left:?}");
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }
}

impl Drop for FakeKubernetes {
    fn drop(&mut self) {
        self.down();
        self.objects().end_all(&PodEnd::Gone);
    }
}

/// A program on the search path of whoever runs the tests.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| Path::new(file).is_file())
}
