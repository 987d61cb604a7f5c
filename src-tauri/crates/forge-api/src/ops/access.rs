//! How other programs reach this Forge.

use forge_model::actor::Actor;

use super::{Empty, answer, input};
use crate::{
    Api, ApiError,
    access::MCP_PATH,
    clients::{ClientConfig, Server},
};

input! {
    /// Changes to how other programs reach this Forge.
    pub struct UpdateDoors {
        /// Whether MCP is served.
        #[serde(default)]
        pub mcp_enabled: Option<bool>,
    }
}

answer! {
    /// How other programs reach this Forge.
    pub struct Doors {
        /// Address of the API; null while it is not served.
        pub url: Option<String>,
        /// Address for MCP clients; null while MCP is not served.
        pub mcp_url: Option<String>,
        /// Whether MCP is served while the API is.
        pub mcp_enabled: bool,
        /// Whether MCP can be turned on; false if Forge was started with `--no-mcp`.
        pub mcp_allowed: bool,
        /// Whether requests must carry the token.
        pub auth: bool,
        /// The file with the token, readable only by its owner.
        pub token_file: String,
        /// Configurations of clients, ready to copy.
        pub clients: Vec<ClientConfig>,
    }

    /// The access token for other programs.
    pub struct AccessToken {
        /// The token.
        pub token: String,
    }
}

pub(crate) async fn get(api: Api, _: Actor, _: Empty) -> Result<Doors, ApiError> {
    access_of(&api).await
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateDoors) -> Result<Doors, ApiError> {
    if let Some(enabled) = change.mcp_enabled {
        api.access().switch_mcp(enabled).await?;
    }
    access_of(&api).await
}

pub(crate) async fn token(api: Api, _: Actor, _: Empty) -> Result<AccessToken, ApiError> {
    Ok(AccessToken { token: api.access().show_token()? })
}

pub(crate) async fn renew_token(api: Api, _: Actor, _: Empty) -> Result<AccessToken, ApiError> {
    Ok(AccessToken { token: api.access().renew_token()? })
}

async fn access_of(api: &Api) -> Result<Doors, ApiError> {
    let reach = api.access().reach().await?;
    let mcp_url = reach.url.as_ref().filter(|_| reach.mcp_enabled).map(|url| format!("{url}{MCP_PATH}"));
    let server = Server {
        program: Server::program_of(api.self_program()),
        data_dir: api.engine().data_dir().to_owned(),
        url: mcp_url.clone(),
        auth: reach.auth,
    };
    Ok(Doors {
        url: reach.url,
        mcp_url,
        mcp_enabled: reach.mcp_enabled,
        mcp_allowed: reach.mcp_allowed,
        auth: reach.auth,
        token_file: reach.token_file.to_string_lossy().into_owned(),
        clients: server.configs(),
    })
}
