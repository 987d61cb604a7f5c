//! The verbs, each of which may be repeated.

use std::sync::Arc;

use serde_json::Value;

use super::{
    KubernetesFault, KubernetesSetup,
    manifest::{self, manifest, selector},
    object::text,
    pod::waiting,
    reason,
    state::{Seen, seen},
};
use crate::{
    Fault,
    job::{JobRef, Known, ListedJob, Look},
    kubernetes_fault::short,
};

/// A namespace of a cluster. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Kubernetes {
    setup: Arc<KubernetesSetup>,
}

impl Kubernetes {
    /// A cluster that nobody asks yet.
    #[must_use]
    pub fn new(setup: KubernetesSetup) -> Self {
        Self { setup: Arc::new(setup) }
    }

    /// What its Jobs ask for, and how they are created.
    #[must_use]
    pub fn setup(&self) -> &KubernetesSetup {
        &self.setup
    }

    /// Creates a Job. One that was created as the same is left as it is.
    pub(super) async fn create(&self, id: &str, task: &str) -> Result<JobRef, Fault> {
        let manifest = manifest(&self.setup, id, task).to_string().into_bytes();
        // Its kinds are known here: without them, the server is not asked for all of them first.
        let words = ["create", "--filename=-", "--validate=false", "--output=name"];
        let job = JobRef(manifest::name(id));
        match self.setup.run(&words, Some(manifest)).await? {
            Ok(_) => Ok(job),
            Err(failed) if failed.errors.contains("(AlreadyExists)") => Ok(job),
            Err(failed) => Err(match KubernetesFault::of(&failed.errors) {
                Some(fault) => fault,
                None => KubernetesFault::Refused { said: refusal(&failed.errors) },
            }
            .into()),
        }
    }

    /// The Jobs of this owner, or the one that was created as this.
    pub(super) async fn jobs(&self, id: Option<&str>) -> Result<Vec<ListedJob>, Fault> {
        let selector = selector(&self.setup.owner, id);
        let items = self.setup.items(&["get", "jobs.v1.batch", &selector]).await?;
        let read = |item: &Value| {
            let id = manifest::id_of(item)?.to_owned();
            Some(ListedJob { job: JobRef(text(item, "/metadata/name").to_owned()), id })
        };
        Ok(items.iter().filter_map(read).collect())
    }

    /// How a Job is.
    pub(super) async fn seen(&self, job: &JobRef, known: Known<'_>) -> Result<Look, Fault> {
        let items = self.setup.items(&["get", "jobs.v1.batch,pods", &self.selector_of(job)]).await?;
        match seen(job, &items, known) {
            Seen::Is(look) => Ok(look),
            Seen::NoPod => self.without_pod(job).await,
        }
    }

    /// Why a Job has no pod. Who may not read events is told only that there is none.
    async fn without_pod(&self, job: &JobRef) -> Result<Look, Fault> {
        let of = format!("--field-selector=involvedObject.kind=Job,involvedObject.name={job}");
        let events = match self.setup.items(&["get", "events", &of]).await {
            Ok(events) => events,
            Err(Fault::Kubernetes(KubernetesFault::Forbidden { .. })) => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let none = || ("Kubernetes has not made its pod yet".to_owned(), String::new());
        let (why, remedy) = reason::of_events(&events).unwrap_or_else(none);
        Ok(waiting(job, why, remedy))
    }

    /// Deletes a Job with its pods. Whether neither is there any more: a Job that is being deleted stays until its pods are
    /// gone.
    pub(super) async fn delete(&self, job: &JobRef) -> Result<bool, Fault> {
        let selector = self.selector_of(job);
        let kinds = "jobs.v1.batch,pods";
        self.setup
            .ask(&["delete", kinds, &selector, "--cascade=foreground", "--wait=false", "--ignore-not-found"])
            .await?;
        Ok(self.setup.items(&["get", kinds, &selector]).await?.is_empty())
    }

    fn selector_of(&self, job: &JobRef) -> String {
        manifest::selector_of(&self.setup.owner, job)
    }
}

/// What the server said of a Job that it refuses. Each field that is not valid may be on a line of its own.
fn refusal(errors: &str) -> String {
    let lines = errors.lines().map(str::trim).filter(|line| !line.starts_with("Warning: "));
    let said = short(&lines.collect::<Vec<_>>().join(" "));
    let said = said.split_once("error when creating \"STDIN\": ").map_or(said.as_str(), |(_, rest)| rest);
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let said = said.strip_prefix("Error from server ").unwrap_or(said);
    said.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_told_without_what_every_one_begins_with() {
        let said = "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch \"x\" is forbidden: exceeded quota: few\n";
        assert_eq!(refusal(said), "jobs.batch \"x\" is forbidden: exceeded quota: few");
        let said = "Warning: x is deprecated\nThe Job \"x\" is invalid: \n* spec.a: Required value\n* spec.b: Invalid value\n";
        assert_eq!(
            refusal(said),
            "The Job \"x\" is invalid: * spec.a: Required value * spec.b: Invalid value"
        );
        let said = "Error from server (NotFound): namespaces \"nowhere\" not found\n";
        assert_eq!(refusal(said), "(NotFound): namespaces \"nowhere\" not found");
    }
}
