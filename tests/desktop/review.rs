//! Reviews in the window: work rejected with line comments, a conflict that the agent resolves, and findings of an
//! auditor that link to their lines.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_tests::{patience::until, webdriver::keys, window::Window};
use serde_json::{Value, json};

use crate::{
    access::{clean, load, violations},
    fixture::{ProjectFixture, go, reach, read, text},
    scripted::{Gate, block, scripted},
};

#[tokio::test]
async fn work_rejected_with_line_comments_comes_back_fixed() -> Result<()> {
    let window = Window::open().await?;
    let outcome = comments_reach_the_agent(&window).await;
    window.end("review-comments", outcome).await
}

async fn comments_reach_the_agent(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let gate = Gate::new(window, "second");
    let first = r#"edit counting.txt <<< "one\ntwo\nthree\nfour\nfive\nsix\n"
summary I counted to six."#;
    let second = gate.before(
        r#"edit counting.txt <<< "zero\none\nzwei\nthree\nfour\ncinq\nsix\n"
summary I count from zero, in three languages."#,
    );
    let told = [block("", first), block(" attempt=2", &second)].concat();
    let task = started(window, &fixture, "Count to six", &told, json!({})).await?;
    load(window).await?;
    go(page, &format!("#/task/{}/1", fixture.project_id)).await?;
    page.named("button", "Approve").await?;
    page.press(&["2"]).await?;
    shows(window, "three").await?;

    // One by keyboard, one by pointer.
    page.tab_into("[role=log][aria-label=Changes]").await?;
    page.press_each(&[keys::DOWN, keys::DOWN]).await?;
    page.find_with_text("[role=status]", "Line 2, added: two").await?;
    page.press(&["c"]).await?;
    write(window, "Comment on line 2", "say zwei").await?;
    let number = page.place_inside("[data-kind=added] [data-number=new]", "5").await?;
    let (x, y) = number.centre();
    page.glide((x + 80.0, y + number.height), (x, y)).await?;
    let add = page.place_inside("[data-add][aria-label='Comment on line 5']", "").await?;
    page.flick(add.centre(), add.centre()).await?;
    write(window, "Comment on line 5", "and cinq here").await?;

    page.wait_for_text("section[aria-label=Comments]", "2 draft comments").await?;
    window.keep_picture("review-drafts").await?;
    let mut found = violations(window, "drafts on the diff").await?;
    page.press_named("button", "Request these changes").await?;
    page.wait_for_text("[role=dialog]", "2 draft comments").await?;
    window.keep_picture("review-reject").await?;
    found.extend(violations(window, "rejecting with comments").await?);
    page.press_named("button", "Request changes with 2 comments").await?;
    page.wait_gone("[role=dialog]").await?;

    page.named("button", "State: In progress").await.context("it goes back")?;
    page.find_with_text("[data-status=sent]", "say zwei").await?;
    let prompt = prompt_of_running_agent(window, &task).await?;
    for part in ["`counting.txt` line 2", "say zwei", "`counting.txt` line 5", "and cinq here"] {
        ensure!(prompt.contains(part), "{part} is not in the prompt:\n{prompt}");
    }

    gate.open()?;
    page.named("button", "Approve").await.context("it comes back")?;
    shows(window, "zwei").await?;
    window.keep_picture("review-second").await?;
    found.extend(violations(window, "the second version").await?);
    page.press_named("button", "Approve").await?;
    page.named("button", "State: Done").await?;
    page.wait_for_text("section[aria-label=Delivery]", "Delivered to main").await?;
    page.wait_for_text("section[aria-label=Delivery]", "I count from zero, in three languages.").await?;
    page.press_named("button", "Show summary, commits and checks").await?;
    page.find("section[aria-label=Delivery] section[aria-label=Commits] li").await?;
    window.keep_picture("review-delivered").await?;
    found.extend(violations(window, "what was delivered").await?);
    let merged = fixture.repository.show("main", "counting.txt").context("it is not merged")?;
    assert_eq!(merged, "zero\none\nzwei\nthree\nfour\ncinq\nsix");
    clean(&found)
}

#[tokio::test]
async fn merge_conflict_is_shown_while_agent_resolves_it() -> Result<()> {
    let window = Window::open().await?;
    let outcome = conflict_is_resolved(&window).await;
    window.end("review-conflict", outcome).await
}

/// Not the banner of the same name.
const CONFLICT: &str = "section[aria-label='Merge conflict'][data-standing]";

