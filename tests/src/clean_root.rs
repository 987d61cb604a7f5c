//! A Debian system in a folder, as on a computer where Forge was never installed.
//!
//! What runs in it has mounts and process numbers of its own, which are gone with it; it shares this computer's network, and
//! the folders that it is given, at the same paths.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_machines_testkit::base_system;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::children;

/// The search path of programs there.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Mounts what programs need; then, as the first process of a system must, waits for processes whose parents have ended.
const FIRST: &str = r#"set -e
root=$1; shift
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$0" "$root/var/cache/apt/archives"
for folder; do mkdir -p "$root$folder"; mount --bind "$folder" "$root$folder"; done
echo ready
while :; do sleep 3600 & wait; done"#;

/// The system. Dropping it ends what runs there.
pub struct CleanRoot {
    root: PathBuf,
    first: u32,
    _holder: Child,
    _folder: TempDir,
}

impl Drop for CleanRoot {
    fn drop(&mut self) {
        // Its end is that of all others there; only then nobody writes to the folder any more.
        let first = i32::try_from(self.first).map(nix::unistd::Pid::from_raw);
        let _ = first.map(|first| nix::sys::signal::kill(first, nix::sys::signal::Signal::SIGKILL));
        let process = PathBuf::from(format!("/proc/{}", self.first));
        for _ in 0..500 {
            if !process.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("what runs in {} does not end", self.root.display());
    }
}

impl CleanRoot {
    /// A new one, without git, with the lists of packages that can be had; none where that cannot be done, with the reason
    /// on standard error.
    ///
    /// # Errors
    /// When it can be made, and is not.
    pub async fn create(shared: &[&Path]) -> Result<Option<Self>> {
        let base = match base_system() {
            Ok(base) => base,
            Err(why) => {
                eprintln!("skipped: {why:#}");
                return Ok(None);
            }
        };
        // On the disk: it is too large for a folder in memory, where tests may have theirs.
        let cache = base.parent().context("a tar in a folder")?;
        let folder = tempfile::Builder::new().prefix("clean-").tempdir_in(cache)?;
        let root = folder.path().to_owned();
        let unpacked = Command::new("tar").arg("-xf").arg(&base).arg("-C").arg(&root).status().await?;
        ensure!(unpacked.success(), "{} cannot be unpacked", base.display());
        let archives = cache.join("packages");
        for folder in ["var/cache/apt/archives", "var/lib/apt/lists/partial"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::create_dir_all(archives.join("partial"))?;
        fs::copy("/etc/resolv.conf", root.join("etc/resolv.conf"))?;
        let (holder, first) = hold(&root, &archives, shared).await?;
        let made = Self { root, first, _holder: holder, _folder: folder };
        made.run("apt-get purge --yes --quiet --autoremove git && apt-get update --quiet").await?;
        Ok(Some(made))
    }

    /// A folder of it, as seen from outside.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A program there, with the environment of `command` and its arguments behind.
    pub fn program(&self, mut command: Command, name: &str) -> Command {
        command.args(["--target", &self.first.to_string(), "--mount", "--pid", "--", "chroot"]);
        command.arg(&self.root).arg(name).env("PATH", PATH);
        command
    }

    /// Runs a script of the shell there as root, and gives what it printed.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub async fn run(&self, script: &str) -> Result<String> {
        let mut command = children::program("nsenter");
        command.env_clear().envs([
            ("HOME", "/root"),
            ("DEBIAN_FRONTEND", "noninteractive"),
            ("LC_ALL", "C.UTF-8"),
        ]);
        let mut shell = self.program(command, "sh");
        let done = shell.args(["-e", "-c", script]).output().await?;
        let [out, error] =
            [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ensure!(done.status.success(), "`{script}` failed:\n{out}\n{error}");
        Ok(out)
    }

    /// Installs a package with what it depends on.
    ///
    /// # Errors
    /// When it cannot be installed.
    pub async fn install(&self, package: &Path) -> Result<()> {
        let place = self.path("/tmp").join(package.file_name().context("a package has a name")?);
        fs::copy(package, &place)?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        // The test needs no package that survives a power cut.
        let quick = "-o Dpkg::Options::=--force-unsafe-io";
        self.run(&format!("apt-get install --yes --quiet {quick} '/tmp/{name}'")).await?;
        fs::remove_file(&place)?;
        Ok(())
    }
}

/// Starts the first process of a system. It, and its number here.
async fn hold(root: &Path, archives: &Path, shared: &[&Path]) -> Result<(Child, u32)> {
    let mut unshare = children::program("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--propagation",
        "private",
        "sh",
        "-c",
        FIRST,
    ]);
    let mut holder = unshare.arg(archives).arg(root).args(shared).stdout(Stdio::piped()).spawn()?;
    let pid = holder.id().context("it has ended")?;
    let mut ready = String::new();
    let out = holder.stdout.take().context("no output")?;
    BufReader::new(out).read_line(&mut ready).await?;
    ensure!(ready.trim() == "ready", "the system's folders cannot be mounted");
    let first = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok((holder, first.trim().parse().context("the system has no first process")?))
}
