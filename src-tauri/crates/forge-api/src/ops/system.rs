//! What this Forge is, whether it is well, and the demo project.

use forge_engine::{Computer, DiskSpace, NewAgent, NewProject, NewTask, SandboxSupport, StorageStatus};
use forge_model::actor::Actor;
use forge_model::agent::AdapterKind;
use forge_model::ids::AgentId;
use forge_model::inner_loop::{Strategy, TaskRace};
use forge_model::machine::{Machine, MachineContact};
use forge_model::project::Project;
use forge_model::review::ReviewConfig;
use forge_model::storage::{StorageTrouble, is_low};
use forge_model::workspace::OrphanFolder;
use serde_json::json;

use super::{Empty, answer, holder};
use crate::{Api, ApiError};

answer! {
    /// Version and data folder of this Forge.
    pub struct Meta {
        /// Version of Forge.
        pub version: String,
        /// The data folder.
        pub data_dir: String,
        /// Version of the git program.
        pub git_version: String,
    }

    /// Result of one check of this computer.
    pub struct DoctorFinding {
        /// What was checked.
        pub subject: String,
        /// Whether the check passed.
        pub ok: bool,
        /// Detail of the result.
        pub detail: String,
        /// Remedy, if the check failed.
        pub remedy: Option<String>,
    }

    /// Result of checking this computer.
    pub struct Doctor {
        /// Whether all checks passed.
        pub ok: bool,
        /// The results.
        pub findings: Vec<DoctorFinding>,
    }
}

fn git_version(api: &Api) -> String {
    let (major, minor, patch) = api.engine().computer().git_version;
    format!("{major}.{minor}.{patch}")
}

pub(crate) async fn meta(api: Api, _: Actor, _: Empty) -> Result<Meta, ApiError> {
    Ok(Meta {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        data_dir: api.engine().data_dir().to_string_lossy().into_owned(),
        git_version: git_version(&api),
    })
}

fn good(subject: &str, detail: String) -> DoctorFinding {
    DoctorFinding { subject: subject.to_owned(), ok: true, detail, remedy: None }
}

fn bad(subject: &str, detail: String, remedy: &str) -> DoctorFinding {
    DoctorFinding { subject: subject.to_owned(), ok: false, detail, remedy: Some(remedy.to_owned()) }
}

/// Whether writes succeed, and whether all that was written is whole.
fn database(storage: &StorageStatus, damage: Option<&String>) -> DoctorFinding {
    let failure = storage.health.failure.as_ref();
    if let (None, Some(damage)) = (failure, damage) {
        return bad("database", damage.clone(), StorageTrouble::Damaged.remedy());
    }
    DoctorFinding {
        subject: "database".to_owned(),
        ok: failure.is_none(),
        detail: match failure {
            Some(failure) => failure.detail.clone(),
            None => storage.database.to_string_lossy().into_owned(),
        },
        remedy: failure.map(|failure| failure.trouble.remedy().to_owned()),
    }
}

fn disk(space: Option<DiskSpace>) -> DoctorFinding {
    const MIB: u64 = 1024 * 1024;
    let low = space.is_some_and(|space| is_low(space.free, space.total));
    let detail = space.map_or_else(
        || "free space unknown".to_owned(),
        |space| format!("{} MiB of {} MiB free", space.free / MIB, space.total / MIB),
    );
    let remedy = low.then(|| "Free some space: Forge stops writing when the disk is full.".to_owned());
    DoctorFinding { subject: "disk".to_owned(), ok: !low, detail, remedy }
}

async fn backups(api: &Api) -> Result<DoctorFinding, ApiError> {
    let newest = api.engine().database_backups().await?.into_iter().next();
    let mut detail = newest.map_or_else(
        || "none yet; Forge makes one each day while it runs".to_owned(),
        |backup| format!("newest: {}, from {}", backup.name, backup.created_at),
    );
    let standing = api.engine().backup_standing().await?;
    if let Some(failure) = standing.failure {
        detail = format!("{detail}; the last daily copy failed: {failure}");
    }
    let behind = standing.behind;
    let remedy = behind.then(|| {
        "The daily copies of the database are missing: free some space on the disk of the data folder, then run \
         `forge backup create` to see whether a copy succeeds."
            .to_owned()
    });
    Ok(DoctorFinding { subject: "backups".to_owned(), ok: !behind, detail, remedy })
}

