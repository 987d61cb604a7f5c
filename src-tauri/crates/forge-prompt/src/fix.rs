//! What a drafting agent is asked: one file, what failed, and nothing but a patch for an answer.

use std::fmt::Write as _;

use forge_model::fix::FixGate;

use crate::text::fence_for;

/// The most of a file and of an output that is shown, in bytes.
pub const SHOWN_BYTES: usize = 64 * 1024;

/// What a draft is made from.
#[derive(Debug, Clone, Copy)]
pub struct FixPrompt<'a> {
    /// The task's title.
    pub title: &'a str,
    /// What failed.
    pub gate: &'a FixGate,
    /// The end of what the failing command printed.
    pub output: &'a str,
    /// The file that it complains about.
    pub path: &'a str,
    /// The whole of it.
    pub content: &'a str,
    /// The most lines that the patch may change.
    pub max_lines: u32,
}

/// The text for the agent.
#[must_use]
pub fn fix_prompt(of: &FixPrompt<'_>) -> String {
    let FixPrompt { title, gate, output, path, content, max_lines } = of;
    let ended = gate.exit_code.map_or_else(|| "did not end".to_owned(), |code| format!("exited with {code}"));
    let mut text = format!(
        "A check of the task \"{title}\" failed. Draft the smallest patch of `{path}` that makes it pass.\n\n\
         Answer with one unified diff of this file and nothing else: its header says `--- a/{path}` and \
         `+++ b/{path}`, its hunks carry three lines of context, and it changes at most {max_lines} lines. Do not \
         edit, create, rename or delete files yourself, do not run anything, do not ask. Do not weaken or remove what \
         is checked. If this file alone cannot mend it, answer with the word NONE.\n\n\
         The check `{}` {ended}.\n",
        gate.command
    );
    block(&mut text, "What it printed", tail(output));
    block(&mut text, &format!("The file `{path}`"), content);
    text
}

/// A heading with a fenced text.
fn block(text: &mut String, heading: &str, content: &str) {
    let fence = fence_for(content);
    let _ = write!(text, "\n{heading}:\n\n{fence}\n{}\n{fence}\n", content.trim_end());
}

/// The end of a long output, from the start of a line.
fn tail(output: &str) -> &str {
    let cut = output.len().saturating_sub(SHOWN_BYTES);
    let Some(at) = (cut..output.len()).find(|at| output.is_char_boundary(*at)) else { return output };
    let rest = output.get(at..).unwrap_or(output);
    if cut == 0 { rest } else { rest.split_once('\n').map_or(rest, |(_, lines)| lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_text() {
        let gate = FixGate {
            step: 1,
            command: "cargo test".to_owned(),
            exit_code: Some(101),
            failure_ids: Vec::new(),
        };
        let of = FixPrompt {
            title: "Totals",
            gate: &gate,
            output: "error[E0308]: mismatched types\n --> src/total.rs:3:20\n",
            path: "src/total.rs",
            content: "//! ~~~~ sums\npub fn total() -> u32 {\n    \"0\"\n}\n",
            max_lines: 200,
        };
        insta::assert_snapshot!(fix_prompt(&of));
    }

    #[test]
    fn a_long_output_is_cut_at_a_line() {
        let output = format!("{}\nlast", "ü".repeat(SHOWN_BYTES));
        assert_eq!(tail(&output), "last");
        assert_eq!(tail(""), "");
    }
}
