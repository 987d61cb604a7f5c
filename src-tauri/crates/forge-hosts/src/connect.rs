//! Picks the host that a configuration names.

use std::sync::Arc;
use std::time::Duration;

use forge_model::pull_request::{HostConfig, HostKind};

use crate::{
    clock::Clock, endpoint::Endpoint, error::HostError, gitea::Gitea, github::Github, gitlab::Gitlab,
    host::Host, http::Http, token::Token,
};

/// How long one request may take before the host counts as out of reach, unless the caller knows better.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The repository that `config` names, acting with `token`; one request may take as long as `patience`
/// ([`PATIENCE`]). Asks nothing yet.
///
/// # Errors
/// [`HostError::Protocol`] when the configured address is none.
pub fn connect(
    config: &HostConfig,
    token: Token,
    clock: Clock,
    patience: Duration,
) -> Result<Arc<dyn Host>, HostError> {
    let endpoint = Endpoint::of(config)?;
    let http = Http::new(&endpoint, token, clock, patience)?;
    Ok(match endpoint.kind {
        HostKind::Github => Arc::new(Github::new(http, &endpoint)),
        HostKind::Gitea => Arc::new(Gitea::new(http, &endpoint)),
        HostKind::Gitlab => Arc::new(Gitlab::new(http, &endpoint)),
    })
}
