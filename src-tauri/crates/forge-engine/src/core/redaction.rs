//! The secrets that this engine knows, and the sink that removes them from the output of programs.
//!
//! Secrets are learned where they turn up: the environments that programs start from, what an agent's profile sets,
//! the tokens of code hosts. All of them are redacted in the texts of every project; a project's own patterns apply
//! to its own texts. Output is redacted before anything reads it ([`Redacting`], and the readers of agent programs
//! by their log), so that logs, evidence, diagnoses and prompts made of it hold no secret. The store redacts once
//! more (`forge-store`, `Tx`), since it also receives texts of git and of hosts.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use forge_agents::{RunCommand, RunOutcome};
use forge_exec::{OutputSink, Stream, Variables};
use forge_model::{
    environment::looks_secret,
    ids::{ProjectId, TaskId},
    redact::{RedactedStream, Redactor, Secret, is_secret_value},
};
use serde_json::Value;

use crate::{
    World,
    core::{context::ProjectContext, sync::locked},
    error::Result,
};

/// Variables whose values are names that programs print everywhere.
const NAMES: [&str; 4] = ["USER", "LOGNAME", "HOSTNAME", "HOME"];

/// The secrets that are known in this process, and what finds them.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    secrets: BTreeSet<Secret>,
    names: BTreeSet<String>,
    /// By the patterns that they find besides.
    redactors: HashMap<Vec<String>, Arc<Redactor>>,
}

impl Secrets {
    /// Adds secrets by their names. Whether one of them is new.
    fn learn<'s>(&self, secrets: impl IntoIterator<Item = (&'s str, &'s str)>) -> bool {
        let mut known = locked(&self.0);
        let mut is_new = false;
        for (name, value) in secrets {
            if is_secret_value(value) {
                let secret = Secret { name: name.to_owned(), value: value.trim().to_owned() };
                is_new |= known.secrets.insert(secret);
            }
        }
        if is_new {
            known.redactors.clear();
        }
        is_new
    }

    fn redactor(&self, patterns: &[String]) -> Arc<Redactor> {
        let mut known = locked(&self.0);
        if let Some(redactor) = known.redactors.get(patterns) {
            return Arc::clone(redactor);
        }
        let secrets: Vec<_> = known.secrets.iter().cloned().collect();
        let names: Vec<_> = known.names.iter().map(String::as_str).collect();
        let redactor = Arc::new(Redactor::new(&secrets, &names, patterns));
        known.redactors.insert(patterns.to_vec(), Arc::clone(&redactor));
        redactor
    }
}

/// Learns secrets by the names that stand in their places from now on.
pub(crate) fn learn_secrets<'s>(world: &World, secrets: impl IntoIterator<Item = (&'s str, &'s str)>) {
    if world.part::<Secrets>().learn(secrets) {
        world.inner.store.redact_by(general_redactor(world));
    }
}

/// What takes known secrets and well-known formats out of texts that belong to no project.
pub(crate) fn general_redactor(world: &World) -> Arc<Redactor> {
    world.part::<Secrets>().redactor(&[])
}

/// What takes secrets out of the texts of a project with this id. The patterns of a project that nothing was done for
/// yet are not known.
pub(crate) fn redactor_of_project(world: &World, project: &ProjectId) -> Arc<Redactor> {
    let context = super::contexts::known_context(world, project);
    context.map_or_else(|| general_redactor(world), |context| redactor_in(world, &context))
}

/// Learns the secrets of this process's own environment.
pub(crate) fn learn_own_secrets(world: &World) {
    let config = &world.inner.config;
    let text = |name: &str| config.environment.get(std::ffi::OsStr::new(name))?.to_str().map(str::to_owned);
    locked(&world.part::<Secrets>().0).names = NAMES.iter().filter_map(|name| text(name)).collect();
    learn_variables(world, &config.environment);
    learn_secrets(world, config.token_variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    // The store finds the well-known formats in any case.
    world.inner.store.redact_by(general_redactor(world));
}

/// Learns what looks like a secret among variables.
pub(crate) fn learn_variables(world: &World, variables: &Variables) {
    let secrets = variables.iter().filter(|(name, _)| looks_secret(name));
    learn_secrets(world, secrets.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?))));
}

