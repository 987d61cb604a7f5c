//! Asking for the verdict that a native review did not give.

use serde_json::{Value, json};

/// What the agent is told. The review's own instructions are not part of the thread that it was made in.
pub(super) fn question(instructions: &str) -> String {
    format!(
        "You have just made a review. Give its verdict now, in the form that is asked for, without looking at anything \
         again: `verdict` is `pass` when the work can be accepted as it is and `fail` when it needs changes, `summary` \
         says why in a few sentences, `score` is from 0 to 100, and `findings` has what the review found (`file` from \
         the root of the repository, `line` in the new version or null).\n\n\
         These were the instructions for the review; whatever form they ask the verdict in, give it in this one:\n\n\
         {instructions}"
    )
}

/// The form, as strict as the model's service wants it: every member required, none beside them.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["verdict", "summary", "score", "findings"],
        "properties": {
            "verdict": { "type": "string", "enum": ["pass", "fail"] },
            "summary": { "type": "string" },
            "score": { "type": "integer" },
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["file", "line", "severity", "text"],
                    "properties": {
                        "file": { "type": "string" },
                        "line": { "type": ["integer", "null"] },
                        "severity": { "type": "string", "enum": ["error", "warning", "info"] },
                        "text": { "type": "string" },
                    },
                },
            },
        },
    })
}
