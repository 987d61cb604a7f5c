//! Running `kubectl`.

use std::{sync::Arc, time::Duration};

use forge_exec::{
    Caps, CollectError, Collected, Command, ExecError, Exit, Stdin, Unmarked, Variables, collect,
};
use serde_json::Value;

use super::{KubernetesFault, KubernetesSetup};
use crate::Fault;

/// The program.
const KUBECTL: &str = "kubectl";

/// How long one request may take. A command makes several, first of all those that ask what kinds there are.
const REQUEST_WITHIN: &str = "--request-timeout=20s";

/// How long a command may take. A plugin that signs in runs meanwhile.
const ANSWERS_WITHIN: Duration = Duration::from_secs(90);

/// How much is read of an answer.
const CAPS: Caps = Caps { stdout: 32 * 1024 * 1024, stderr: 64 * 1024 };

/// What a command left that failed.
pub(super) struct Failed {
    /// What it printed as errors.
    pub(super) errors: String,
}

/// Runs a command to its end: what it printed, or how it failed.
async fn run(command: Command<Unmarked>, input: Option<Vec<u8>>) -> Result<Result<Vec<u8>, Failed>, Fault> {
    let command = command.timeout(ANSWERS_WITHIN);
    let command = match input {
        Some(input) => command.stdin(Stdin::Bytes(input)),
        None => command,
    };
    match collect(command, CAPS).await {
        Ok(Collected { exit: Exit::Code(0), stdout, .. }) => Ok(Ok(stdout)),
        Ok(Collected { stderr, .. }) => {
            Ok(Err(Failed { errors: String::from_utf8_lossy(&stderr).into_owned() }))
        }
        Err(CollectError::Run(ExecError::NoProgram { .. })) => Err(KubernetesFault::NoProgram.into()),
        // This computer lacks something for the moment.
        Err(error @ CollectError::Run(_)) => Err(KubernetesFault::Server { said: error.to_string() }.into()),
        Err(CollectError::TimedOut { after, .. }) => {
            let said = format!("kubectl did not answer within {} s", after.as_secs());
            Err(KubernetesFault::Server { said }.into())
        }
        Err(error @ CollectError::TooMuchOutput { .. }) => {
            Err(KubernetesFault::Server { said: error.to_string() }.into())
        }
    }
}

/// The context that `kubectl` uses when none is named.
///
/// # Errors
/// When there is none, or `kubectl` cannot be asked.
pub async fn current_context(kubeconfig: Option<&str>, environment: Arc<Variables>) -> Result<String, Fault> {
    let file = kubeconfig.map(|file| format!("--kubeconfig={file}"));
    let command = Command::tool(KUBECTL, "/")
        .args(file)
        .args(["config", "current-context"])
        .base(environment)
        .without_terminal();
    let told = run(command, None).await?;
    let told = told.map_err(|failed| Fault::from(KubernetesFault::of_any(&failed.errors)))?;
    let context = String::from_utf8_lossy(&told).trim().to_owned();
    match context.is_empty() {
        true => Err(KubernetesFault::Configuration { said: "current-context is not set".to_owned() }.into()),
        false => Ok(context),
    }
}

impl KubernetesSetup {
    /// The address of the server that the configuration leads to now.
    pub(super) async fn server(&self) -> Result<String, Fault> {
        let words = ["config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}"];
        let told = self.ask(&words).await?;
        let server = String::from_utf8_lossy(&told).trim().to_owned();
        match server.is_empty() {
            true => {
                Err(KubernetesFault::Configuration { said: "its context names no server".to_owned() }.into())
            }
            false => Ok(server),
        }
    }

    /// Refuses when a Job was created on another server than the one that is asked now.
    pub(super) async fn require_server(&self, created_on: Option<&str>) -> Result<(), Fault> {
        let Some(created_on) = created_on else { return Ok(()) };
        let now = self.server().await?;
        match now == created_on {
            true => Ok(()),
            false => Err(KubernetesFault::elsewhere(created_on, &now).into()),
        }
    }

    /// A command with what says where the cluster is.
    pub(super) fn kubectl(&self, words: &[&str]) -> Command<Unmarked> {
        let config = &self.config;
        let place = [
            config.kubeconfig.as_ref().map(|file| format!("--kubeconfig={file}")),
            config.context.as_ref().map(|context| format!("--context={context}")),
            Some(format!("--namespace={}", config.namespace)),
        ];
        Command::tool(KUBECTL, "/")
            .args(place.into_iter().flatten())
            .args(words)
            .base(Arc::clone(&self.environment))
            .without_terminal()
    }

    /// Runs a command to its end: what it printed, or how it failed.
    pub(super) async fn run(
        &self,
        words: &[&str],
        input: Option<Vec<u8>>,
    ) -> Result<Result<Vec<u8>, Failed>, Fault> {
        let words = [words, &[REQUEST_WITHIN]].concat();
        run(self.kubectl(&words), input).await
    }

    /// Runs a command that fails only when something is wrong with the way to the cluster.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Vec<u8>, Fault> {
        let answer = self.run(words, None).await?;
        answer.map_err(|failed| KubernetesFault::of_any(&failed.errors).into())
    }

    /// Lists objects.
    pub(super) async fn items(&self, words: &[&str]) -> Result<Vec<Value>, Fault> {
        let words = [words, &["--output=json"]].concat();
        let told = self.ask(&words).await?;
        let unread = |error: serde_json::Error| KubernetesFault::Server {
            said: format!("what it tells cannot be read ({error})"),
        };
        let mut list: Value = serde_json::from_slice(&told).map_err(unread)?;
        Ok(match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        })
    }
}