async fn conflict_is_resolved(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let menu = |soup: &str| format!("# Menu\\n\\nBread\\n{soup}\\nCheese\\n");
    fixture.repository.write("menu.md", &menu("Soup of the day").replace("\\n", "\n"))?;
    fixture.repository.commit("the menu")?;
    let gate = Gate::new(window, "resolved");
    let serves = |soup: &str| format!("edit menu.md <<< \"{}\"", menu(soup));
    let tomato = block("", &serves("Tomato soup"));
    let resolve = "run git -c user.name=Agent -c user.email=agent@example.invalid rebase -q --strategy-option=theirs main\n\
                   edit menu.md <<< \"# Menu\\n\\nBread\\nTomato soup\\nPea soup\\nCheese\\n\"";
    let pea = [block("", &serves("Pea soup")), block(" attempt=2", &gate.before(resolve))].concat();
    let first = started(window, &fixture, "Serve tomato soup", &tomato, json!({})).await?;
    let second = started(window, &fixture, "Serve pea soup", &pea, json!({})).await?;
    for task in [&first, &second] {
        reach(window, task, |task| task["review"]["status"] == "awaiting_human").await?;
    }
    load(window).await?;
    go(page, &format!("#/task/{}/1", fixture.project_id)).await?;
    page.press_named("button", "Approve").await?;
    page.named("button", "State: Done").await?;

    let address = format!("location.hash = '#/task/{}/2?tab=review'", fixture.project_id);
    page.execute(&address, &[]).await?;
    page.find("article[aria-label='Task 2: Serve pea soup']").await?;
    page.press_named("button", "Approve").await?;
    page.wait_for_text(CONFLICT, "1 file conflicts with main").await?;
    page.wait_for_text(CONFLICT, "The conflicts were sent to the agent.").await?;
    let place = format!("{CONFLICT} figure pre");
    for part in ["main", "Tomato soup", "This task", "Pea soup"] {
        page.wait_for_text(&place, part).await?;
    }
    window.keep_picture("review-conflict-places").await?;
    let mut found = violations(window, "a conflict's places").await?;
    page.press_named("button", "Show three versions").await?;
    for (side, soup) in [("Base", "Soup of the day"), ("main", "Tomato soup"), ("This task", "Pea soup")] {
        page.wait_for_text(&format!("{CONFLICT} section[aria-label='{side}']"), soup).await?;
    }
    page.named("button", "State: In progress").await?;
    window.keep_picture("review-conflict-sides").await?;
    found.extend(violations(window, "a conflict's three sides").await?);

    gate.open()?;
    page.named("button", "State: Done").await?;
    page.wait_gone(CONFLICT).await?;
    let attempts = "article section[aria-label^='Attempt']";
    page.wait_for_text(&format!("{attempts}[aria-label='Attempt 2']"), "Passed, checks only").await?;
    page.wait_for_text(&format!("{attempts}[aria-label='Attempt 1']"), "Passed").await?;
    until("both merges", async || {
        let rows = page.texts_everywhere("ol[aria-label=Merges] > li").await?;
        let told = rows.len() == 2 && rows[0].starts_with("Merged") && rows[1].starts_with("Conflict");
        Ok(told.then_some(()))
    })
    .await?;
    window.keep_picture("review-conflict-merged").await?;
    found.extend(violations(window, "a conflict resolved").await?);
    let merged = fixture.repository.show("main", "menu.md").context("it is not merged")?;
    assert_eq!(merged, "# Menu\n\nBread\nTomato soup\nPea soup\nCheese");
    clean(&found)
}

#[tokio::test]
async fn reviewer_findings_link_to_their_lines() -> Result<()> {
    let window = Window::open().await?;
    let outcome = findings_link_to_lines(&window).await;
    window.end("review-audit", outcome).await
}

/// Further down than a screen reaches.
const FAR: usize = 90;

