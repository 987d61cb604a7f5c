//! Confined programs do their work, and what they must not do is refused and told.

use anyhow::{Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::json;

use super::fixture::{EngineFixture, is};

super::with!(with_claude, Claude: work_is_merged_and_a_misdeed_is_refused);
super::with!(with_opencode, OpenCode: work_is_merged_and_a_misdeed_is_refused);
super::with!(with_gemini, Gemini: work_is_merged_and_a_misdeed_is_refused);
super::with!(with_codex, Codex: program_with_a_sandbox_of_its_own_keeps_it);

/// Writes to the user's checkout and hooks, and commits on the task's branch.
const PLANT: &str = "echo evil > \"$FORGE_REPO_PATH/README.md\"
touch \"$FORGE_REPO_PATH/.git/hooks/post-merge\"
echo mine > mine.txt
git add mine.txt
git commit --quiet --message \"by the agent\"
";

async fn fixture_with_plant(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), json!({})).await?;
    fixture.repo.write("plant.sh", PLANT)?;
    fixture.repo.commit("plant")?;
    Ok(fixture)
}

async fn work_is_merged_and_a_misdeed_is_refused(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_plant(program).await?;
    if !forge_exec::sandbox_support().files {
        eprintln!("skipped: this kernel has no Landlock");
        return Ok(fixture);
    }
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().run("sh plant.sh"))
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("It says goodbye now.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("goodbye"));
    assert_eq!(fixture.repo.show("main", "mine.txt").as_deref(), Some("mine"), "it committed");
    ensure!(!fixture.repo.path().join(".git/hooks/post-merge").exists(), "a hook was planted");
    let runs = fixture.runs(&task).await?;
    let report = &runs[0]["sandbox"];
    assert_eq!((&report["mode"], &report["state"]), (&json!("files"), &json!("enforced")), "{report:#}");
    // Gemini tells nobody what its commands print.
    if program != AgentProgram::Gemini {
        ensure!(report["refused"].as_u64() >= Some(2), "{report:#}");
        ensure!(report["paths"].to_string().contains("post-merge"), "{report:#}");
    }
    Ok(fixture)
}

async fn program_with_a_sandbox_of_its_own_keeps_it(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    let turn = Turn::new().edit("README.md", "hello", "goodbye");
    let tag = fixture.server.script(Scenario::new("work").turn(turn).turn(Turn::new().say("Done.")));
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.runs(&task).await?[0]["sandbox"]["state"], "own");
    Ok(fixture)
}
