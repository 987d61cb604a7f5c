//! `forge validate`.

use forge_model::validate::{ValidateInput, ValidateReport, told};
use serde_json::{Value, json};

use crate::{answer::Answer, args::Validate, at::At, error::CliError, place, shown::string};

pub(crate) async fn run(at: &At, asked: Validate) -> Result<Answer, CliError> {
    let project = match &at.project {
        Some(named) => {
            let project = at.call("project_get", json!({ "project_id": named })).await?;
            Some(string(&project, "id"))
        }
        None => None,
    };
    let input = if asked.names_checks() {
        input_of(&asked, project.as_deref())?
    } else {
        repeated(at, &asked, project.as_deref()).await?
    };
    let answer = at.call("validate", input).await?;
    let report = serde_json::from_value::<ValidateReport>(answer.clone()).map_err(std::io::Error::from);
    let report = report.map_err(CliError::io("understand the report"))?;
    Ok(Answer { good: report.passed, ..Answer::new(answer, text_of(&report)) })
}

/// What the command line names.
fn input_of(asked: &Validate, project: Option<&str>) -> Result<Value, CliError> {
    let contracts: Vec<Value> = asked
        .contract
        .chunks_exact(2)
        .map(|pair| json!({ "exporter": pair.first(), "importer": pair.get(1) }))
        .collect();
    Ok(json!({
        "moduleId": asked.module, "runId": asked.run, "project_id": project,
        "cwd": place::checked_folder(asked.cwd.clone())?,
        "commands": asked.command, "files": asked.file, "contractChecks": contracts,
    }))
}

/// What was checked last, in the same folder unless another one is named.
async fn repeated(at: &At, asked: &Validate, project: Option<&str>) -> Result<Value, CliError> {
    let cwd = place::checked_folder(asked.cwd.clone())?;
    let of = json!({ "moduleId": asked.module, "runId": asked.run, "project_id": project, "cwd": cwd });
    let state = at.call("validate_state", of).await?;
    if let Some(why) = state["unreadable"].as_str() {
        return Err(CliError::Conflict {
            message: format!("Could not read the attempts of {}: {why}", asked.module),
            hint: "Pass the checks again; the damaged file is then moved aside.",
        });
    }
    let mut last: ValidateInput =
        serde_json::from_value(state["input"].clone()).map_err(|_| CliError::NotFound {
            message: format!("{} has no attempts yet", asked.module),
            hint: "Pass checks with --command, --file or --contract.",
        })?;
    if asked.cwd.is_some() {
        last.cwd = Some(cwd);
    }
    serde_json::to_value(last).map_err(std::io::Error::from).map_err(CliError::io("repeat a call"))
}

fn text_of(report: &ValidateReport) -> String {
    let counted = match report.attempt {
        0 => "Not counted".to_owned(),
        number => format!("Attempt {number}"),
    };
    let verdict = if report.passed { "passed" } else { "failed" };
    let why = report.measures.why_stagnant().map(|why| format!(" ({why})")).unwrap_or_default();
    let advice = report.measures.recommendation;
    let mut text = told(&report.results);
    text.push_str(&format!("\n{counted}: {verdict}, score {:.2}, {advice}{why}", report.score));
    if let Some(notice) = &report.notice {
        text.push_str(&format!("\nNote: {notice}"));
    }
    text
}
