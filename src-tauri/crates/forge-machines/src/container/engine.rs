//! The program that runs containers: which one it is, and what it can.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_exec::{Command, Unmarked};
use serde_json::Value;

use super::{
    ContainerSetup, EngineChoice, EngineKind,
    program::{Done, TELLS_WITHIN, fault_of, last_said, run},
};
use crate::{ContainerFault, Fault, KeeperProgram};

/// Where containers see the keepers.
pub(super) const KEEPERS: &str = "/opt/forge-keepers";

/// The name of the program in the folder of its hash.
pub(super) const KEEPER: &str = "forge-keeper";

/// The containers of one machine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Containers {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) setup: ContainerSetup,
    kind: EngineKind,
    ability: Ability,
    /// One at a time for each name: whoever comes second finds what the first one made.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What the program can do here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ability {
    pub(super) version: String,
    pub(super) is_rootless: bool,
    /// Whether memory, processors and processes can be limited; and why not.
    pub(super) memory: bool,
    pub(super) cpus: bool,
    pub(super) pids: bool,
    pub(super) why_not: String,
}

impl Containers {
    /// Finds the program, asks what it can, and puts the keepers where containers see them.
    ///
    /// # Errors
    /// When no program can be used, or a limit that is configured cannot be kept to.
    pub async fn open(setup: ContainerSetup) -> Result<Self, Fault> {
        let (kind, ability) = find(&setup).await?;
        check_limits(&setup, kind, &ability)?;
        let (folder, keepers) = (setup.keepers_folder.clone(), setup.keepers.clone());
        let put = tokio::task::spawn_blocking(move || {
            keepers.iter().try_for_each(|keeper| put_keeper(&folder, keeper))
        });
        let put = put.await.map_err(io::Error::other).and_then(|put| put);
        put.map_err(|error| ContainerFault::KeeperFolder {
            folder: setup.keepers_folder.display().to_string(),
            said: error.to_string(),
        })?;
        let inner = Inner { setup, kind, ability, turns: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The program that runs them.
    #[must_use]
    pub fn kind(&self) -> EngineKind {
        self.inner.kind
    }

    /// Whether they run without root on this computer.
    #[must_use]
    pub fn is_rootless(&self) -> bool {
        self.inner.ability.is_rootless
    }

    pub(super) fn ability(&self) -> &Ability {
        &self.inner.ability
    }

    pub(super) fn setup(&self) -> &ContainerSetup {
        &self.inner.setup
    }

    /// The program, without arguments.
    pub(super) fn command(&self) -> Command<Unmarked> {
        command(&self.inner.setup, self.inner.kind)
    }

    /// Waits until nobody else of this process makes what has this name.
    pub(super) async fn turn(&self, name: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.inner.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(name.to_owned()).or_default())
        };
        turn.lock_owned().await
    }

    /// Removes the keepers of earlier versions that no container of this owner was made with. Which ones, by their
    /// hashes.
    ///
    /// # Errors
    /// When the containers cannot be listed, or a folder cannot be removed.
    pub async fn sweep_keepers(&self) -> Result<Vec<String>, Fault> {
        let mut keep: Vec<String> =
            self.setup().keepers.iter().map(|keeper| keeper.hash().to_owned()).collect();
        keep.extend(self.list().await?.into_iter().map(|listed| listed.keeper));
        let folder = self.setup().keepers_folder.clone();
        let swept = tokio::task::spawn_blocking(move || sweep(&folder, &keep)).await;
        swept.map_err(io::Error::other).and_then(|swept| swept).map_err(|error| {
            let folder = self.setup().keepers_folder.display().to_string();
            ContainerFault::KeeperFolder { folder, said: error.to_string() }.into()
        })
    }
}

impl Containers {
    /// Runs the program, whatever it comes to.
    pub(super) async fn run<A: AsRef<OsStr>>(
        &self,
        what: &str,
        arguments: impl IntoIterator<Item = A>,
        within: Duration,
    ) -> Result<Done, ContainerFault> {
        let command = self.command().args(arguments).timeout(within);
        run(self.kind(), what, command).await
    }

    /// Why the program did not do what it should, where what it said is a reason of its own.
    pub(super) fn fault(
        &self,
        done: &Done,
        otherwise: impl FnOnce(String) -> ContainerFault,
    ) -> ContainerFault {
        fault_of(self.kind(), &done.err).unwrap_or_else(|| otherwise(last_said(&done.err)))
    }
}

