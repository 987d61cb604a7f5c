//! How other programs reach this engine: where it serves, with which token, and whether over the Model Context Protocol.
//!
//! The server asks here at every request, so a new token and the switch of the protocol count at once.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use forge_engine::{Engine, EngineError};
use serde_json::Value;

use crate::{
    ApiError,
    token::{self, TokenError},
};

/// Where in the settings of Forge as a whole it is kept whether the protocol is served.
const MCP_KEY: &str = "mcp_enabled";
/// Where the protocol is served, below the address.
pub const MCP_PATH: &str = "/mcp";

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Other programs cannot be told where the engine is.
    #[error("Could not publish the engine's address: {0}")]
    Announce(#[source] std::io::Error),
    /// The switch cannot be read.
    #[error("Could not read the settings: {0}")]
    Settings(#[source] EngineError),
}

/// How a server serves.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its address, without a slash at the end.
    pub url: String,
    /// The socket at which it serves, too.
    pub socket: Option<PathBuf>,
    /// Whether requests must carry the token.
    pub auth: bool,
    /// Whether the Model Context Protocol may be served at all.
    pub mcp: bool,
}

/// How other programs reach the engine.
pub struct Access {
    engine: Engine,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    url: Option<String>,
    token: Option<Arc<str>>,
    mcp_allowed: bool,
    mcp_enabled: bool,
}

/// How other programs reach the engine, as it is now.
pub(crate) struct Reach {
    pub url: Option<String>,
    pub auth: bool,
    pub mcp_allowed: bool,
    pub mcp_enabled: bool,
    pub token_file: PathBuf,
}

impl Access {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, state: RwLock::default() }
    }

    /// Opens it: has a token at hand, and tells other programs where the engine is. The token's file; none when no
    /// token is asked for.
    ///
    /// # Errors
    /// When the token, the settings or the address cannot be read or written.
    pub async fn open(&self, opening: Opening) -> Result<Option<PathBuf>, OpenError> {
        let (token, file) = if opening.auth {
            let (token, file) = token::load_or_create(self.engine.data_dir())?;
            (Some(token.into()), Some(file))
        } else {
            (None, None)
        };
        let mcp_enabled = self.mcp_setting().await.map_err(OpenError::Settings)?;
        self.engine.announce(&opening.url, opening.socket.as_deref()).map_err(OpenError::Announce)?;
        self.change(|state| {
            *state = State { url: Some(opening.url), token, mcp_allowed: opening.mcp, mcp_enabled };
        });
        Ok(file)
    }

    /// The token that requests must carry; none when none is asked for.
    #[must_use]
    pub fn token(&self) -> Option<Arc<str>> {
        self.read(|state| state.token.clone())
    }

    /// Whether the Model Context Protocol is served.
    #[must_use]
    pub fn serves_mcp(&self) -> bool {
        self.read(State::serves_mcp)
    }

    pub(crate) async fn reach(&self) -> Result<Reach, ApiError> {
        let enabled = self.mcp_setting().await?;
        Ok(self.read(|state| {
            let serving = state.url.is_some();
            let mcp_allowed = !serving || state.mcp_allowed;
            Reach {
                url: state.url.clone(),
                auth: !serving || state.token.is_some(),
                mcp_allowed,
                mcp_enabled: mcp_allowed && enabled,
                token_file: token::path_of(self.engine.data_dir()),
            }
        }))
    }

    async fn mcp_setting(&self) -> Result<bool, EngineError> {
        let setting = self.engine.app_setting(MCP_KEY).await?;
        Ok(setting.as_ref().and_then(Value::as_bool).unwrap_or(true))
    }

    /// Switches the protocol on or off, from now on and at later starts.
    pub(crate) async fn switch_mcp(&self, enabled: bool) -> Result<(), ApiError> {
        if enabled && self.read(|state| state.url.is_some() && !state.mcp_allowed) {
            let message = "MCP is off because Forge was started with --no-mcp";
            return Err(ApiError::new(409, "mcp_off", message));
        }
        self.engine.set_app_setting(MCP_KEY, &Value::Bool(enabled)).await?;
        self.change(|state| state.mcp_enabled = enabled);
        Ok(())
    }

    /// The token itself.
    pub(crate) fn show_token(&self) -> Result<String, ApiError> {
        self.refuse_without_auth()?;
        Ok(token::load_or_create(self.engine.data_dir())?.0)
    }

    /// Makes the token anew; who has the old one is shut out.
    pub(crate) fn renew_token(&self) -> Result<String, ApiError> {
        self.refuse_without_auth()?;
        let token = token::renew(self.engine.data_dir())?;
        self.change(|state| {
            if state.token.is_some() {
                state.token = Some(token.as_str().into());
            }
        });
        Ok(token)
    }

    fn refuse_without_auth(&self) -> Result<(), ApiError> {
        if self.read(|state| state.url.is_some() && state.token.is_none()) {
            let message = "there is no token because Forge was started with --no-auth";
            return Err(ApiError::new(409, "no_token", message));
        }
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is known, and tells the engine where the agents that it starts find it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let url = state.url.as_ref().filter(|_| state.serves_mcp());
        self.engine.set_mcp_url(url.map(|url| format!("{url}{MCP_PATH}")));
    }
}

impl State {
    const fn serves_mcp(&self) -> bool {
        self.mcp_allowed && self.mcp_enabled
    }
}
