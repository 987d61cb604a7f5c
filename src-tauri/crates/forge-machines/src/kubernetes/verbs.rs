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
    job::{JobFault, JobRef, Known, ListedJob, Look},
    kubernetes_fault::beyond_quota,
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
            Err(failed) => Err(match beyond_quota(&failed.errors) {
                // Others end in between.
                Some(said) => {
                    let why = format!("the quota of the namespace is used up ({said})");
                    JobFault::Waiting { job, why, remedy: reason::QUOTA.to_owned() }.into()
                }
                None => KubernetesFault::of_create(&failed.errors).into(),
            }),
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
        if items.is_empty() {
            self.setup.require_server(known.server).await?;
        }
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
