//! podman for tests: with a storage of its own, as root or as an ordinary user, and an image that has git.
//!
//! The image is made once by debootstrap and kept in a folder outside of the repository, since that takes a minute; so is
//! the storage, until the computer restarts. Of what a test makes in it nothing is left.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_machines::{
    KeeperProgram,
    container::{ContainerConfig, ContainerSetup, EngineChoice, ImageSource, Programs},
};
use tempfile::TempDir;

use crate::{host::keeper_program, processes, system::system};

/// The image with git and little else.
pub const BASE: &str = "localhost/forge-test-base:1";

/// What is kept for later tests. podman takes short paths only.
const CACHE: &str = "/var/cache/forge-tests";

/// What the image is made from.
const BASE_TAR: &str = "/var/cache/forge-tests/base-1.tar";

/// The ordinary user that runs podman.
const USER: u32 = 29_000;

/// The first of the users that are this user's own, and how many these are.
const SUB_USERS: &str = "500000:65536";

/// How long processes that were ended may be there.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// podman with a storage that tests share.
#[derive(Debug)]
pub struct Podman {
    /// What the test writes, which containers and their user may read.
    pub folder: TempDir,
    owner: String,
    state: PathBuf,
    is_rootless: bool,
    /// No two tests at once import the image, or share a user's processes.
    lock: Option<fs::File>,
}

impl Podman {
    /// podman as root; none where that may not be done, with the reason on standard error.
    #[must_use]
    pub fn rootful() -> Option<Self> {
        Self::start(false).inspect_err(|why| eprintln!("skipped: {why:#}")).ok().map(Self::with_image)
    }

    /// podman as an ordinary user, likewise. One test has it at a time.
    #[must_use]
    pub fn rootless() -> Option<Self> {
        Self::start(true).inspect_err(|why| eprintln!("skipped: {why:#}")).ok().map(Self::with_image)
    }

    fn start(is_rootless: bool) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        ensure!(Path::new("/usr/bin/podman").exists(), "/usr/bin/podman is missing");
        if is_rootless {
            for needed in ["/usr/bin/newuidmap", "/etc/subuid", "/etc/subgid"] {
                ensure!(Path::new(needed).exists(), "{needed} is missing");
            }
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let kind = if is_rootless { "user" } else { "root" };
        let state = Path::new(CACHE).join(format!("{kind}-{}", boot.split('-').next().unwrap_or_default()));
        base_system()?;
        let lock = fs::File::create(Path::new(CACHE).join(format!("{kind}.lock")))?;
        lock.lock()?;
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        // As the owner of an engine's containers may be called: letters and digits.
        let owner = format!("t{}x{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Ok(Self { folder, owner, state, is_rootless, lock: Some(lock) })
    }

    /// What was needed is there: from here on, what does not work is a failure.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    fn with_image(mut self) -> Self {
        self.lay_out().expect("a program that stands in for podman");
        self.import().expect("an image of containers");
        self.sweep_earlier();
        if !self.is_rootless {
            self.lock = None;
        }
        self
    }

    /// Writes the program that stands in for podman.
    fn lay_out(&self) -> Result<()> {
        let (at, state) = (self.folder.path().display(), self.state.display());
        // Debian's crun refuses cgroups of both versions at once, and limits may not be raised everywhere.
        fs::write(
            self.folder.path().join("containers.conf"),
            "[containers]\ndefault_ulimits=[\"nofile=1024:20000\",\"nproc=1024:1024\"]\n\
             [engine]\nruntime=\"runc\"\ncgroup_manager=\"cgroupfs\"\nevents_logger=\"file\"\n",
        )?;
        let podman = format!(
            "/usr/bin/podman --root {state}/storage --runroot {state}/run --tmpdir {state}/tmp \"$@\""
        );
        let script = if self.is_rootless {
            for (name, line) in [
                ("passwd", format!("root:x:0:0::/root:/bin/sh\nfar:x:{USER}:{USER}::{state}/home:/bin/sh\n")),
                ("group", format!("root:x:0:\nfar:x:{USER}:\n")),
                ("subuid", format!("far:{SUB_USERS}\n")),
                ("subgid", format!("far:{SUB_USERS}\n")),
            ] {
                fs::write(self.folder.path().join(name), line)?;
            }
            format!(
                "#!/bin/sh\nexec unshare --mount sh -c 'for f in passwd group subuid subgid; do mount --bind {at}/$f /etc/$f; done\n\
                 cd /; exec setpriv --reuid {USER} --regid {USER} --clear-groups env HOME={state}/home XDG_RUNTIME_DIR={state}/runtime \
                 CONTAINERS_CONF={at}/containers.conf {podman}' podman \"$@\"\n"
            )
        } else {
            format!("#!/bin/sh\nexport CONTAINERS_CONF={at}/containers.conf\nexec {podman}\n")
        };
        let temporary = self.folder.path().join("tmp");
        fs::create_dir(&temporary)?;
        fs::set_permissions(temporary, fs::Permissions::from_mode(0o777))?;
        fs::write(self.program(), script)?;
        fs::set_permissions(self.program(), fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Makes sure that the image is in the storage.
    fn import(&self) -> Result<()> {
        if self.state.is_dir() && self.podman(&["image", "exists", BASE]).is_ok() {
            return Ok(());
        }
        // Storages of before the computer was restarted are of no use.
        let kind = self.state.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = kind.split('-').next().unwrap_or_default().to_owned();
        for entry in fs::read_dir(CACHE)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name.starts_with(&format!("{kind}-")) {
                system(&format!("rm -rf --one-file-system {}", path.display()))?;
            }
        }
        for name in ["", "home", "runtime"] {
            let path = self.state.join(name);
            fs::create_dir_all(&path)?;
            if self.is_rootless {
                chown(&path, Some(USER), Some(USER))?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
            }
        }
        self.podman(&["import", "--quiet", BASE_TAR, BASE]).map(drop)
    }

    /// Removes what tests left that were killed.
    fn sweep_earlier(&self) {
        let form = "{{.Names}} {{.ID}}";
        for line in self.podman(&["ps", "--all", "--format", form]).unwrap_or_default().lines() {
            let Some((name, id)) = line.split_once(' ') else { continue };
            if is_of_ended(name, "forge-t") {
                let _ = self.podman(&["rm", "--force", "--time", "0", id]);
            }
        }
        let form = "{{.Repository}}:{{.Tag}}";
        for name in self.podman(&["images", "--format", form]).unwrap_or_default().lines() {
            if is_of_ended(name, "localhost/forge-t") {
                let _ = self.podman(&["image", "rm", "--force", name]);
            }
        }
    }

    /// Whose containers the test's own are.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The program that stands in for podman.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.folder.path().join("podman")
    }

