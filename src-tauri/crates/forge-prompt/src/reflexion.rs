//! What a retry's prompt starts with, where the project wants that: the attempt and the gate that failed, with the end
//! of what it printed. It is moved there from the history, not said twice.

use forge_model::{
    correction::Correction,
    layer::{Layer, LayerKind},
};

use crate::correction::evidence_of;

/// The first layer of a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reflexion {
    /// The text.
    pub layer: Layer,
    /// Which attempt failed at which gate, in a sentence without its point.
    pub gate: String,
}

/// Takes the latest failed gate out of what led to a run; nothing when none failed.
#[must_use]
pub fn reflexion(corrections: &mut Vec<Correction>) -> Option<Reflexion> {
    let at = corrections.iter().rposition(is_failed_gate)?;
    let failed = corrections.remove(at);
    let evidence = evidence_of(&failed);
    let first = evidence.lines().next().unwrap_or_default();
    let gate = first.trim_end_matches(['.', ':']).to_owned();
    let title = match failed {
        Correction::CheckFailed { attempt, of, .. } | Correction::AuditFailed { attempt, of, .. }
            if attempt < of =>
        {
            format!("# This is attempt {} of {of}", attempt + 1)
        }
        _ => "# This is another attempt".to_owned(),
    };
    let text = format!("{title}\n\nBegin with why the last one failed.\n\n{}\n\n", evidence.trim_end());
    Some(Reflexion { layer: Layer { kind: LayerKind::Reflexion, text }, gate })
}

/// Whether work came to a gate that did not let it through.
const fn is_failed_gate(correction: &Correction) -> bool {
    match correction {
        Correction::CheckFailed { .. }
        | Correction::Rejected { .. }
        | Correction::AuditFailed { .. }
        | Correction::Conflict { .. }
        | Correction::CommitRefused { .. }
        | Correction::GuardRefused { .. } => true,
        Correction::Message { .. }
        | Correction::Interrupted { .. }
        | Correction::NoChange {}
        | Correction::NoVerdict {}
        | Correction::PartsFollow { .. }
        | Correction::Subtask { .. }
        | Correction::Workflow { .. }
        | Correction::Lessons { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use forge_model::review::ReviewStep;

    use super::*;

    fn failed(attempt: u32, command: &str) -> Correction {
        let mut step = ReviewStep::begun(0, command, "l");
        (step.exit_code, step.stderr_tail) = (Some(1), format!("{command} says no\n"));
        Correction::CheckFailed { step, attempt, of: 3 }
    }

    #[test]
    fn the_latest_failure_comes_first_and_is_said_once() {
        let said = Correction::Message { text: "hurry".into(), comments: vec![], files: vec![] };
        let mut corrections = vec![failed(1, "lint"), failed(2, "test"), said.clone()];
        let found = reflexion(&mut corrections).unwrap();
        assert_eq!(corrections, [failed(1, "lint"), said]);
        assert_eq!(found.gate, "Review attempt 2 of 3 failed: `test` exited with 1");
        insta::assert_snapshot!(found.layer.text, @"
        # This is attempt 3 of 3

        Begin with why the last one failed.

        Review attempt 2 of 3 failed: `test` exited with 1.

        stderr:
        ~~~~
        test says no
        ~~~~

        Mend the cause, not the check.

        ");
    }

    #[test]
    fn a_first_run_and_one_that_only_goes_on_start_as_always() {
        let mut corrections = vec![Correction::Interrupted { what: "it crashed".into() }];
        assert_eq!(reflexion(&mut corrections), None);
        assert_eq!(corrections.len(), 1);
        let mut rejected = vec![Correction::Rejected { reason: "No.".into(), comments: vec![] }];
        let found = reflexion(&mut rejected).unwrap();
        assert_eq!(found.gate, "The reviewer asks for changes");
        assert!(found.layer.text.starts_with("# This is another attempt\n"), "{}", found.layer.text);
    }
}
