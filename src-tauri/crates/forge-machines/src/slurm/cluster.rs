//! Slurm as a cluster among others: a shell in a job is a step of it.

use std::sync::Arc;

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use super::{LeftBehind, Slurm, SlurmFault, script};
use crate::{
    Fault, KeeperProgram, Step, StepName, Way,
    job::{Allocation, Cluster, JobFault, JobRef, Known, ListedJob, Look},
};

#[async_trait]
impl Cluster for Slurm {
    async fn submit(&self, id: &str, _: &str) -> Result<JobRef, Fault> {
        Self::submit(self, id).await
    }

    fn refuses_second(&self) -> bool {
        false
    }

    async fn find(&self, id: &str) -> Result<Option<JobRef>, Fault> {
        Self::find(self, id).await
    }

    async fn list(&self) -> Result<Vec<ListedJob>, Fault> {
        Self::list(self).await
    }

    async fn look(&self, job: &JobRef, known: Known<'_>) -> Result<Look, Fault> {
        Self::look(self, job, known).await
    }

    async fn cancel(&self, job: &JobRef, known: Known<'_>) -> Result<bool, Fault> {
        Self::cancel(self, job, known).await
    }

    async fn left(&self, id: &str) -> Result<Option<Arc<dyn Way>>, Fault> {
        let is_seen = self.sees(id).await?;
        Ok(is_seen.then(|| Arc::new(LeftBehind::new(self.clone(), id)) as Arc<dyn Way>))
    }

    async fn remove(&self, _: &JobRef, id: &str) -> Result<bool, Fault> {
        self.remove_folder(id).await.map(|()| true)
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

    fn begin(&self, id: &str) -> String {
        script::begin(&self.setup().root, &self.keeper(id), &self.setup().keepers)
    }

    fn environment(&self, fence: &str) -> String {
        script::environment(fence)
    }

    fn memory_kills(&self) -> &'static str {
        script::MEMORY_KILLS
    }

    fn shell(&self, running: &Allocation) -> Command<Unmarked> {
        let words = [
            "srun",
            &format!("--jobid={}", running.called()),
            // Beside the job's script, which has all of its processors and memory.
            "--overlap",
            "--nodes=1",
            "--ntasks=1",
            "--export=NONE",
            "--mpi=none",
            "--unbuffered",
            "--chdir=/",
            "/bin/sh",
            "-c",
            script::STEP,
        ];
        self.setup().submit.program(&words.map(str::to_owned))
    }

    fn not_started(&self) -> Fault {
        SlurmFault::NoProgram { program: "srun".to_owned(), place: self.setup().submit.place() }.into()
    }

    /// A step begins as soon as the node is there, the script of the job often only later.
    fn silent(&self, job: &JobRef) -> Fault {
        let why = "its node has not started its script".to_owned();
        let remedy = "Wait. If it takes long, check the node.".to_owned();
        JobFault::Stalled { job: job.clone(), why, remedy }.into()
    }

    fn why_cut(&self, job: &JobRef, _: Option<Exit>, errors: &str) -> Fault {
        let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last =
            last.map(|line| line.rsplit_once("error: ").map_or(line, |(_, rest)| rest).trim_end_matches('.'));
        let said = last.unwrap_or("the connection ended").to_owned();
        JobFault::Disconnected { job: job.clone(), said }.into()
    }

    fn answers(&self) -> Step {
        Step::good(StepName::Slurm, format!("The controller answers {}.", self.setup().submit.place()))
    }

    async fn shares(&self, id: &str) -> Option<Step> {
        Some(match self.sees(id).await {
            Ok(true) => Step::good(StepName::SharedFolder, "The nodes share the folder with this side."),
            Ok(false) => {
                let (folder, place) = (self.setup().root.clone(), self.setup().submit.place());
                Step::from(&Fault::from(SlurmFault::NotShared { folder, place }))
            }
            Err(fault) => Step::from(&fault),
        })
    }
}