    /// Runs podman. What it printed, when it did what it should.
    ///
    /// # Errors
    /// When it did not.
    pub fn podman(&self, arguments: &[&str]) -> Result<String> {
        let done = Command::new(self.program()).args(arguments).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "podman {}: {}", arguments.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// The containers of a machine of this test's own.
    ///
    /// # Panics
    /// When the keeper is not built.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    #[must_use]
    pub fn setup(&self, config: ContainerConfig) -> ContainerSetup {
        let folder = self.folder.path();
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin".into()),
            ("HOME", folder.as_os_str().to_owned()),
            ("TMPDIR", folder.join("tmp").into_os_string()),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value));
        ContainerSetup {
            config: ContainerConfig { engine: EngineChoice::Podman, ..config },
            root: "~/.forge".to_owned(),
            owner: self.owner.clone(),
            machine: "m".to_owned(),
            keepers: vec![KeeperProgram::read(&keeper_program()).expect("the keeper's program")],
            keepers_folder: folder.join("keepers"),
            programs: Programs { podman: self.program().into(), ..Programs::default() },
            environment: Arc::new(BTreeMap::from(variables)),
        }
    }

    /// Containers of the image with git, which reach nothing.
    #[must_use]
    pub fn config(&self) -> ContainerConfig {
        let network = forge_machines::container::Network::None;
        ContainerConfig { network, ..ContainerConfig::of(ImageSource::Named(BASE.to_owned())) }
    }

    /// The processes here and in containers that have something in their arguments.
    #[must_use]
    pub fn running(&self, text: &str) -> Vec<(i32, String)> {
        let all = processes::all().into_iter();
        all.filter(|(_, _, line)| line.contains(text)).map(|(pid, _, line)| (pid, line)).collect()
    }

    /// Kills what connects to containers of this test from here. How many that were.
    pub fn kill_clients(&self) -> usize {
        let mine = format!("exec --interactive forge-{}-", self.owner);
        let clients = self.running(&mine).into_iter().filter(|(_, line)| !line.contains("conmon"));
        clients.filter(|(pid, _)| processes::end(*pid)).count()
    }

    /// Kills the relays in containers of this test. How many that were.
    pub fn kill_relays(&self) -> usize {
        let relays = self.running(&format!("/.forge/keepers/{}", self.owner)).into_iter();
        let relays = relays.filter(|(_, line)| line.contains("forge-keeper relay"));
        relays.filter(|(pid, _)| processes::end(*pid)).count()
    }

    /// Takes away what the test made.
    fn clean(&self) -> Result<()> {
        let owner = format!("label=forge.owner={}", self.owner);
        for id in self.podman(&["ps", "--all", "--quiet", "--filter", &owner])?.split_whitespace() {
            self.podman(&["rm", "--force", "--time", "0", "--volumes", id])?;
        }
        let built = format!("reference=localhost/forge-{}", self.owner);
        let names = self.podman(&["images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", &built])?;
        names.lines().try_for_each(|name| self.podman(&["image", "rm", "--force", name]).map(drop))
    }

    /// Takes away what builds left that failed. No other test may build meanwhile.
    ///
    /// # Errors
    /// When podman refuses.
    pub fn prune(&self) -> Result<()> {
        self.clean()?;
        self.podman(&["image", "prune", "--force"])?;
        let left = self.podman(&["images", "--all", "--format", "{{.Repository}}:{{.Tag}}"])?;
        let left: Vec<&str> = left.lines().filter(|name| *name != BASE).collect();
        ensure!(left.is_empty(), "images are left: {left:?}");
        Ok(())
    }

    /// Takes it away, and checks that nothing of the test is left.
    ///
    /// # Errors
    /// When something is.
    pub fn close(self) -> Result<()> {
        let owner = self.owner.clone();
        let filter = format!("label=forge.owner={owner}");
        let containers = self.podman(&["ps", "--all", "--quiet", "--filter", &filter])?;
        ensure!(containers.trim().is_empty(), "containers are left: {containers}");
        let mounts_of = |storage: &Path| {
            let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
            let mine = mounts.lines().filter_map(|line| line.split(' ').nth(1));
            let mine = mine.filter(|place| Path::new(place).starts_with(storage.join("overlay")));
            mine.filter_map(|place| Path::new(place).parent()?.file_name()?.to_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let before = mounts_of(&self.state.join("storage"));
        let known = self.podman(&["ps", "--all", "--quiet", "--no-trunc", "--external"])?;
        if known.trim().is_empty() && !before.is_empty() {
            let after = mounts_of(&self.state.join("storage"));
            let left: Vec<&String> = before.iter().filter(|id| after.contains(id)).collect();
            ensure!(left.is_empty(), "mounts are left: {left:?}");
        }
        let is_rootless = self.is_rootless;
        drop(self);
        let of_user = |uid: u32| uid == USER || (500_000..565_536).contains(&uid);
        let of_test = format!("forge-{owner}");
        let left = || -> Vec<_> {
            let all = processes::all().into_iter();
            let mine = all.filter(|(_, uid, line)| line.contains(&of_test) || is_rootless && of_user(*uid));
            mine.map(|(pid, _, line)| (pid, line)).collect()
        };
        // One that was ended is there for a moment more. The caller's runtime may not be blocked on.
        let waits = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let gone = async { tokio::time::timeout(ENDS_WITHIN, processes::gone(left)).await };
            runtime.block_on(gone).unwrap_or(Ok(()))
        };
        let waited: std::io::Result<()> =
            std::thread::scope(|scope| scope.spawn(waits).join().unwrap_or(Ok(())));
        waited.context("wait for processes of the test")?;
        let left = left();
        ensure!(left.is_empty(), "processes are left: {left:?}");
        Ok(())
    }
}

