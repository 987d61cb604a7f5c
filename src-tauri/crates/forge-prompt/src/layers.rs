//! The layers that prompts have in common.

use std::fmt::Write as _;

use forge_model::{
    correction::Correction,
    layer::{Layer, LayerKind},
};

use crate::correction::write_correction;

/// What an agent's profile says before every prompt.
#[must_use]
pub fn profile_layer(prefix: &str) -> Option<Layer> {
    let prefix = prefix.trim();
    (!prefix.is_empty()).then(|| Layer { kind: LayerKind::Profile, text: format!("{prefix}\n\n") })
}

/// A task's number, title and description.
pub(crate) fn task_text(number: u32, title: &str, description: &str) -> String {
    let mut text = format!("\n# Task #{number}: {title}\n");
    if !description.trim().is_empty() {
        let _ = write!(text, "\n{}\n", description.trim());
    }
    text
}

/// The layers of a prompt, in the order in which they are added.
#[derive(Default)]
pub(crate) struct Layers(Vec<Layer>);

impl Layers {
    pub(crate) fn into_layers(self) -> Vec<Layer> {
        self.0
    }

    pub(crate) fn add(&mut self, kind: LayerKind, text: String) {
        self.0.push(Layer { kind, text });
    }

    /// Adds what led to the run: what the project has learned, what happened so far, what this turn is about.
    pub(crate) fn corrections(&mut self, corrections: &[Correction]) {
        let (lessons, rest): (Vec<_>, Vec<_>) =
            corrections.iter().partition(|correction| matches!(correction, Correction::Lessons { .. }));
        for correction in lessons {
            let mut text = String::from("\n# What this project has learned\n");
            write_correction(&mut text, correction);
            self.add(LayerKind::Knowledge, text);
        }
        let (now, before): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|correction| correction.is_of_one_turn());
        if !before.is_empty() {
            let mut text = String::from("\n# What happened so far\n");
            for correction in before {
                text.push('\n');
                write_correction(&mut text, correction);
            }
            self.add(LayerKind::History, text);
        }
        for correction in now {
            let mut text = String::from("\n");
            write_correction(&mut text, correction);
            self.add(LayerKind::Now, text);
        }
    }
}
