//! Public methods of [`Engine`] for the growth of logs.

use crate::{
    Engine,
    program::{self, growth::Growths},
};

impl Engine {
    /// Listens to the growth of logs from now on.
    #[must_use]
    pub fn log_growth(&self) -> Growths {
        program::growth::log_growth(&self.world)
    }
}
