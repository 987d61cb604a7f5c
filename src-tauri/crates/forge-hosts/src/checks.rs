//! What the three hosts say of checks, comments and duplicates, in one language.

use forge_model::{
    pull_request::{HostCheck, HostCheckStatus, HostComment, PullRequestLink, PullRequestState},
    time::Timestamp,
};

use crate::text::{said, shortened};

/// Checks are told about in a line.
const LONGEST_SUMMARY: usize = 300;

/// A check as a host's words and ours.
pub(crate) struct RawCheck {
    pub name: String,
    /// The host's word for it.
    pub word: String,
    /// What the word means; none when it is a word that we do not know.
    pub status: Option<HostCheckStatus>,
    pub url: Option<String>,
    pub summary: Option<String>,
}

impl RawCheck {
    /// A word that we do not know counts as not decided, and is shown.
    pub(crate) fn check(self) -> HostCheck {
        let summary = said(self.summary).map(|text| {
            let line = text.lines().next().unwrap_or_default().trim();
            shortened(line, LONGEST_SUMMARY)
        });
        let (status, summary) = match self.status {
            Some(status) => (status, summary),
            None => (HostCheckStatus::Pending, Some(format!("the host calls it `{}`", self.word))),
        };
        HostCheck { name: self.name, status, url: said(self.url), summary }
    }
}

/// Checks in an order that does not depend on the host's mood.
pub(crate) fn in_order(mut checks: Vec<HostCheck>) -> Vec<HostCheck> {
    checks.sort_by(|a, b| (&a.name, &a.url).cmp(&(&b.name, &b.url)));
    checks
}

/// Comments, oldest first.
pub(crate) fn oldest_first(mut comments: Vec<HostComment>) -> Vec<HostComment> {
    comments.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    comments
}

/// Of several pull requests between the same branches the open one, else the one that changed last.
pub(crate) fn most_relevant(
    found: impl IntoIterator<Item = (PullRequestLink, Timestamp)>,
) -> Option<PullRequestLink> {
    found
        .into_iter()
        .max_by_key(|(link, updated)| (link.state == PullRequestState::Open, *updated))
        .map(|(link, _)| link)
}