/// The program, without arguments.
pub(super) fn command(setup: &ContainerSetup, kind: EngineKind) -> Command<Unmarked> {
    let program = match kind {
        EngineKind::Podman => &setup.programs.podman,
        EngineKind::Docker => &setup.programs.docker,
    };
    Command::tool(program.clone(), "/").base(Arc::clone(&setup.environment)).without_terminal()
}

/// The first program that can be used. When none can, what is told is why the first one that is there cannot.
async fn find(setup: &ContainerSetup) -> Result<(EngineKind, Ability), ContainerFault> {
    let kinds: &[EngineKind] = match setup.config.engine {
        EngineChoice::Auto => &[EngineKind::Podman, EngineKind::Docker],
        EngineChoice::Podman => &[EngineKind::Podman],
        EngineChoice::Docker => &[EngineKind::Docker],
    };
    let mut first_fault = None;
    for kind in kinds {
        match ask(setup, *kind).await {
            Ok(ability) => return Ok((*kind, ability)),
            Err(ContainerFault::NoEngine { .. }) => {}
            Err(fault) => {
                first_fault.get_or_insert(fault);
            }
        }
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    Err(first_fault.unwrap_or_else(|| ContainerFault::NoEngine { wanted: names.join(" or ") }))
}

async fn ask(setup: &ContainerSetup, kind: EngineKind) -> Result<Ability, ContainerFault> {
    let asked = command(setup, kind).args(["info", "--format", "{{json .}}"]).timeout(TELLS_WITHIN);
    let done = run(kind, "tell about itself", asked).await?;
    let engine = kind.name().to_owned();
    let failed = |said: String| fault_of(kind, &done.err).unwrap_or(ContainerFault::Engine { engine, said });
    if !done.is_good() {
        return Err(failed(last_said(&done.err)));
    }
    let Ok(told) = serde_json::from_str::<Value>(&done.out) else {
        return Err(failed("it does not tell about itself as expected".to_owned()));
    };
    match kind {
        EngineKind::Podman => ability_of_podman(&told),
        EngineKind::Docker => ability_of_docker(&told, &done.err),
    }
}

fn ability_of_podman(told: &Value) -> Result<Ability, ContainerFault> {
    let host = &told["host"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_rootless = host["security"]["rootless"].as_bool() == Some(true);
    let mapped = |map: &str| {
        let ranges = host["idMappings"][map].as_array();
        ranges.map(|ranges| ranges.iter().filter_map(|range| range["size"].as_u64()).sum::<u64>())
    };
    if is_rootless && [mapped("uidmap"), mapped("gidmap")].iter().flatten().any(|size| *size <= 1) {
        return Err(ContainerFault::Rootless {
            said: "no range of users is set up for this user (`/etc/subuid` and `/etc/subgid`)".to_owned(),
        });
    }
    let cgroups = text(&host["cgroupVersion"]);
    let controllers: Vec<&str> =
        host["cgroupControllers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // Without root it ignores them there, and says so in a warning.
    let has = |name: &str| controllers.contains(&name) && !(is_rootless && cgroups == "v1");
    let who = if is_rootless { "without root" } else { "as root" };
    Ok(Ability {
        version: text(&told["version"]["Version"]),
        is_rootless,
        memory: has("memory"),
        cpus: has("cpu"),
        pids: has("pids"),
        why_not: format!("{who}, cgroups {cgroups}, controllers: {}", controllers.join(" ")),
    })
}

fn ability_of_docker(told: &Value, errors: &str) -> Result<Ability, ContainerFault> {
    // The client tells about itself without its service, too.
    let errors_of_server = told["ServerErrors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let version = told["ServerVersion"].as_str().unwrap_or_default();
    if let Some(said) = errors_of_server.first().and_then(Value::as_str) {
        return Err(ContainerFault::Engine { engine: "docker".to_owned(), said: last_said(said) });
    }
    if version.is_empty() {
        return Err(ContainerFault::Engine { engine: "docker".to_owned(), said: last_said(errors) });
    }
    let is = |name: &str| told[name].as_bool() == Some(true);
    let options = told["SecurityOptions"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let cgroups = told["CgroupVersion"].as_str().unwrap_or_default();
    Ok(Ability {
        version: version.to_owned(),
        is_rootless: options.into_iter().any(|option| option.contains("rootless")),
        memory: is("MemoryLimit"),
        cpus: is("CpuCfsQuota"),
        pids: is("PidsLimit"),
        why_not: format!("cgroups v{cgroups}"),
    })
}

/// A limit that is not kept to would be worse than none: whoever set it relies on it.
fn check_limits(setup: &ContainerSetup, kind: EngineKind, ability: &Ability) -> Result<(), ContainerFault> {
    let config = &setup.config;
    for (what, is_wanted, can) in [
        ("memory", config.memory_mb.is_some(), ability.memory),
        ("processors", config.cpus.is_some(), ability.cpus),
        ("processes", config.pids.is_some(), ability.pids),
    ] {
        if is_wanted && !can {
            return Err(ContainerFault::NoLimit {
                engine: kind.name().to_owned(),
                what: what.to_owned(),
                why: ability.why_not.clone(),
            });
        }
    }
    Ok(())
}

/// Puts a keeper where containers see it. One that is there already is whole: it comes by a move.
fn put_keeper(folder: &Path, keeper: &KeeperProgram) -> io::Result<()> {
    let own = folder.join(keeper.hash());
    let place = own.join(KEEPER);
    if fs::metadata(&place).is_ok_and(|found| found.len() == keeper.size()) {
        return Ok(());
    }
    // Any user of a container runs it.
    fs::DirBuilder::new().recursive(true).mode(0o755).create(&own)?;
    for seen in [folder, &own] {
        fs::set_permissions(seen, fs::Permissions::from_mode(0o755))?;
    }
    let new = own.join(format!(".new.{}", std::process::id()));
    fs::copy(keeper.path(), &new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(&new, &place)
}

fn sweep(folder: &Path, keep: &[String]) -> io::Result<Vec<String>> {
    let mut swept = Vec::new();
    let folders: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    for path in folders {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash && !keep.contains(&name) {
            fs::remove_dir_all(&path)?;
            swept.push(name);
        }
    }
    swept.sort();
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn podman_without_root_limits_nothing_with_cgroups_of_version_1() {
        let told = |rootless: bool, version: &str, uids: u64| {
            let map = json!([{ "size": 1 }, { "size": uids }]);
            json!({ "version": { "Version": "4.3.1" }, "host": {
                "security": { "rootless": rootless }, "cgroupVersion": version, "cgroupControllers": ["cpu", "memory", "pids"],
                "idMappings": { "uidmap": map, "gidmap": map },
            } })
        };
        for (rootless, version, limits) in
            [(false, "v1", true), (true, "v1", false), (true, "v2", true), (false, "v2", true)]
        {
            let ability = ability_of_podman(&told(rootless, version, 65536)).unwrap();
            assert_eq!((ability.memory, ability.pids, ability.is_rootless), (limits, limits, rootless));
        }
        let fault = ability_of_podman(&json!({ "host": { "security": { "rootless": true },
            "idMappings": { "uidmap": [{ "size": 1 }], "gidmap": [{ "size": 1 }] } } }));
        assert!(matches!(fault, Err(ContainerFault::Rootless { .. })), "{fault:?}");
        let own = json!({ "host": { "security": { "rootless": false }, "idMappings": { "uidmap": null } } });
        assert!(ability_of_podman(&own).is_ok());
    }

    #[test]
    fn docker_without_its_service_is_told_from_one_that_runs() {
        let down = json!({ "ServerVersion": "", "ServerErrors": ["Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"] });
        assert!(matches!(ability_of_docker(&down, ""), Err(ContainerFault::Engine { .. })));
        let up = json!({ "ServerVersion": "28.0.1", "MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": false,
            "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"], "CgroupVersion": "2" });
        let ability = ability_of_docker(&up, "").unwrap();
        assert!(ability.memory && ability.cpus && !ability.pids && ability.is_rootless);
    }

    #[test]
    fn keepers_that_no_container_was_made_with_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let (old, used) = ("a".repeat(64), "b".repeat(64));
        for name in [&old, &used, &"else".to_owned()] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(sweep(folder.path(), std::slice::from_ref(&used)).unwrap(), [old]);
        assert!(folder.path().join(used).exists() && folder.path().join("else").exists());
    }
}
