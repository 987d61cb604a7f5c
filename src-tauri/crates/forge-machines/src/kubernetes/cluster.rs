//! Kubernetes as a cluster among others: a shell in a Job is `kubectl exec` into its pod.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use super::{Kubernetes, KubernetesFault, manifest::CONTAINER};
use crate::{
    Fault, KeeperProgram, Step, StepName, Way,
    job::{Allocation, Cluster, JobFault, JobRef, Known, ListedJob, Look},
    kubernetes_fault::{last_said, of_node},
    shell,
};

/// The name of the keeper's program in the folder of its hash.
const KEEPER: &str = "forge-keeper";

#[async_trait]
impl Cluster for Kubernetes {
    async fn server(&self) -> Result<Option<String>, Fault> {
        self.setup().server().await.map(Some)
    }

    async fn require_server(&self, created_on: Option<&str>) -> Result<(), Fault> {
        self.setup().require_server(created_on).await
    }

    async fn submit(&self, id: &str, task: &str) -> Result<JobRef, Fault> {
        self.create(id, task).await
    }

    fn refuses_second(&self) -> bool {
        true
    }

    async fn find(&self, id: &str) -> Result<Option<JobRef>, Fault> {
        Ok(self.jobs(Some(id)).await?.into_iter().next().map(|found| found.job))
    }

    async fn list(&self) -> Result<Vec<ListedJob>, Fault> {
        self.jobs(None).await
    }

    async fn look(&self, job: &JobRef, known: Known<'_>) -> Result<Look, Fault> {
        self.seen(job, known).await
    }

    async fn cancel(&self, job: &JobRef, _: Known<'_>) -> Result<bool, Fault> {
        self.delete(job).await
    }

    async fn left(&self, _: &str) -> Result<Option<Arc<dyn Way>>, Fault> {
        // The volume goes with the pod.
        Ok(None)
    }

    async fn remove(&self, job: &JobRef, _: &str) -> Result<bool, Fault> {
        self.delete(job).await
    }

    fn root(&self) -> &str {
        &self.setup().root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.setup().keepers
    }

    fn memory_mb(&self) -> Option<u32> {
        self.setup().config.memory_mb
    }

    fn begin(&self, _: &str) -> String {
        let setup = self.setup();
        shell::begin(&setup.root, &setup.owner, &setup.keepers)
    }

    /// By the keeper's program: an image may have no `env` that can tell what is asked.
    fn environment(&self, fence: &str) -> String {
        let setup = self.setup();
        shell::environment_seen(fence, &setup.keepers, &Path::new(&setup.root).join("bin"), KEEPER)
    }

    fn memory_kills(&self) -> &'static str {
        shell::MEMORY_KILLS
    }

    fn shell(&self, running: &Allocation) -> Command<Unmarked> {
        let pod = running.place.as_ref().and_then(|place| place.pod.as_deref()).unwrap_or_default();
        self.setup().kubectl(&["exec", "-i", pod, "-c", CONTAINER, "--", "sh"])
    }

    fn not_started(&self) -> Fault {
        KubernetesFault::NoProgram.into()
    }

    /// The server is asked before. What says nothing is the node, or what it begins the shell with.
    fn silent(&self, job: &JobRef) -> Fault {
        let why = "its node does not answer `kubectl exec`".to_owned();
        let remedy = "Wait; if it lasts, look at the node of the pod.".to_owned();
        JobFault::Stalled { job: job.clone(), why, remedy }.into()
    }

    fn why_cut(&self, job: &JobRef, _: Option<Exit>, errors: &str) -> Fault {
        if let Some(said) = of_node(errors) {
            return JobFault::Disconnected { job: job.clone(), said }.into();
        }
        if let Some(fault) = KubernetesFault::of(errors) {
            return fault.into();
        }
        let said = match errors.trim().is_empty() {
            true => "the connection ended".to_owned(),
            false => last_said(errors),
        };
        JobFault::Disconnected { job: job.clone(), said }.into()
    }

    fn answers(&self) -> Step {
        let namespace = &self.setup().config.namespace;
        Step::good(StepName::Kubernetes, format!("The API server answers for the namespace {namespace}."))
    }

    async fn shares(&self, _: &str) -> Option<Step> {
        None
    }
}
