//! Pull requests and issues at a code host: GitHub, Gitea (and Forgejo) and GitLab behind one trait.
//!
//! This crate speaks HTTP to hosts and nothing else: it pushes no branch, starts no process, writes no
//! database and decides nothing about tasks. [`connect`] gives a [`Host`] for a repository; [`remote`] reads
//! which repository a git remote names, [`find_token`] looks for the person's token, [`pull_request_body`]
//! writes what a pull request says, and [`next_poll`] tells when to look again.
//!
//! Invariants: a token leaves this crate in one header to the configured host and is never printed; links
//! in answers are not followed, and redirects only within the host, so that nobody can lead the token elsewhere; every answer is bounded in
//! size and time; the clock and chance come in as arguments.

mod body;
mod checks;
mod clock;
mod connect;
mod defuse;
mod draft;
mod endpoint;
mod error;
mod find_token;
mod gitea;
mod github;
mod gitlab;
mod host;
mod http;
mod issues;
mod keychain;
mod limits;
mod poll;
mod reading;
pub mod remote;
mod text;
mod token;

pub use body::{Check, Summary, pull_request_body, pull_request_title};
pub use clock::Clock;
pub use connect::{PATIENCE, connect};
pub use defuse::defused;
pub use endpoint::host_name;
pub use error::HostError;
pub use find_token::{FoundToken, NamedBy, TOKEN_VARIABLES, TokenSource, find_token, token_sources};
pub use host::{Host, NewPullRequest};
pub use issues::{IssueEtags, IssuePage};
pub use keychain::{Keychain, KeychainError};
pub use limits::Quota;
pub use poll::{PollFacts, next_poll};
pub use reading::Etags;
pub use reading::Fetched;
pub use token::Token;
