//! Reading issues: a page at a time, so that an import can stop and continue after each.

use std::collections::BTreeMap;

use forge_model::issue::{Issue, IssueComment, LabelChange};
use reqwest::Method;
use serde_json::json;

use crate::{
    error::HostError,
    http::{Answer, Http},
};

/// That many of the last comments of an issue are read.
pub(crate) const MOST_COMMENTS: usize = 20;
/// That many pages are kept for the next look.
const MOST_KNOWN: usize = 32;

/// A page of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuePage {
    /// The issues.
    pub issues: Vec<Issue>,
    /// Whether another page follows.
    pub more: bool,
}

/// Pages of issues that were read before, and by which tags the host says that they still hold.
#[derive(Debug, Clone, Default)]
pub struct IssueEtags {
    pages: BTreeMap<String, Known>,
}

#[derive(Debug, Clone)]
struct Known {
    etag: String,
    more: bool,
    total: Option<usize>,
    body: Vec<u8>,
}

/// Reads a page; one that did not change comes from what is known.
pub(crate) async fn page(
    http: &Http,
    path: &str,
    what: &str,
    known: &mut IssueEtags,
) -> Result<Answer, HostError> {
    let earlier = known.pages.get(path);
    let answer = http.get(path, earlier.map(|page| page.etag.as_str()), what).await?;
    if !answer.unchanged {
        match &answer.etag {
            Some(etag) => {
                if known.pages.len() >= MOST_KNOWN && !known.pages.contains_key(path) {
                    known.pages.pop_first();
                }
                let page = Known {
                    etag: etag.clone(),
                    more: answer.more,
                    total: answer.total,
                    body: answer.body.clone(),
                };
                known.pages.insert(path.to_owned(), page);
            }
            None => {
                known.pages.remove(path);
            }
        }
        return Ok(answer);
    }
    let Some(page) = earlier else {
        return Err(HostError::Protocol {
            what: format!("it says that {what} did not change, but was not asked that"),
        });
    };
    Ok(Answer {
        unchanged: true,
        etag: Some(page.etag.clone()),
        more: page.more,
        total: page.total,
        body: page.body.clone(),
    })
}

/// Writes a comment on an issue, as GitHub and Gitea take it.
pub(crate) async fn comment_issue(http: &Http, repo: &str, number: u32, text: &str) -> Result<(), HostError> {
    let (path, what) = (format!("{repo}/issues/{number}/comments"), format!("issue {number}"));
    http.write(Method::POST, &path, &json!({ "body": text }), &what).await.map(drop)
}

/// Closes an issue, as GitHub and Gitea take it.
pub(crate) async fn close_issue(http: &Http, repo: &str, number: u32) -> Result<(), HostError> {
    let (path, what) = (format!("{repo}/issues/{number}"), format!("issue {number}"));
    http.write(Method::PATCH, &path, &json!({ "state": "closed" }), &what).await.map(drop)
}

/// What of a change of labels is to be done to an issue that has these.
pub(crate) fn label_steps<'c>(issue: &Issue, change: &'c LabelChange) -> (Option<&'c str>, Vec<&'c str>) {
    let has = |label: &&str| issue.labels.iter().any(|own| own == label);
    let add = change.add.as_deref().filter(|label| !has(label));
    (add, change.remove.iter().map(String::as_str).filter(has).collect())
}

/// The last comments, oldest first.
pub(crate) fn last_of(mut comments: Vec<IssueComment>) -> Vec<IssueComment> {
    comments.sort_by_key(|comment| comment.at);
    let first = comments.len().saturating_sub(MOST_COMMENTS);
    comments.split_off(first)
}
