//! The real agent programs as Forge drives them: `forge serve`, asked over HTTP, with the scripted model behind them.
//!
//! What holds for every program is written once and run with each ([`both!`]).

/// Makes a test of each function for each program.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod with_codex {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() -> anyhow::Result<()> {
                super::$name(forge_testkit::models::AgentProgram::Codex).await
            })*
        }
        mod with_claude {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() -> anyhow::Result<()> {
                super::$name(forge_testkit::models::AgentProgram::Claude).await
            })*
        }
    };
}
use both;

mod asks;
mod costs;
mod cut;
mod floor;
mod troubles;
mod work;
