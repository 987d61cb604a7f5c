//! `forge workflow`.

use std::{fs, io::Read as _, path::Path};

use forge_api::{
    operations::{ProjectGet, ProjectWorkflowGet, ProjectWorkflowPut, WorkflowCheck, WorkflowPresets},
    ops::{
        Empty,
        projects::ProjectPath,
        workflows::{CheckWorkflow, PutWorkflow, WorkflowReport, WorkflowView},
    },
};
use forge_model::{ids::ProjectId, words::counted};
use serde_json::{Map, Value};

use crate::{
    answer::{Answer, say},
    args::Workflow,
    at::At,
    editor,
    error::CliError,
    shown::{NONE, printable, table},
};

pub(crate) async fn run(at: &At, command: Workflow) -> Result<Answer, CliError> {
    match command {
        Workflow::Show => {
            let project_id = at.project().await?;
            let view = at.call(ProjectWorkflowGet, ProjectPath { project_id }).await?;
            let text = shown(&view);
            // What `check` and `set` read.
            Ok(Answer::new(view.json["workflow"].clone(), text))
        }
        Workflow::Presets => {
            let page = at.call(WorkflowPresets, Empty {}).await?;
            let rows: Vec<Vec<String>> = page
                .items
                .iter()
                .map(|it| vec![it.name.clone(), it.title.clone(), it.about.clone()])
                .collect();
            let text = table(&["NAME", "TITLE", ""], &rows);
            Ok(Answer::new(page.json, text))
        }
        Workflow::Check { file } => {
            let text = content(&file)?;
            let report = at.call(WorkflowCheck, CheckWorkflow { text: Some(text), workflow: None }).await?;
            let text = findings(&report);
            Ok(Answer { good: report.findings.is_empty(), ..Answer::new(report.json, text) })
        }
        Workflow::Set { file, preset } => {
            let project_id = at.project().await?;
            match (file, preset) {
                (Some(file), _) => put(at, project_id, Some(content(&file)?), None, None).await,
                (None, preset) => {
                    let named = preset.unwrap_or_default();
                    let page = at.call(WorkflowPresets, Empty {}).await?;
                    let place = page.items.iter().position(|it| it.name == named);
                    let place = place.ok_or_else(|| CliError::NotFound {
                        message: format!("no workflow `{named}` ships with Forge"),
                        hint: "List them with `forge workflow presets`.",
                    })?;
                    let workflow = page.json["items"][place]["workflow"].clone();
                    put(at, project_id, None, Some(workflow), None).await
                }
            }
        }
        Workflow::Edit => edit(at).await,
    }
}

fn content(file: &Path) -> Result<String, CliError> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(CliError::io(format!("read {}", file.display())))
}

async fn put(
    at: &At,
    project_id: ProjectId,
    text: Option<String>,
    workflow: Option<Value>,
    version: Option<u32>,
) -> Result<Answer, CliError> {
    let put = PutWorkflow { project_id, version, text, workflow, fields: Map::new() };
    let view = at.call(ProjectWorkflowPut, put).await?;
    let states = counted(view.workflow.states.len() as u64, "state", "states");
    let text = format!("The workflow is {} with {states}.", view.workflow.name);
    Ok(Answer::new(view.json["workflow"].clone(), printable(&text)))
}

/// Edits the workflow until it is valid, or the person leaves it as it was.
async fn edit(at: &At) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let version = at.call(ProjectGet, ProjectPath { project_id: project_id.clone() }).await?.version;
    let view = at.call(ProjectWorkflowGet, ProjectPath { project_id: project_id.clone() }).await?;
    let before = serde_json::to_string_pretty(&view.json["workflow"]).unwrap_or_default();
    let after = editor::edit(&before, "workflow.json").await?;
    if after.text.trim() == before.trim() {
        let text = "Nothing was changed. If your editor returns immediately, tell it to wait, for example with `code --wait`.";
        return Ok(Answer::new(view.json["workflow"].clone(), text.to_owned()));
    }
    match put(at, project_id, Some(after.text.clone()), None, Some(version)).await {
        Ok(done) => Ok(done),
        Err(error) => {
            let kept = after.keep()?;
            say(&format!("Your text is kept in {}.", kept.display()));
            Err(error)
        }
    }
}

fn shown(view: &WorkflowView) -> String {
    let row = |state: &forge_model::workflow::State| {
        let to = view.moves.iter().find(|moves| moves.from == state.name).map(|moves| moves.to.join(", "));
        vec![
            state.name.clone(),
            state.kind.to_string(),
            state.column.clone(),
            state.role.clone().unwrap_or_else(|| NONE.to_owned()),
            to.unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = view.workflow.states.iter().map(row).collect();
    let head = printable(&format!("{} (from {})", view.workflow.name, view.source));
    format!("{head}\n{}", table(&["STATE", "KIND", "COLUMN", "ROLE", "MOVES TO"], &rows))
}

fn findings(report: &WorkflowReport) -> String {
    let mut lines: Vec<String> = report
        .findings
        .iter()
        .map(
            |it| if it.path.is_empty() { it.message.clone() } else { format!("{}: {}", it.path, it.message) },
        )
        .collect();
    if lines.is_empty() {
        lines.push("The workflow is valid.".to_owned());
    }
    lines.extend(report.notes.iter().cloned());
    printable(&lines.join("\n"))
}
