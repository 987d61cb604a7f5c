//! What Forge sends: its requests, and its answers to requests of the program.

use std::path::Path;

use agent_client_protocol_schema::{ProtocolVersion, v1 as acp};
use serde::Serialize;
use serde_json::{Value, json};

use super::How;

/// JSON-RPC's code for a method that is not served.
const METHOD_NOT_FOUND: i64 = -32601;

/// JSON-RPC's code for parameters that are not understood.
const INVALID_PARAMS: i64 = -32602;

fn request(id: u64, method: &str, params: &impl Serialize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The greeting: we read and write no files for the program, and run no commands for it.
pub(in crate::acp) fn initialize(id: u64) -> Value {
    let info = acp::Implementation::new("forge", env!("CARGO_PKG_VERSION"));
    let params = acp::InitializeRequest::new(ProtocolVersion::V1).client_info(info);
    request(id, acp::AGENT_METHOD_NAMES.initialize, &params)
}

/// Opens a session of its own.
pub(in crate::acp) fn new_session(id: u64, folder: &Path, servers: Vec<acp::McpServer>) -> Value {
    request(
        id,
        acp::AGENT_METHOD_NAMES.session_new,
        &acp::NewSessionRequest::new(folder).mcp_servers(servers),
    )
}

/// Goes on with a session; what was said in it is said again.
pub(in crate::acp) fn load_session(
    id: u64,
    session: &str,
    folder: &Path,
    servers: Vec<acp::McpServer>,
) -> Value {
    let params = acp::LoadSessionRequest::new(session.to_owned(), folder).mcp_servers(servers);
    request(id, acp::AGENT_METHOD_NAMES.session_load, &params)
}

/// Goes on with a session; nothing is said again.
pub(in crate::acp) fn resume_session(
    id: u64,
    session: &str,
    folder: &Path,
    servers: Vec<acp::McpServer>,
) -> Value {
    let params = acp::ResumeSessionRequest::new(session.to_owned(), folder).mcp_servers(servers);
    request(id, acp::AGENT_METHOD_NAMES.session_resume, &params)
}

/// Goes on with a copy of a session.
pub(in crate::acp) fn fork_session(
    id: u64,
    session: &str,
    folder: &Path,
    servers: Vec<acp::McpServer>,
) -> Value {
    let params = acp::ForkSessionRequest::new(session.to_owned(), folder).mcp_servers(servers);
    request(id, acp::AGENT_METHOD_NAMES.session_fork, &params)
}

/// Makes a choice.
pub(in crate::acp) fn choose(id: u64, session: &str, how: &How, value: &str) -> Value {
    match how {
        How::Config(option) => {
            let value = acp::SessionConfigOptionValue::value_id(value.to_owned());
            let params = acp::SetSessionConfigOptionRequest::new(session.to_owned(), option.clone(), value);
            request(id, acp::AGENT_METHOD_NAMES.session_set_config_option, &params)
        }
        How::Model => request(id, "session/set_model", &json!({ "sessionId": session, "modelId": value })),
        How::Mode => {
            let params = acp::SetSessionModeRequest::new(session.to_owned(), value.to_owned());
            request(id, acp::AGENT_METHOD_NAMES.session_set_mode, &params)
        }
    }
}

/// Tells the agent what to do.
pub(in crate::acp) fn prompt(id: u64, session: &str, words: &str) -> Value {
    let block = acp::ContentBlock::Text(acp::TextContent::new(words));
    let params = acp::PromptRequest::new(session.to_owned(), vec![block]);
    request(id, acp::AGENT_METHOD_NAMES.session_prompt, &params)
}

/// Asks the agent to stop.
pub(in crate::acp) fn cancel(session: &str) -> Value {
    let params = acp::CancelNotification::new(session.to_owned());
    json!({ "jsonrpc": "2.0", "method": acp::AGENT_METHOD_NAMES.session_cancel, "params": params })
}

/// The answer to a permission request; none means that it will not be answered.
pub(in crate::acp) fn permission(id: &Value, option: Option<&str>) -> Value {
    let outcome = match option {
        Some(option) => {
            acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(option.to_owned()))
        }
        None => acp::RequestPermissionOutcome::Cancelled,
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": acp::RequestPermissionResponse::new(outcome) })
}

/// Refuses a request that is not served.
pub(in crate::acp) fn not_served(id: &Value, method: &str) -> Value {
    refusal(id, METHOD_NOT_FOUND, &format!("Forge does not serve {method}"))
}

/// Refuses a request that is not understood.
pub(in crate::acp) fn not_understood(id: &Value) -> Value {
    refusal(id, INVALID_PARAMS, "Invalid params")
}

fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