/// The restore that the last start could not do, if there was one.
fn restore(storage: &StorageStatus) -> Option<DoctorFinding> {
    let (detail, file) = storage.failed_restore.clone()?;
    let remedy = format!(
        "The database from before the restore is in use. Choose another copy with `forge backup restore NAME`, or \
         remove {} to keep this database.",
        file.display()
    );
    Some(DoctorFinding { subject: "restore".to_owned(), ok: false, detail, remedy: Some(remedy) })
}

/// Whether agents outlive the engine.
fn keeper(computer: Computer) -> DoctorFinding {
    if computer.keeps_agents {
        return good("keeper", "agents keep running when Forge quits".to_owned());
    }
    bad(
        "keeper",
        "missing: agents stop when Forge quits".to_owned(),
        "Put `forge-keeper` into the folder of this program, as the packages do.",
    )
}

/// What the kernel can confine. A kernel that cannot is no fault that somebody can mend here.
fn sandbox(support: SandboxSupport) -> DoctorFinding {
    let detail = match support {
        SandboxSupport { files: true, network: true, abi } => format!("files and TCP ports (Landlock {abi})"),
        SandboxSupport { files: true, network: false, abi } => {
            format!("files, but not TCP ports, which need Linux 6.7 (Landlock {abi})")
        }
        SandboxSupport { files: false, .. } => {
            "not available: agents, checks and hooks can write what you can. It needs Linux 6.2 or newer"
                .to_owned()
        }
    };
    good("sandbox", detail)
}

fn login_shell(login: &Result<usize, String>) -> DoctorFinding {
    const REMEDY: &str = "Correct the profile of your login shell. Until then programs are found on the PATH that Forge was \
                          started with.";
    match login {
        Ok(variables) => good("login shell", format!("{variables} variables")),
        Err(reason) => bad("login shell", reason.clone(), REMEDY),
    }
}

/// A machine that nobody has asked yet is not asked for this: `forge machine test` does.
fn machine(machine: &Machine) -> DoctorFinding {
    let subject = format!("machine {}", machine.name);
    match (&machine.contact_error, machine.contact) {
        (Some(fault), MachineContact::Unreachable) => bad(&subject, fault.message.clone(), &fault.remedy),
        (_, MachineContact::Unreachable) => {
            let remedy = format!("Run `forge machine test {}` to see why.", machine.name);
            bad(&subject, "unreachable".to_owned(), &remedy)
        }
        (_, MachineContact::Live) => good(&subject, "connected".to_owned()),
        (_, MachineContact::Unknown) => good(&subject, "not used since Forge started".to_owned()),
    }
}

/// Folders among the worktrees that no task has. They may hold work.
fn orphans(found: &[OrphanFolder]) -> DoctorFinding {
    const MIB: u64 = 1024 * 1024;
    let Some(first) = found.first() else { return good("worktrees", "no folders without a task".to_owned()) };
    let mib = found.iter().map(|folder| folder.bytes).sum::<u64>() / MIB;
    let detail = format!("{} folders without a task, {mib} MiB, such as {}", found.len(), first.path);
    let remedy = "See them with `forge workspace orphans`. `forge workspace adopt` makes a task of one, `forge workspace \
                  reclaim` backs up what only it has and removes it.";
    bad("worktrees", detail, remedy)
}

