//! The way to what a job left: a keeper where jobs are submitted works in the folder of the job's own.

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use super::Slurm;
use crate::{Fault, JobFault, KeeperProgram, Sharing, Way, shell};

/// What a job left that is over.
#[derive(Debug)]
pub struct LeftBehind {
    slurm: Slurm,
    id: String,
    name: String,
}

impl LeftBehind {
    /// Of the job that was submitted as this.
    #[must_use]
    pub fn new(slurm: Slurm, id: &str) -> Self {
        let name = slurm.name(id);
        Self { slurm, id: id.to_owned(), name }
    }
}

#[async_trait]
impl Way for LeftBehind {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &str {
        &self.slurm.setup().root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.slurm.setup().keepers
    }

    async fn prepare(&self) -> Result<(), Fault> {
        match self.slurm.sees(&self.id).await? {
            true => Ok(()),
            false => Err(JobFault::NoJob.into()),
        }
    }

    fn begin(&self) -> String {
        shell::begin(self.root(), &self.slurm.keeper(&self.id), self.keepers())
    }

    fn environment(&self, fence: &str) -> String {
        shell::environment(fence)
    }

    fn shell(&self, _: Sharing<'_>, _: bool) -> Command<Unmarked> {
        self.slurm.setup().submit.program(&["sh".to_owned()])
    }

    fn not_started(&self, said: String) -> Fault {
        Fault::Ended { host: self.name.clone(), said }
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        code != 0
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        match exit {
            Some(Exit::Code(1..=3)) => Fault::of_folder(&self.name, self.root(), errors),
            _ => Fault::Ended { host: self.name.clone(), said: "the connection ended".to_owned() },
        }
    }
}