async fn findings_link_to_lines(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let verse = |line: usize| if line == FAR { "an odd line".to_owned() } else { format!("verse {line}") };
    let poem: Vec<String> = (1..=120).map(verse).collect();
    let write = format!("edit short.txt <<< \"one\\n\"\nedit poem.txt <<< \"{}\\n\"", poem.join("\\n"));
    let (reads, mends) = (Gate::new(window, "reads"), Gate::new(window, "mends"));
    let rejects = json!({
        "verdict": "fail", "score": 35, "summary": "One line does not fit its verses.",
        "findings": [
            { "file": "poem.txt", "line": FAR, "severity": "error", "text": "This is **no** verse." },
            { "file": "short.txt", "severity": "info", "text": "Short indeed." },
        ],
    });
    let rejects = reads.before(&format!("print {rejects}"));
    let told = [
        block("", &write),
        block(" attempt=2", &mends.before(&write.replace("an odd line", "verse 90"))),
        block(" role=reviewer", &format!("activity Reading poem.txt\nsay I read every verse.\n{rejects}")),
        block(" role=reviewer attempt=2", "print ===SCORE: 93===\nverdict pass Every line is a verse."),
    ];
    let reviewer = json!({ "reviewer": fixture.agent_id });
    let task = started(window, &fixture, "Write a poem", &told.concat(), reviewer).await?;
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=review", fixture.project_id)).await?;
    let audit = "section[aria-label='Attempt 1'] [role=group][aria-label='Reviewer agent']";
    page.wait_for_text(audit, "Reviewing").await?;
    page.wait_for_text(audit, "I read every verse.").await?;
    window.keep_picture("review-audit-live").await?;
    let mut found = violations(window, "an auditor at work").await?;

    reads.open()?;
    for part in
        ["Changes requested", "One line does not fit its verses.", "This is no verse.", "Short indeed."]
    {
        page.wait_for_text(audit, part).await?;
    }
    page.find(&format!("{audit} [role=meter][aria-valuenow='35']")).await?;
    page.named("button", "State: In progress").await?;
    window.keep_picture("review-audit-findings").await?;
    found.extend(violations(window, "an auditor's findings").await?);

    page.click_on("a[aria-label='Show poem.txt:90 in the diff']").await?;
    page.find("article [data-head='poem.txt']").await?;
    page.find_with_text("[role=status]", "Line 90, added: an odd line").await?;
    let line = page.place_inside("[data-kind=added] [data-number=new]", "90").await?;
    let view = page.place_of("[role=log][aria-label=Changes]").await?;
    ensure!(line.y > view.y && line.y < view.y + view.height, "{line:?} is out of sight in {view:?}");
    page.find_with_text("article[data-comment]", "This is no verse.").await?;
    window.keep_picture("review-audit-line").await?;
    found.extend(violations(window, "a finding in the diff").await?);

    mends.open()?;
    page.named("button", "State: Done").await?;
    page.wait_for_text("section[aria-label=Delivery]", "Passed, 93 of 100").await?;
    page.press(&["3"]).await?;
    // What comes last moves what is below it.
    page.wait_for_text("ol[aria-label=Merges]", "Merged").await?;
    let report = "section[aria-label='Attempt 2'] button[aria-expanded=false]";
    page.place_of(report).await?;
    page.click_on(report).await?;
    page.wait_for_text("section[aria-label='Attempt 2']", "Every line is a verse.").await?;
    window.keep_picture("review-audit-passed").await?;
    found.extend(violations(window, "an auditor's pass").await?);
    ensure!(read(window, &task).await?["status"] == "done", "it is closed");
    clean(&found)
}

/// A started task with further roles.
async fn started(
    window: &Window,
    fixture: &ProjectFixture,
    title: &str,
    told: &str,
    roles: Value,
) -> Result<Value> {
    fixture.worked_on(window, title, told, json!({ "roles": roles })).await
}

/// Writes into the box that has just been opened, and keeps it as a draft.
async fn write(window: &Window, label: &str, said: &str) -> Result<()> {
    let page = &window.page;
    page.find_with_text("form label", label).await?;
    page.wait_for_focus("form textarea").await?;
    page.type_into(&page.find("form textarea").await?, said).await?;
    page.press(&[keys::CONTROL, keys::ENTER]).await?;
    page.find_with_text("article[data-status=draft]", said).await?;
    page.wait_gone("form textarea").await
}

/// Waits for an added line of the diff.
async fn shows(window: &Window, line: &str) -> Result<()> {
    let rows = "[data-kind=added]";
    until(&format!("the line {line:?}"), async || {
        let texts = window.page.texts_everywhere(rows).await?;
        Ok(texts.iter().any(|text| text.contains(line)).then_some(()))
    })
    .await
}

/// What the agent that is at work was told.
async fn prompt_of_running_agent(window: &Window, task: &Value) -> Result<String> {
    let now = reach(window, task, |task| task["live"].is_object()).await?;
    let tree = PathBuf::from(text(&now["workspace"], "path")?);
    let name = format!("prompt-{}.md", text(&now["live"], "execution_id")?);
    let prompt = tree.parent().context("no folder")?.join(name);
    // A run is told of before its prompt is written.
    until("the prompt of the run", async || Ok(fs::read_to_string(&prompt).ok())).await
}
