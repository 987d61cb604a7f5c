//! Public methods of [`Engine`] for machines.

use forge_model::ids::MachineId;
use forge_model::machine::{Machine, MachineTest, SshHost};

use crate::{
    Engine,
    error::Result,
    machine::{
        self,
        command::{self, MachineChange},
    },
};

impl Engine {
    /// All machines, by name, with what is known of the contact with them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn machines(&self) -> Result<Vec<Machine>> {
        command::machines(&self.world).await
    }

    /// One machine, by id or name.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn machine(&self, id: &MachineId) -> Result<Machine> {
        command::machine(&self.world, id).await
    }

    /// Adds a machine.
    ///
    /// # Errors
    /// `Invalid`, naming what is wrong or missing; `NameTaken`.
    pub async fn create_machine(&self, new: MachineChange) -> Result<Machine> {
        command::create_machine(&self.world, new).await
    }

    /// Changes a machine. The next question to it goes the new way.
    ///
    /// # Errors
    /// `NotFound`; as [`Engine::create_machine`].
    pub async fn update_machine(&self, id: &MachineId, change: MachineChange) -> Result<Machine> {
        command::update_machine(&self.world, id, change).await
    }

    /// Removes a machine. What is on it stays: with `abandon_jobs`, jobs that were not released also, which are named.
    ///
    /// # Errors
    /// `NotFound`; `InUse` while worktrees of tasks are there, or jobs that are not to be abandoned.
    pub async fn delete_machine(&self, id: &MachineId, abandon_jobs: bool) -> Result<Vec<String>> {
        command::delete_machine(&self.world, id, abandon_jobs).await
    }

    /// Tests a machine step by step. Brings the keeper there.
    ///
    /// # Errors
    /// `NotFound`. That a step fails is an answer.
    pub async fn test_machine(&self, id: &MachineId) -> Result<MachineTest> {
        machine::test::test_machine(&self.world, id).await
    }

    /// Hosts of the user's SSH configuration that can be added as machines.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub async fn ssh_hosts(&self) -> Result<Vec<SshHost>> {
        machine::hosts::ssh_hosts(&self.world).await
    }
}
