//! Code hosts: which one a project uses, the connection to it, and when pull requests are looked at again.
//!
//! Waiting for a pull request is a step that stays pending: looking again is running it again. One background task
//! sleeps until the next look is due and starts it; a changed due time wakes it. What was read last is kept in
//! memory alone: a new process reads everything once.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_exec::{Command, HeadTail, Marker, find_program, run};
use forge_git::Repo;
use forge_hosts::{
    Etags, FoundToken, Host, HostError, NamedBy, PATIENCE, PollFacts, connect, find_token, host_name,
    next_poll, remote::Remote,
};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::pull_request::HostConfig;
use forge_model::time::Timestamp;
use forge_store::table::pull_requests::PullRequestRow;
use tokio::sync::Notify;

use crate::{
    World,
    core::{self, context::ProjectContext, sync::locked},
    error::Result,
};

/// How long a program that knows a token may take.
const PROGRAM_PATIENCE: Duration = Duration::from_secs(20);
/// How long a program waits for what the keychain says.
const KEYCHAIN_PATIENCE: Duration = Duration::from_secs(5);
/// What stands in the place of a token for a code host.
pub(crate) const HOST_TOKEN: &str = "CODE_HOST_TOKEN";
/// A token is short.
const LONGEST_TOKEN: usize = 16 * 1024;
/// A look that was asked for and left no trace is asked for again after this many milliseconds.
pub(crate) const ASK_AGAIN_MS: i64 = 15 * 60 * 1000;

/// A project and its configured code host.
type LearnedHost = (ProjectId, Option<String>);

/// Ways to code hosts, and what was read there.
#[derive(Default)]
pub(crate) struct Hosts {
    /// By place and by who named it: a way that a person's settings opened is none for a mere remote.
    ways: Mutex<HashMap<(String, NamedBy), Arc<dyn Host>>>,
    /// By task; there is an entry once this process looked.
    read: Mutex<HashMap<TaskId, Etags>>,
    pub due_changed: Arc<Notify>,
    /// For which due time a look was asked for last, and when.
    pub asked: tokio::sync::Mutex<HashMap<TaskId, (Timestamp, Timestamp)>>,
    /// Projects, each with its configured code host, whose token in the keychain is known.
    learned: Mutex<HashSet<LearnedHost>>,
}

/// Why it is not known where a project's pull requests go.
pub(crate) struct NoHost {
    pub problem: String,
    pub remedy: String,
}

const CONFIGURE: &str = "set the code host in the project's settings";

/// Where a project's pull requests go: as configured, else as its git remote says.
pub(crate) async fn code_host(
    context: &ProjectContext,
    repo: &Repo,
) -> Result<std::result::Result<HostConfig, NoHost>> {
    if let Some(config) = &context.settings.code_host {
        return Ok(Ok(config.clone()));
    }
    let no_host = |problem: String| Ok(Err(NoHost { problem, remedy: CONFIGURE.to_owned() }));
    let remotes = repo.remotes().await?;
    let usual = HostConfig::default_remote();
    let name = if remotes.contains(&usual) { Some(usual) } else { remotes.into_iter().next() };
    let Some(name) = name else {
        return Ok(Err(NoHost {
            problem: "the repository has no git remote".to_owned(),
            remedy: "add one with `git remote add origin <address>`".to_owned(),
        }));
    };
    let Some(address) = repo.remote_address(&name).await? else {
        return no_host(format!("the git remote `{name}` has no address"));
    };
    let remote = match Remote::parse(&address) {
        Ok(remote) => remote,
        Err(error) => return no_host(error.to_string()),
    };
    let Some(kind) = remote.kind() else {
        return no_host(format!("the software of {} is unknown", remote.host));
    };
    match remote.config(kind, &name) {
        Ok(config) => Ok(Ok(config)),
        Err(error) => no_host(error.to_string()),
    }
}

/// The way to a host, with the person's token.
pub(crate) async fn host(
    world: &World,
    context: &ProjectContext,
    config: &HostConfig,
) -> std::result::Result<Arc<dyn Host>, HostError> {
    let key = (key_of(config), named_by(context, config));
    if let Some(way) = locked(&world.part::<Hosts>().ways).get(&key) {
        return Ok(Arc::clone(way));
    }
    let found = host_token(world, context, config).await?;
    let clock = Arc::clone(&world.inner.config.clock);
    let way = connect(config, found.token, Arc::new(move || clock.now()), PATIENCE)?;
    locked(&world.part::<Hosts>().ways).insert(key, Arc::clone(&way));
    Ok(way)
}

/// Has the token looked for again at the next need.
pub(crate) fn forget_host(world: &World, config: &HostConfig) {
    let forgotten = key_of(config);
    locked(&world.part::<Hosts>().ways).retain(|(key, _), _| *key != forgotten);
}

/// The person's token for a host.
pub(crate) async fn host_token(
    world: &World,
    context: &ProjectContext,
    config: &HostConfig,
) -> std::result::Result<FoundToken, HostError> {
    let given = &world.inner.config;
    let named_by = named_by(context, config);
    let found =
        find_token(config, named_by, &given.keychain, &given.token_variables, |words| said_by(world, words))
            .await?;
    core::redaction::learn_secrets(world, [(HOST_TOKEN, found.token.expose())]);
    Ok(found)
}

