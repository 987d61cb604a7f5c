//! The public face of the engine: one method for each thing that it is asked, which calls the feature that does it.

mod cost;
mod fix;
mod hook;
mod knowledge;
mod merge;
mod program;
mod project;
mod pull_request;
mod race;
mod read;
mod review;
mod run;
mod shared;
mod storage;
mod task;
mod validate;
mod workspace;
