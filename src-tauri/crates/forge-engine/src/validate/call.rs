//! A call of `validate`: its input, its project and its id.

use crate::validate::place::Validated;
use forge_model::validate::ValidateInput;

/// A call's place, what it checks, and what it is called among the attempts.
pub(crate) struct Call {
    /// Where.
    pub(crate) at: Validated,
    /// What.
    pub(crate) input: ValidateInput,
    /// Which call it is: one that is made again takes the place of the attempt it made before.
    pub(crate) id: String,
}
