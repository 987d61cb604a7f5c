//! Readers of text that Forge did not write: what agents say, what failing commands print, and what files of other
//! tools ask for.
//!
//! Text comes in as an argument, and types of `forge-model` come out. Invariants: any text is read without a panic; what
//! is read from a stream is read in bounded memory and depends on no split of it; what is not in the expected form is
//! left out or refused with a reason, and never guessed. Absent: I/O, decisions about tasks, the protocols of agent
//! programs (`forge-agents`), source code of a repository (`forge-source`).

mod blocks;
pub mod check_offer;
mod compared;
pub mod complaint;
pub mod diagnostic;
mod fence;
pub mod identity;
pub mod imports;
pub mod issue_file;
pub mod lesson;
pub mod measured_review;
mod normalised;
pub mod patch;
pub mod refusal;
pub mod service_offer;
pub mod speech;
pub mod trajectory;
pub mod verdict;