/// Whether a name that begins so is of a test whose process is gone.
fn is_of_ended(name: &str, begin: &str) -> bool {
    let pid = name.strip_prefix(begin).and_then(|rest| rest.split_once('x')).map(|(pid, _)| pid);
    pid.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists())
}

impl Drop for Podman {
    fn drop(&mut self) {
        if let Err(why) = self.clean() {
            eprintln!("something of podman is left: {why:#}");
        }
        if self.is_rootless {
            // What holds the user's namespaces between two runs of podman.
            for (pid, uid, _) in processes::all() {
                if uid == USER {
                    processes::end(pid);
                }
            }
        }
    }
}

/// The archive of a Debian system with git and what it needs, which is made once.
///
/// # Errors
/// Where it cannot be made.
pub fn base_system() -> Result<PathBuf> {
    ensure!(nix::unistd::Uid::effective().is_root(), "only root makes the image of containers");
    for needed in ["/usr/sbin/debootstrap", "/usr/bin/tar"] {
        ensure!(Path::new(needed).exists(), "{needed} is missing");
    }
    fs::create_dir_all(CACHE)?;
    fs::set_permissions(CACHE, fs::Permissions::from_mode(0o755))?;
    let lock = fs::File::create(Path::new(CACHE).join("base.lock"))?;
    lock.lock()?;
    if !Path::new(BASE_TAR).exists() {
        make_base(Path::new(BASE_TAR)).context("the image of containers cannot be made")?;
    }
    Ok(BASE_TAR.into())
}

/// Makes the image's content: git and what it needs.
fn make_base(tar: &Path) -> Result<()> {
    // One that was cut short is begun anew.
    let folder = Path::new(CACHE).join("base.new");
    let (root, new) = (folder.join("root"), tar.with_extension("new"));
    let (folder, root, new) = (folder.display(), root.display(), new.display());
    system(&format!("rm -rf --one-file-system {folder}"))?;
    system(&format!("/usr/sbin/debootstrap --variant=minbase --include=git bookworm {root}"))?;
    let left_out = ["usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache", "var/lib/apt/lists"];
    let left_out: String = left_out.iter().map(|path| format!(" --exclude=./{path}")).collect();
    system(&format!("tar -C {root}{left_out} -cf {new} ."))?;
    fs::rename(tar.with_extension("new"), tar)?;
    system(&format!("rm -rf --one-file-system {folder}")).map(drop)
}
