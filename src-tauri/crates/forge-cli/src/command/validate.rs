//! `forge validate`.

use forge_api::{
    operations::{self, ValidateState},
    ops::validate::IterationsOf,
};
use forge_model::{
    ids::ProjectId,
    validate::{ContractPair, ValidateInput, ValidateReport, told},
};

use crate::{answer::Answer, args::Validate, at::At, error::CliError, place};

pub(crate) async fn run(at: &At, asked: Validate) -> Result<Answer, CliError> {
    let project = match &at.project {
        Some(named) => Some(at.project_named(named).await?),
        None => None,
    };
    let input =
        if asked.names_checks() { input_of(&asked, project)? } else { repeated(at, &asked, project).await? };
    let report = at.call(operations::Validate, input).await?;
    let text = text_of(&report);
    Ok(Answer { good: report.passed, ..Answer::new(report.json, text) })
}

/// What the command line names.
fn input_of(asked: &Validate, project: Option<ProjectId>) -> Result<ValidateInput, CliError> {
    let (pairs, _) = asked.contract.as_chunks::<2>();
    let contracts = pairs
        .iter()
        .map(|[exporter, importer]| ContractPair { exporter: exporter.clone(), importer: importer.clone() });
    Ok(ValidateInput {
        module_id: asked.module.clone(),
        run_id: asked.run.clone(),
        cwd: Some(place::checked_folder(asked.cwd.clone())?),
        commands: asked.command.clone(),
        files: asked.file.clone(),
        contract_checks: contracts.collect(),
        project_id: project,
    })
}

/// What was checked last, in the same folder unless another one is named.
async fn repeated(at: &At, asked: &Validate, project: Option<ProjectId>) -> Result<ValidateInput, CliError> {
    let cwd = place::checked_folder(asked.cwd.clone())?;
    let of = IterationsOf {
        module_id: asked.module.clone(),
        run_id: asked.run.clone(),
        project_id: project,
        cwd: Some(cwd.clone()),
    };
    let state = at.call(ValidateState, of).await?.value;
    if let Some(why) = state.unreadable {
        return Err(CliError::Conflict {
            message: format!("Could not read the attempts of {}: {why}", asked.module),
            hint: "Pass the checks again; the damaged file is then moved aside.",
        });
    }
    let mut last = state.input.ok_or_else(|| CliError::NotFound {
        message: format!("{} has no attempts yet", asked.module),
        hint: "Pass checks with --command, --file or --contract.",
    })?;
    if asked.cwd.is_some() {
        last.cwd = Some(cwd);
    }
    Ok(last)
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