pub(crate) async fn doctor(api: Api, _: Actor, _: Empty) -> Result<Doctor, ApiError> {
    let engine = api.engine();
    let examined = engine.examine().await?;
    let storage = engine.storage_status().await?;
    let mut findings = vec![
        good("git", git_version(&api)),
        good("data folder", engine.data_dir().to_string_lossy().into_owned()),
        database(&storage, examined.damage.as_ref()),
        disk(storage.space),
        backups(&api).await?,
        login_shell(&examined.login),
        keeper(engine.computer()),
        sandbox(engine.computer().sandbox),
        orphans(&engine.orphans().await?),
    ];
    findings.extend(restore(&storage));
    for project in engine.projects().await? {
        let there = engine.has_repository(&project.id).await?;
        let subject = format!("project {}", project.name);
        findings.push(match there {
            true => good(&subject, project.repo_path),
            false => bad(
                &subject,
                project.repo_path,
                "The repository is missing. Put it back, or remove the project.",
            ),
        });
    }
    findings.extend(engine.machines().await?.iter().map(machine));
    for agent in engine.agents().await? {
        let subject = format!("agent {}", agent.name);
        findings.push(match engine.detect_agent(&agent.id).await? {
            Ok(found) => good(&subject, found.program.to_string_lossy().into_owned()),
            Err(error) => bad(&subject, error.to_string(), error.remedy()),
        });
    }
    Ok(Doctor { ok: findings.iter().all(|finding| finding.ok), findings })
}

/// What the demo's project and its agent are called.
pub const DEMO_NAME: &str = "Demo";
const DEMO_AGENT: &str = "Demo agent";

pub(crate) async fn demo_create(api: Api, _: Actor, _: Empty) -> Result<Project, ApiError> {
    let engine = api.engine();
    if let Some(there) = engine.projects().await?.into_iter().find(|project| project.name == DEMO_NAME) {
        return Ok(there);
    }
    let mut folder = engine.data_dir().join("demo").join("greetings");
    let mut number = 1;
    while folder.exists() {
        number += 1;
        folder = engine.data_dir().join("demo").join(format!("greetings-{number}"));
    }
    let made = forge_demo::sample_repo::create(&folder).await;
    made.map_err(|error| ApiError::new(500, "demo_failed", error.to_string()))?;
    let agent = match engine.agents().await?.into_iter().find(|agent| agent.name == DEMO_AGENT) {
        Some(agent) => agent,
        None => engine.create_agent(demo_agent(&api)).await?,
    };
    let project = engine
        .create_project(NewProject {
            name: Some(DEMO_NAME.to_owned()),
            repo_path: folder.to_string_lossy().into_owned(),
            default_branch: None,
            work_mode: None,
            workflow: None,
            settings: Some(json!({
                "author": { "name": "Forge demo", "email": "demo@forge.invalid" },
                "innerLoop": { "competitive": { "enabled": true, "maxParallel": 3 } },
            })),
        })
        .await?;
    for task in forge_demo::scenario::tasks() {
        let new = NewTask {
            title: task.title.to_owned(),
            description: task.description.to_owned(),
            review_config: Some(ReviewConfig {
                ci_steps: Some(task.checks.iter().map(|check| (*check).to_owned()).collect()),
                ..ReviewConfig::default()
            }),
            roles: [("coder".to_owned(), Some(holder(agent.id.as_str())))].into(),
            race: demo_race(&agent.id, task.race),
            ..NewTask::default()
        };
        engine.create_task(&project.id, new).await?;
    }
    Ok(project)
}

/// Entries of these names, all of the demo's one agent.
fn demo_race(agent: &AgentId, names: &[&str]) -> Option<TaskRace> {
    let strategy = |name: &&str| Strategy {
        name: (*name).to_owned(),
        agent_id: agent.clone(),
        model: None,
        effort: None,
        prompt_suffix: None,
    };
    let strategies: Vec<Strategy> = names.iter().map(strategy).collect();
    (!strategies.is_empty()).then(|| TaskRace {
        enabled: true,
        strategies: Some(strategies),
        ..TaskRace::default()
    })
}

fn demo_agent(api: &Api) -> NewAgent {
    NewAgent {
        name: Some(DEMO_AGENT.to_owned()),
        adapter: Some(AdapterKind::Shell),
        config: Some(json!({
            "command": api.self_program().to_string_lossy(),
            "args": ["scripted-agent", "--prompt-file", "{prompt_file}"],
        })),
        model: None,
        max_concurrent: Some(3),
        paused: None,
    }
}
