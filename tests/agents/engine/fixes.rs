//! Fixes that real programs draft from the diagnostics of broken work: one turn without edits, a patch that git
//! checks, and the failed check run again. The Rust compiler runs itself; the output of the other tools is
//! recorded.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, is, text};

super::both!(diagnostic_of_each_tool_is_fixed_by_a_draft);

/// A file with a diagnostic of a tool.
struct BrokenFile {
    path: &'static str,
    lines: &'static str,
    /// The broken line and its replacement.
    change: (&'static str, &'static str),
    /// The check that reports the diagnostic and fails.
    check: &'static str,
}

const BROKEN: [BrokenFile; 5] = [
    BrokenFile {
        path: "src/total.rs",
        lines: "pub fn total(items: &[u32]) -> u32 {\n    let sum: u32 = \"0\";\n    items.iter().sum::<u32>() + sum\n}\n",
        change: ("    let sum: u32 = \"0\";", "    let sum: u32 = 0;"),
        check: "rustc --edition 2024 --crate-type lib --emit metadata --out-dir \"$(mktemp -d)\" src/total.rs",
    },
    BrokenFile {
        path: "src/total.ts",
        lines: "export function total(items: number[]): number {\n  return 'none';\n}\n",
        change: ("  return 'none';", "  return items.length;"),
        check: "grep -q items.length src/total.ts || {\necho \"src/total.ts(2,3): error TS2322: Type 'string' is not assignable to type 'number'.\"\nexit 2; }",
    },
    BrokenFile {
        path: "lib/a.js",
        lines: "var x = 1\nexport const one = 1\n",
        change: ("var x = 1", "export const x = 1"),
        check: "grep -q 'export const x' lib/a.js || {\nprintf \"\\n$PWD/lib/a.js\\n  1:5  error  'x' is assigned a value but never used  no-unused-vars\\n\\n✖ 1 problem (1 error, 0 warnings)\\n\\n\"\nexit 1; }",
    },
    BrokenFile {
        path: "totals.py",
        lines: "def total(items):\n    result = 0\n    for item in items:\n        result += item[\"price\"]\n    return result\n",
        change: ("        result += item[\"price\"]", "        result += item[\"cost\"]"),
        check: "grep -q cost totals.py || {\ncat <<'END'\nF                                                                        [100%]\n=================================== FAILURES ===================================\n_______________________________ test_missing_key _______________________________\n\n    def test_missing_key():\n>       total([{\"cost\": 1}])\n\ntests/test_totals.py:9: \n_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ \n\n>           result += item[\"price\"]\nE           KeyError: 'price'\n\ntotals.py:4: KeyError\n=========================== short test summary info ============================\nFAILED tests/test_totals.py::test_missing_key - KeyError: 'price'\n1 failed in 0.08s\nEND\nexit 1; }",
    },
    BrokenFile {
        path: "sums/sums.go",
        lines: "package sums\n\nimport \"fmt\"\n\nfunc Say(n int) {\n\tfmt.Printf(\"%s\", n)\n}\n",
        change: ("\tfmt.Printf(\"%s\", n)", "\tfmt.Printf(\"%d\", n)"),
        check: "grep -q %d sums/sums.go || {\necho '# example.com/shop/sums' >&2\necho 'sums/sums.go:6:2: fmt.Printf format %s has arg 1 of wrong type int' >&2\nexit 1; }",
    },
];

const DRAFT: Tokens = Tokens { input_uncached: 300, cache_read: 0, cache_write: 0, output: 60, reasoning: 0 };

impl BrokenFile {
    /// The smallest patch that fixes the file.
    fn patch(&self) -> Result<String> {
        let (from, to) = self.change;
        let count = self.lines.lines().count();
        let at = self.lines.lines().position(|line| line == from).context("no such line")?;
        let mut hunk = String::new();
        for (index, line) in self.lines.lines().enumerate() {
            hunk.push_str(&if index == at { format!("-{line}\n+{to}\n") } else { format!(" {line}\n") });
        }
        let path = self.path;
        Ok(format!("--- a/{path}\n+++ b/{path}\n@@ -1,{count} +1,{count} @@\n{hunk}"))
    }

    fn name(&self) -> String {
        self.path.replace(['/', '.'], "-")
    }
}

async fn diagnostic_of_each_tool_is_fixed_by_a_draft(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::new(program).await?;
    for broken in BROKEN {
        let work = fixture.server.script(
            Scenario::new(broken.name())
                .turn(Turn::new().write(broken.path, broken.lines))
                .turn(Turn::new().say("Written.")),
        );
        let asked = format!("Draft the smallest patch of `{}`", broken.path);
        let answer = format!("```diff\n{}```\n", broken.patch()?);
        let draft = format!("draft-{}", broken.name());
        fixture
            .server
            .script(Scenario::new(&draft).untagged(asked).turn(Turn::new().say(answer).tokens(DRAFT)));
        fixture.set(json!({ "review_config": { "ci_steps": [broken.check] } })).await?;
        let once = json!({ "task_state_config": { "retry_budgets": { "review": 0 } } });
        let task = fixture.started(&work, once).await?;
        fixture.wait_for_task(&task, is("blocked")).await?;
        let fix = wait_for_proposal(&fixture, &task, "drafted").await?;
        assert_eq!(fix["files"], json!([broken.path]), "{fix:#}");
        assert_eq!(content(&fixture, &task, &broken)?, broken.lines, "a draft changes nothing");

        let requests = fixture.server.requests().of(&draft);
        ensure!(requests.len() == 1, "one turn: {}", requests.len());
        ensure!(!requests[0].remembers("Written."), "it is not the coder's conversation");
        let runs = fixture.runs(&task).await?;
        let run = runs.iter().find(|run| run["id"] == fix["executionId"]).context("no run")?;
        assert_eq!((&run["role"], &run["status"]), (&json!("drafter"), &json!("finished")));
        ensure!(fix["costMicroUsd"].as_u64() > Some(0) && fix["costMicroUsd"] == run["cost_micro_usd"]);

        let path = format!("/fixes/{}/apply", text(&fix, "fixId"));
        fixture.post(&path, json!({})).await?;
        let verified = wait_for_proposal(&fixture, &task, "verified").await?;
        assert_eq!(verified["verification"]["passed"], true);
        let (from, to) = broken.change;
        assert_eq!(content(&fixture, &task, &broken)?, broken.lines.replace(from, to));
    }
    Ok(fixture)
}

/// Waits until the task's only proposal has a status.
async fn wait_for_proposal(fixture: &EngineFixture, task: &Value, status: &str) -> Result<Value> {
    let path = format!("/tasks/{}/fixes/drafts", text(task, "id"));
    let only = |all: &Value| all["proposals"][0]["status"].eq(status).then(|| all["proposals"][0].clone());
    fixture.until(&format!("a fix that is {status}"), &path, only).await
}

/// The broken file on the task's branch.
fn content(fixture: &EngineFixture, task: &Value, broken: &BrokenFile) -> Result<String> {
    let branch = format!("forge/{}", text(task, "id"));
    fixture.repo.show(&branch, broken.path).map(|text| text + "\n").context("it is not there")
}
