//! CSV (RFC 4180), separated by commas, semicolons or tabs, with names of columns in the first line.

use forge_model::issue::Issue;

use super::{IssueFileError, state_of, untitled, with_references};

const TITLES: &[&str] = &["title", "summary", "name"];
const BODIES: &[&str] = &["description", "body", "details"];
const KEYS: &[&str] = &["id", "key", "ref", "number", "iid", "issue key", "issue id"];
const LABELS: &[&str] = &["labels", "label", "tags"];
const STATES: &[&str] = &["state", "status"];
const URLS: &[&str] = &["url", "link", "web url"];

/// The issues of a CSV file. Rows without a title are left out.
///
/// # Errors
/// Without a column of titles, and when a quotation does not end.
pub fn read_csv(text: &str) -> Result<Vec<Issue>, IssueFileError> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    let count = |separator: &char| first.matches(*separator).count();
    let separator = [',', ';', '\t'].into_iter().rev().max_by_key(count).unwrap_or(',');
    let mut rows = rows(text, separator)?.into_iter();
    let header: Vec<String> =
        rows.next().unwrap_or_default().iter().map(|name| name.trim().to_lowercase()).collect();
    let column = |names: &[&str]| names.iter().find_map(|name| header.iter().position(|it| it == name));
    let title = column(TITLES).ok_or(IssueFileError::NoTitles)?;
    let (body, key, labels) = (column(BODIES), column(KEYS), column(LABELS));
    let (state, url) = (column(STATES), column(URLS));
    let mut issues = Vec::new();
    for row in rows {
        let at = |column: Option<usize>| column.and_then(|at| row.get(at)).map_or("", |text| text.trim());
        if at(Some(title)).is_empty() {
            continue;
        }
        issues.push(Issue {
            reference: at(key).to_owned(),
            url: Some(at(url).to_owned()).filter(|url| is_link(url)),
            title: at(Some(title)).to_owned(),
            body: at(body).to_owned(),
            state: state_of(at(state)),
            labels: at(labels)
                .split([',', ';'])
                .map(str::trim)
                .filter(|label| !label.is_empty())
                .map(str::to_owned)
                .collect(),
            ..untitled()
        });
    }
    Ok(with_references(issues))
}

fn is_link(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

fn rows(text: &str, separator: char) -> Result<Vec<Vec<String>>, IssueFileError> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut line = 1;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '"' && cell.trim().is_empty() {
            cell.clear();
            let began = line;
            loop {
                match chars.next() {
                    Some('"') if chars.peek() == Some(&'"') => {
                        chars.next();
                        cell.push('"');
                    }
                    Some('"') => break,
                    Some(c) => {
                        line += usize::from(c == '\n');
                        cell.push(c);
                    }
                    None => return Err(IssueFileError::OpenQuotation { line: began }),
                }
            }
        } else if c == separator {
            row.push(std::mem::take(&mut cell));
        } else if c == '\n' {
            line += 1;
            row.push(std::mem::take(&mut cell));
            rows.push(std::mem::take(&mut row));
        } else if !(c == '\r' && chars.peek() == Some(&'\n')) {
            cell.push(c);
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use forge_model::issue::IssueState;

    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        let text = "\u{feff}Issue key,Summary,Description,Status,Labels,URL\r\n\
            APP-1,\"Say \"\"hello\"\"\",\"Two\nlines, with a comma\",Done,\"a, b\",https://x/1\r\n\
            ,Second,,Open,,javascript:x\r\n,,nothing,,,\r\n";
        let found = read_csv(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].reference.as_str(), found[0].title.as_str()), ("APP-1", "Say \"hello\""));
        assert_eq!(found[0].body, "Two\nlines, with a comma");
        assert_eq!((found[0].state, found[1].state), (IssueState::Closed, IssueState::Open));
        assert_eq!(found[0].labels, ["a", "b"]);
        assert_eq!((found[0].url.as_deref(), found[1].url.as_deref()), (Some("https://x/1"), None));
        assert_eq!(found[1].reference, "Second");
    }

    #[test]
    fn separator_is_the_one_of_the_first_line() {
        for text in ["title;body\na;b, c\n", "title\tbody\na\tb, c", "body,title\n\"b, c\",a"] {
            let found = read_csv(text).unwrap();
            assert_eq!((found[0].title.as_str(), found[0].body.as_str()), ("a", "b, c"), "{text}");
        }
    }

    #[test]
    fn file_without_titles_or_with_an_open_quotation_is_refused() {
        assert_eq!(read_csv("a,b\n1,2"), Err(IssueFileError::NoTitles));
        assert_eq!(read_csv(""), Err(IssueFileError::NoTitles));
        assert_eq!(read_csv("title\na\n\"b\nc"), Err(IssueFileError::OpenQuotation { line: 3 }));
    }
}
