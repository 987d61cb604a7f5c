//! What agents are told: the prompts of coders, planners, auditors and drafters of fixes, and messages to an agent at
//! work.
//!
//! A prompt is a function of its arguments. Invariants: text that stays the same comes first, so that caches of models
//! hit; quoted text cannot end its own quotation; an agent that repeats its prompt has given no verdict and proposed no
//! lesson. Absent: I/O, the facts that a prompt is made from (`forge-engine` gathers them), redaction, reading of answers
//! (`forge-reading`).

pub mod audit;
pub mod coder;
mod correction;
pub mod fix;
pub mod layers;
pub mod message;
pub mod planner;
pub mod reflexion;
mod text;
