//! Task lists in Markdown: `- [ ] Title`, with what is indented below an entry as its description.

use forge_model::issue::{Issue, IssueState};

use super::{untitled, with_references};

/// An entry of a task list.
struct Entry<'a> {
    indent: usize,
    is_done: bool,
    title: &'a str,
}

/// The entries of a Markdown file's task lists. Nested entries and indented text belong to the description of the entry above
/// them; the heading above a list is a label. Everything else is left out.
#[must_use]
pub fn read_markdown(text: &str) -> Vec<Issue> {
    let mut issues: Vec<Issue> = Vec::new();
    let mut heading: Option<String> = None;
    // The column where the open entry begins, and its description.
    let mut open: Option<(usize, Vec<&str>)> = None;
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let indent = indent_of(line);
        let content = line.trim_start();
        let is_inside =
            open.as_ref().is_some_and(|(at, _)| fence.is_some() || content.is_empty() || indent > *at);
        let mark = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        match (fence, mark) {
            (Some(opened), Some(mark)) if opened == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            _ => {}
        }
        if is_inside {
            if let Some((_, lines)) = &mut open {
                lines.push(line);
            }
            continue;
        }
        close(&mut issues, open.take());
        if fence.is_some() || mark.is_some() {
            continue;
        }
        if let Some(title) = heading_of(content) {
            heading = title;
        } else if let Some(entry) = entry_of(line) {
            let state = if entry.is_done { IssueState::Closed } else { IssueState::Open };
            let title = entry.title.to_owned();
            issues.push(Issue { title, state, labels: heading.clone().into_iter().collect(), ..untitled() });
            open = Some((entry.indent, Vec::new()));
        }
    }
    close(&mut issues, open);
    with_references(issues)
}

/// Gives the last issue its description, with the indentation that all lines share removed.
fn close(issues: &mut [Issue], open: Option<(usize, Vec<&str>)>) {
    let (Some(issue), Some((_, lines))) = (issues.last_mut(), open) else { return };
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min();
    let shared = shared.unwrap_or_default();
    let body: Vec<&str> = lines.iter().map(|line| line.get(shared..).unwrap_or_default()).collect();
    issue.body = body.join("\n").trim().to_owned();
}

/// Bytes of white space before the content. Tabs count as one, as long as a file does not mix them.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The text of a heading; none for a heading without text.
fn heading_of(content: &str) -> Option<Option<String>> {
    let level = content.chars().take_while(|c| *c == '#').count();
    if level == 0 || level > 6 {
        return None;
    }
    let rest = content.get(level..)?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title = rest.trim().trim_end_matches('#').trim_end();
    Some((!title.is_empty()).then(|| title.to_owned()))
}

fn entry_of(line: &str) -> Option<Entry<'_>> {
    let content = line.trim_start_matches([' ', '\t']);
    let digits = content.chars().take_while(char::is_ascii_digit).count();
    let rest = if digits > 0 {
        content.get(digits..)?.strip_prefix(['.', ')'])?
    } else {
        content.strip_prefix(['-', '*', '+'])?
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('[')?;
    let is_done = match rest.chars().next()? {
        ' ' => false,
        'x' | 'X' => true,
        _ => return None,
    };
    let title = rest.get(1..)?.strip_prefix(']')?.strip_prefix([' ', '\t'])?.trim();
    (!title.is_empty()).then_some(Entry { indent: indent_of(line), is_done, title })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, bool, Vec<String>)> {
        let of =
            |issue: Issue| (issue.reference, issue.body, issue.state == IssueState::Closed, issue.labels);
        read_markdown(text).into_iter().map(of).collect()
    }

    #[test]
    fn entries_have_descriptions_states_and_headings() {
        let text = "# Plan\n\nSome words.\n\n- [ ] Parse dates\n\n  With `2024-02-30` refused.\n  - [x] the parser\n- [x] Greet\n\n\
            ## Later ##\n1. [ ] Sing\n* no entry\n* [ ] Dance\n- [?] unknown\n- [ ]\n";
        let label = |text: &str| vec![text.to_owned()];
        assert_eq!(
            read(text),
            [
                (
                    "Parse dates".to_owned(),
                    "With `2024-02-30` refused.\n- [x] the parser".to_owned(),
                    false,
                    label("Plan")
                ),
                ("Greet".to_owned(), String::new(), true, label("Plan")),
                ("Sing".to_owned(), String::new(), false, label("Later")),
                ("Dance".to_owned(), String::new(), false, label("Later")),
            ]
        );
    }

    #[test]
    fn code_has_no_entries_and_stays_in_its_description() {
        let text = "```\n- [ ] not one\n```\n- [ ] One\n  ```\n- [ ] inside\n  ```\n- [ ] Two\n";
        let found: Vec<(String, String)> =
            read(text).into_iter().map(|(title, body, ..)| (title, body)).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].1.contains("- [ ] inside"), "{found:?}");
    }

    #[test]
    fn entries_of_one_title_are_numbered() {
        let found: Vec<String> = read("- [ ] A\n- [ ] B\n- [ ]  A\n").into_iter().map(|it| it.0).collect();
        assert_eq!(found, ["A", "B", "A (2)"]);
    }

    #[test]
    fn any_text_is_read() {
        for text in ["", "-", "- [", "- [ä] x", "####### x", "1.", "\u{feff}- [ ] x", "  \t- [ ] ä\n\tö"] {
            let _ = read_markdown(text);
        }
    }
}