/// Learns what looks like a secret among the variables that an agent's profile sets.
pub(crate) fn learn_profile(world: &World, config: &Value) {
    let env = config.get("env").and_then(Value::as_object).into_iter().flatten();
    let secrets = env.filter(|(name, _)| looks_secret(std::ffi::OsStr::new(name)));
    learn_secrets(world, secrets.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))));
}

/// Learns the secrets of all profiles: what an earlier engine logged is read before any of them is used.
///
/// # Errors
/// When the profiles cannot be read.
pub(crate) async fn learn_profiles(world: &World) -> Result<()> {
    for agent in world.store().read().await?.agents().list().await? {
        learn_profile(world, &agent.config);
    }
    Ok(())
}

/// What takes secrets out of a project's texts.
pub(crate) fn redactor_in(world: &World, context: &ProjectContext) -> Arc<Redactor> {
    world.part::<Secrets>().redactor(&context.settings.redact)
}

/// A project's text without its secrets, for what leaves the database by another way than a log: messages of
/// commits, which are pushed to code hosts, variables of programs, notifications.
pub(crate) fn redacted_in(world: &World, context: &ProjectContext, text: String) -> String {
    redactor_in(world, context).string(text)
}

/// What takes secrets out of a task's texts.
pub(crate) async fn redactor_of_task(world: &World, id: &TaskId) -> Result<Arc<Redactor>> {
    let mut conn = world.store().read().await?;
    let Some(task) = conn.tasks().get(id).await? else { return Ok(general_redactor(world)) };
    Ok(redactor_in(world, &*super::contexts::context_of(world, &mut conn, &task).await?))
}

/// What a run came to, without the secrets in its words.
pub(crate) fn redacted_outcome(redactor: &Redactor, outcome: RunOutcome) -> RunOutcome {
    RunOutcome {
        summary: outcome.summary.map(|text| redactor.string(text)),
        activity: redactor.string(outcome.activity),
        ..outcome
    }
}

/// What a run is told, without the secrets in its words.
pub(crate) fn redacted_command(redactor: &Redactor, command: RunCommand) -> RunCommand {
    match command {
        RunCommand::Say { id, text } => RunCommand::Say { id, text: redactor.string(text) },
        other => other,
    }
}

/// Output that goes to another sink without its secrets.
pub(crate) struct Redacting<'s> {
    sink: &'s mut (dyn OutputSink + Send),
    stdout: RedactedStream,
    stderr: RedactedStream,
}

impl<'s> Redacting<'s> {
    pub(crate) fn new(sink: &'s mut (dyn OutputSink + Send), redactor: &Arc<Redactor>) -> Self {
        Self { sink, stdout: redactor.stream(), stderr: redactor.stream() }
    }

    /// Hands on the lines that never got an end.
    pub(crate) async fn finish(mut self) -> io::Result<()> {
        for (stream, rest) in [(Stream::Stdout, self.stdout.finish()), (Stream::Stderr, self.stderr.finish())]
        {
            if !rest.is_empty() {
                self.sink.write(stream, &rest).await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl OutputSink for Redacting<'_> {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let redacted = match stream {
            Stream::Stdout => self.stdout.push(bytes),
            Stream::Stderr => self.stderr.push(bytes),
        };
        if redacted.is_empty() { Ok(()) } else { self.sink.write(stream, &redacted).await }
    }
}

#[cfg(test)]
mod tests {
    use forge_exec::HeadTail;

    use super::*;

    #[tokio::test]
    async fn secret_that_comes_in_two_writes_is_redacted_in_the_stream_that_it_comes_by() {
        let secrets = Secrets::default();
        assert!(secrets.learn([("DB_PASSWORD", "s3cret-of-mine"), ("X_TOKEN", "true")]));
        assert!(!secrets.learn([("DB_PASSWORD", "s3cret-of-mine")]), "it is known");
        let mut kept = HeadTail::new(1000);
        let mut sink = Redacting::new(&mut kept, &secrets.redactor(&["cust-[0-9]+".to_owned()]));
        sink.write(Stream::Stdout, b"a s3cret").await.expect("written");
        sink.write(Stream::Stderr, b"-of-mine\n").await.expect("written");
        sink.write(Stream::Stdout, b"-of-mine\ncust-1").await.expect("written");
        sink.finish().await.expect("written");
        let kept = kept.into_strings();
        assert_eq!(kept.stdout, "a [redacted: DB_PASSWORD]\n[redacted: PATTERN_1]");
        assert_eq!(kept.stderr, "-of-mine\n");
    }
}