/// Learns the token that the keychain holds for a project's code host, before a program of the project starts: what
/// that prints may show the token. A keychain that waits for its owner does not hold the program up for long.
pub(crate) async fn learn_host_token(world: &World, context: &ProjectContext) {
    let configured = context.settings.code_host.as_ref().map(key_of);
    let key = (context.project.id.clone(), configured);
    if !locked(&world.part::<Hosts>().learned).insert(key.clone()) {
        return;
    }
    let host = async { code_host(context, &core::repository::repo(world, context).await?).await };
    let config = match Box::pin(host).await {
        Ok(Ok(config)) => config,
        // No code host, so no token.
        Ok(Err(_)) => return,
        Err(error) => return did_not_learn(world, &key, &error),
    };
    let world = world.clone();
    let learning = tokio::spawn(async move {
        let Ok(host) = host_name(&config) else { return };
        match world.inner.config.keychain.read(config.kind, &host).await {
            Ok(token) => {
                core::redaction::learn_secrets(
                    &world,
                    token.as_ref().map(|token| (HOST_TOKEN, token.expose())),
                );
            }
            Err(error) => did_not_learn(&world, &key, &error),
        }
    });
    match tokio::time::timeout(KEYCHAIN_PATIENCE, learning).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the keychain was not asked for a token"),
        Err(_) => {
            tracing::warn!("the keychain does not answer: until it does, its token is not redacted");
        }
    }
}

/// Has the keychain asked again at the next start of a program.
fn did_not_learn(world: &World, key: &LearnedHost, error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(error, "the keychain's token for a code host is not known, so it is not redacted");
    locked(&world.part::<Hosts>().learned).remove(key);
}

/// What a program prints; nothing when it is missing or fails.
async fn said_by(world: &World, words: Vec<String>) -> Option<String> {
    let (name, args) = words.split_first()?;
    // Where programs are found, no more: this one is the user's own and gets all of their environment.
    let path = core::environment::user_path(world).await;
    let program = find_program(name, &path)?;
    let marker = Marker(format!("token-{}", world.inner.config.ids.new_id()));
    let command = Command::new(program, &world.inner.config.data_dir, marker)
        .args(args)
        .base(Arc::clone(&world.inner.config.environment))
        .env("PATH", path)
        .timeout(PROGRAM_PATIENCE);
    let mut kept = HeadTail::new(LONGEST_TOKEN);
    let finished = run(command, &world.inner.shutdown, |_| {}, &mut kept).await;
    finished.is_ok_and(|finished| finished.is_success()).then(|| kept.into_strings().stdout)
}

/// What was read of a task's pull request in this process; taken, to be put back.
pub(crate) fn take_read(world: &World, task: &TaskId) -> Option<Etags> {
    locked(&world.part::<Hosts>().read).remove(task)
}

/// Keeps what was read for the next look.
pub(crate) fn keep_read(world: &World, task: &TaskId, read: Etags) {
    locked(&world.part::<Hosts>().read).insert(task.clone(), read);
}

/// Whether this process looked at a task's pull request.
pub(crate) fn has_read(world: &World, task: &TaskId) -> bool {
    locked(&world.part::<Hosts>().read).contains_key(task)
}

/// When a pull request is looked at again.
pub(crate) fn next_look(
    world: &World,
    row: &PullRequestRow,
    wait_until: Option<Timestamp>,
    host: Option<&dyn Host>,
) -> Timestamp {
    let now = world.now();
    let facts = PollFacts {
        opened_at: row.created_at,
        changed_at: row.changed_at.unwrap_or(row.created_at),
        failures: row.failures,
        wait_until,
        quota: host.and_then(Host::quota),
    };
    let polite = next_poll(now, &facts, chance(world));
    let sooner = now.plus_ms(polite.since(now) / i64::from(world.inner.config.host_pace.max(1)));
    wait_until.filter(|until| *until > sooner).unwrap_or(sooner)
}

/// A number from 0 to 1, from the end of a new identity.
fn chance(world: &World) -> f64 {
    let id = world.inner.config.ids.new_id();
    let digits: String = id.chars().rev().filter(char::is_ascii_hexdigit).take(4).collect();
    u16::from_str_radix(&digits, 16).map_or(0.5, |number| f64::from(number) / f64::from(u16::MAX))
}

/// Tells that a pull request is to be looked at sooner or later than before.
pub(crate) fn due_changed(world: &World) {
    world.part::<Hosts>().due_changed.notify_one();
}

/// What a person does about an error that does not pass by itself.
pub(crate) fn remedy(error: &HostError) -> String {
    match error {
        HostError::NotSignedIn { hint, .. } => hint.clone(),
        HostError::Forbidden { .. } => "give the token the missing permission, then try again".to_owned(),
        HostError::NotFound { .. } => {
            "check owner and repository in the project's settings, and the token's permissions".to_owned()
        }
        HostError::RateLimited { .. } | HostError::Offline { .. } => {
            "Forge asks again automatically".to_owned()
        }
        HostError::Refused { .. } => "follow the host's message, then try again".to_owned(),
        HostError::Protocol { .. } => "check the code host's address in the project's settings".to_owned(),
    }
}

/// Who named a host's address: the settings as they are now, else the remote.
fn named_by(context: &ProjectContext, config: &HostConfig) -> NamedBy {
    let same = |set: &HostConfig| set.kind == config.kind && set.base_url == config.base_url;
    if context.settings.code_host.as_ref().is_some_and(same) { NamedBy::Person } else { NamedBy::Remote }
}

fn key_of(config: &HostConfig) -> String {
    format!(
        "{} {} {}/{}",
        config.kind,
        config.base_url.as_deref().unwrap_or_default(),
        config.owner,
        config.repo
    )
}
