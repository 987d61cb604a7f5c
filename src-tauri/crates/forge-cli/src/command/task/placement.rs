//! `forge task where`: where a task would run now, and why.

use forge_api::{operations::TaskPlacementGet, ops::TaskPath};
use forge_model::machine::fleet::{PlacementVerdict, TaskPlacement};

use super::find;
use crate::{
    answer::Answer,
    args::TaskRef,
    at::At,
    error::CliError,
    shown::{printable, table},
};

pub(super) async fn of(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    let task = find(at, task).await?;
    let placed = at.call(TaskPlacementGet, TaskPath { task_id: task.id.clone() }).await?;
    let text = told(task.number, &placed);
    Ok(Answer::new(placed.json, text))
}

/// The sentence, and every machine with why it is taken or not.
fn told(number: u32, placed: &TaskPlacement) -> String {
    let begin = match placed.verdict {
        PlacementVerdict::AtWork => "at work",
        PlacementVerdict::Starts => "starts",
        PlacementVerdict::Waits => "waits",
        PlacementVerdict::Rests => "rests",
    };
    let mut text = format!("#{number} {begin}: {}", printable(&placed.reason));
    if !placed.machines.is_empty() {
        let rows: Vec<Vec<String>> = placed
            .machines
            .iter()
            .map(|it| {
                let fits = if it.fits { "yes" } else { "no" };
                vec![it.name.clone(), fits.to_owned(), it.reason.clone()]
            })
            .collect();
        text.push_str("\n\n");
        text.push_str(&table(&["MACHINE", "FITS", "WHY"], &rows));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reason_comes_first_and_then_each_machine() {
        let placed: TaskPlacement = serde_json::from_value(json!({
            "task_id": "t", "verdict": "waits", "machine_id": null, "machine": null, "waiting": null,
            "reason": "waits for box: is at its limit of runs",
            "machines": [{ "machine_id": "m", "name": "box", "fits": false, "reason": "is at its limit of runs" }],
        }))
        .unwrap();
        let lines: Vec<String> = told(7, &placed).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "#7 waits: waits for box: is at its limit of runs");
        assert!(lines[3].starts_with("box"), "{lines:?}");
        let rests = TaskPlacement { verdict: PlacementVerdict::Rests, machines: Vec::new(), ..placed };
        assert_eq!(told(7, &rests).lines().count(), 1);
    }
}
