//! The real agent programs as Forge drives them: `forge serve`, asked over HTTP, with the scripted model behind them.
//!
//! What holds for every program is written once and run with each ([`with!`], [`both!`]).
//! Each scenario gives back where it took place: nothing may be left there, neither beside the engine nor without it.

/// Makes a test of each function for a program.
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
mod costs;
mod failures;
mod fixes;
mod fixture;
mod gemini;
mod interruptions;
mod opencode;
mod race;
mod tools;
mod work;
