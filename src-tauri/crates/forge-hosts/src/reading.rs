//! Reading a pull request again without reading again what did not change.
//!
//! A pull request is several resources, some in pages. Of each page what came last is kept with the tag
//! that the host gave it; a page that still holds costs the host nothing (GitHub does not even count it).
//! Hosts that give no tags are read in full, and what came out is compared.

use std::collections::BTreeMap;

use forge_model::pull_request::{PullRequest, Unread};
use serde::de::DeserializeOwned;

use crate::{
    error::HostError,
    http::{Answer, Http, parse},
};

/// More pages than that are not read; the pull request says so.
const MOST_PAGES: usize = 30;

/// What looking at a pull request found.
#[derive(Debug, Clone, PartialEq)]
pub enum Fetched {
    /// What was seen the last time still holds.
    NotModified,
    /// This is how it is now.
    Changed(Box<PullRequest>),
}

/// What was read of one pull request the last time, and by which tags the host says that it still holds.
#[derive(Debug, Clone, Default)]
pub struct Etags {
    pages: BTreeMap<String, Page>,
    last: Option<PullRequest>,
}

#[derive(Debug, Clone)]
struct Page {
    etag: String,
    more: bool,
    total: Option<usize>,
    body: Vec<u8>,
}

impl Etags {
    /// What was read the last time.
    #[must_use]
    pub fn last(&self) -> Option<&PullRequest> {
        self.last.as_ref()
    }
}

/// One look at a pull request.
pub(crate) struct Reading<'a> {
    http: &'a Http,
    known: &'a Etags,
    pages: BTreeMap<String, Page>,
    pub unread: Vec<Unread>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(http: &'a Http, known: &'a Etags) -> Self {
        Self { http, known, pages: BTreeMap::new(), unread: Vec::new() }
    }

    /// One resource.
    pub(crate) async fn one<T: DeserializeOwned>(&mut self, path: &str, what: &str) -> Result<T, HostError> {
        let answer = self.page(path, what).await?;
        let read = answer.read(what)?;
        self.keep(path, answer);
        Ok(read)
    }

    /// All pages of a list of `path`, which has a query and no page number. `items` takes the list out of what
    /// surrounds it. A list that the token may not see is noted as unread: it does not hide the rest.
    pub(crate) async fn all<T: DeserializeOwned, I>(
        &mut self,
        path: &str,
        page_size: usize,
        what: &str,
        items: fn(T) -> Vec<I>,
    ) -> Result<Vec<I>, HostError> {
        let mut all = Vec::new();
        for number in 1..=MOST_PAGES {
            let path = format!("{path}&page={number}");
            let answer = match self.page(&path, what).await {
                Ok(answer) => answer,
                Err(error @ (HostError::Forbidden { .. } | HostError::NotFound { .. })) => {
                    self.unread.push(Unread { what: what.to_owned(), why: error.to_string() });
                    return Ok(all);
                }
                Err(error) => return Err(error),
            };
            let page = items(answer.read(what)?);
            let full = page.len() >= page_size;
            // Gitea gives some lists in pages without naming the next one.
            let seen = all.len() + page.len();
            let more = answer.more || (!page.is_empty() && answer.total.is_some_and(|total| seen < total));
            // The tag of a full last page does not tell that another page began after it.
            if more || !full {
                self.keep(&path, answer);
            }
            all.extend(page);
            if !more {
                return Ok(all);
            }
        }
        self.unread.push(Unread {
            what: what.to_owned(),
            why: format!("there are more than {MOST_PAGES} pages; the first ones were read"),
        });
        Ok(all)
    }

    /// The end: what the next look starts from, and whether this one found anything new.
    pub(crate) fn end(self, pull_request: PullRequest) -> (Etags, Fetched) {
        let fetched = if self.known.last.as_ref() == Some(&pull_request) {
            Fetched::NotModified
        } else {
            Fetched::Changed(Box::new(pull_request.clone()))
        };
        (Etags { pages: self.pages, last: Some(pull_request) }, fetched)
    }

    async fn page(&self, path: &str, what: &str) -> Result<Answer, HostError> {
        let known = self.known.pages.get(path);
        let answer = self.http.get(path, known.map(|page| page.etag.as_str()), what).await?;
        match (answer.unchanged, known) {
            (false, _) => Ok(answer),
            (true, Some(page)) => Ok(Answer {
                unchanged: true,
                etag: Some(page.etag.clone()),
                more: page.more,
                total: page.total,
                body: page.body.clone(),
            }),
            (true, None) => Err(HostError::Protocol {
                what: format!("it says that {what} did not change, but was not asked that"),
            }),
        }
    }

    fn keep(&mut self, path: &str, answer: Answer) {
        if let Some(etag) = answer.etag {
            self.pages.insert(
                path.to_owned(),
                Page { etag, more: answer.more, total: answer.total, body: answer.body },
            );
        }
    }
}

/// All pages of a list, read without tags.
pub(crate) async fn every_page<T: DeserializeOwned>(
    http: &Http,
    path: &str,
    what: &str,
    mut found: impl FnMut(T) -> bool,
) -> Result<(), HostError> {
    for number in 1..=MOST_PAGES {
        let answer = http.get(&format!("{path}&page={number}"), None, what).await?;
        let enough = found(parse(&answer.body, what)?);
        if enough || !answer.more {
            return Ok(());
        }
    }
    Ok(())
}
