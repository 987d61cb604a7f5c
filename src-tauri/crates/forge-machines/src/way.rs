//! What differs from kind to kind of machine: how a shell there is had, and what is said when there is none.
//!
//! A machine is an argv prefix that gives a stream of bytes. Everything else is the same for all: one session that begins
//! with a script and becomes the relay ([`session`](crate::session)), contact and attempts ([`machine`](crate::machine)),
//! the environment of a login, and what a test looks at.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use crate::{Fault, KeeperProgram};

/// How a session shares its connection, where connections can be shared.
#[derive(Debug, Clone, Copy)]
pub enum Sharing<'p> {
    /// It makes the connection, which others use by this socket.
    Master(&'p Path),
    /// It uses the connection that another one made, while there is one. It never makes one that others would use:
    /// whoever waits for its end would wait for theirs.
    Client(&'p Path),
    /// It has a connection of its own.
    Alone,
}

/// The way to one machine.
#[async_trait]
pub trait Way: fmt::Debug + Send + Sync + 'static {
    /// What the machine is called in messages.
    fn name(&self) -> &str;

    /// The folder there that holds everything of Forge.
    fn root(&self) -> &str;

    /// The keepers that can run there.
    fn keepers(&self) -> &[KeeperProgram];

    /// By which name the machine is known from earlier.
    fn known_as(&self) -> Option<&str> {
        None
    }

    /// Makes ready what a session needs, before each one.
    ///
    /// # Errors
    /// When the machine cannot be used.
    async fn prepare(&self) -> Result<(), Fault>;

    /// What the shell of a session does: it becomes the relay.
    fn begin(&self) -> String;

    /// What a shell does to tell the environment of a login: sections between fences, of which later ones win.
    fn environment(&self, fence: &str) -> String;

    /// What a shell does to tell how often the kernel killed something there since it took too much memory.
    fn memory_kills(&self) -> &'static str {
        crate::shell::MEMORY_KILLS
    }

    /// A socket by which a session can be shared.
    fn new_control_path(&self) -> Option<PathBuf> {
        None
    }

    /// Runs a shell there, which is told by its input what to do. With `detailed`, it tells how far it is.
    fn shell(&self, sharing: Sharing<'_>, detailed: bool) -> Command<Unmarked>;

    /// Runs a program there with these arguments, each of which is a plain word for any shell. None where the way leads
    /// to nowhere else.
    fn program(&self, _: Sharing<'_>, _: &[String]) -> Option<Command<Unmarked>> {
        None
    }

    /// The program of [`shell`](Self::shell) could not be started.
    fn not_started(&self, said: String) -> Fault;

    /// The shell says nothing.
    fn silent(&self) -> Fault {
        Fault::Silent { host: self.name().to_owned() }
    }

    /// Whether a shell that ends with this code was none: the program that leads there failed.
    fn is_of_the_way(&self, code: i32) -> bool;

    /// Why a shell ended, by how its program did, unless that was stopped, and by what it printed as errors.
    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault;
}

#[async_trait]
impl<W: Way + ?Sized> Way for Arc<W> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn root(&self) -> &str {
        (**self).root()
    }

    fn keepers(&self) -> &[KeeperProgram] {
        (**self).keepers()
    }

    fn known_as(&self) -> Option<&str> {
        (**self).known_as()
    }

    async fn prepare(&self) -> Result<(), Fault> {
        (**self).prepare().await
    }

    fn begin(&self) -> String {
        (**self).begin()
    }

    fn environment(&self, fence: &str) -> String {
        (**self).environment(fence)
    }

    fn memory_kills(&self) -> &'static str {
        (**self).memory_kills()
    }

    fn new_control_path(&self) -> Option<PathBuf> {
        (**self).new_control_path()
    }

    fn shell(&self, sharing: Sharing<'_>, detailed: bool) -> Command<Unmarked> {
        (**self).shell(sharing, detailed)
    }

    fn program(&self, sharing: Sharing<'_>, words: &[String]) -> Option<Command<Unmarked>> {
        (**self).program(sharing, words)
    }

    fn not_started(&self, said: String) -> Fault {
        (**self).not_started(said)
    }

    fn silent(&self) -> Fault {
        (**self).silent()
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        (**self).is_of_the_way(code)
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        (**self).why_it_ended(exit, errors).await
    }
}
