//! The real agent programs driven by `forge serve` over HTTP, with a scripted model behind them.
//!
//! Scenarios that hold for every program are written once and run with each ([`with!`], [`both!`]). Each scenario
//! returns its fixture, which must be left without processes, both beside the engine and after it ended. Its folder is
//! none for temporary files, so that programs are confined as they are in a user's home.

/// Defines a test of each scenario for a program.
macro_rules! with {
    ($module:ident, $program:ident: $($name:ident),* $(,)?) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() -> anyhow::Result<()> {
                super::$name(forge_testkit::models::AgentProgram::$program).await?.assert_no_leftovers().await
            })*
        }
    };
}
use with;

/// The same for codex and claude.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        crate::engine::with!(with_codex, Codex: $($name),*);
        crate::engine::with!(with_claude, Claude: $($name),*);
    };
}
use both;

mod approvals;
mod confined;
mod costs;
mod failures;
mod fixes;
mod fixture;
mod gemini;
mod interruptions;
mod opencode;
mod race;
mod restarts;
mod tools;
mod work;
