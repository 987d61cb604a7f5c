//! A reviewer's verdict, for programs that give it among their words: asked for once when it is missing.

use forge_model::execution::ExecutionRole;
use forge_reading::verdict::AuditReader;

use crate::DialogueContext;

/// Follows what a reviewer says; nothing for other roles, and once it was asked.
#[derive(Debug)]
pub(crate) struct Reminder(Option<AuditReader>);

impl Reminder {
    pub(crate) fn new(role: ExecutionRole) -> Self {
        Self((role == ExecutionRole::Reviewer).then(|| AuditReader::new(0)))
    }

    /// The agent said this, as a message of its own.
    pub(crate) fn read(&mut self, message: &str) {
        if let Some(reader) = &mut self.0 {
            reader.read(message);
            reader.read("\n");
        }
    }

    /// The reviewer has ended its turn: whether it is to be asked for its verdict. True at most once, and then the
    /// log says so.
    pub(crate) fn is_due(&mut self, cx: &mut DialogueContext<'_>) -> bool {
        let Some(reader) = self.0.take() else { return false };
        let is_missing = reader.finish().0.verdict.is_none();
        if is_missing {
            cx.notice("verdict_missing", "The review has no verdict; the reviewer is asked again.");
        }
        is_missing
    }
}
