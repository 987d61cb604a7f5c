//! What agent programs need of the user's environment to sign in, for each of them alone.
//!
//! Names of keys, and names of what says where the keys are good. What is missing here, such as the key of a provider
//! that a program's own configuration names, is passed by the `environment.pass` of the agent or the project.

use std::{ffi::OsStr, path::Path};

use forge_model::environment::Variables;

/// Variables that sign Claude Code in.
pub(crate) const CLAUDE_KEYS: &[&str] =
    &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Where Claude Code finds its service and its sign-in.
const CLAUDE_PLACES: &[&str] = &["ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CONFIG_DIR"];

/// Signs Claude Code in at Amazon Bedrock, when the first of them says that it is used.
const BEDROCK: &[&str] = &[
    "CLAUDE_CODE_USE_BEDROCK",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
];

/// Signs Claude Code in at Google Vertex AI, when the first of them says that it is used.
const VERTEX: &[&str] = &[
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Signs Codex in.
pub(crate) const CODEX: &[&str] =
    &["CODEX_ACCESS_TOKEN", "CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

/// Signs Gemini CLI in.
const GEMINI: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
];

/// Signs OpenCode in at the providers that it takes keys of from the environment.
const OPENCODE: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

/// What Claude Code needs, by the service that the environment says it uses.
pub(crate) fn claude(environment: &Variables) -> Vec<&'static str> {
    let mut names = [CLAUDE_KEYS, CLAUDE_PLACES].concat();
    for service in [BEDROCK, VERTEX] {
        let is_used = service.first().and_then(|name| environment.get(OsStr::new(name)));
        if is_used.is_some_and(|value| !value.is_empty() && value != "0") {
            names.extend(service);
        }
    }
    names
}

/// What a program that speaks the Agent Client Protocol needs, as far as Forge knows the program.
pub(crate) fn acp(program: &str, environment: &Variables) -> Vec<&'static str> {
    match Path::new(program).file_stem().and_then(OsStr::to_str) {
        Some("gemini") => GEMINI.to_vec(),
        Some("opencode") => OPENCODE.to_vec(),
        Some("claude-agent-acp" | "claude-code-acp") => claude(environment),
        Some("codex-acp") => CODEX.to_vec(),
        Some(_) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use forge_model::agent::AdapterKind;
    use serde_json::json;

    use super::*;
    use crate::adapter;

    #[test]
    fn each_program_gets_its_own_keys_and_no_others() {
        let none = Variables::new();
        let of = |kind, program: &str| adapter(kind).sign_in_variables(&json!({ "program": program }), &none);
        assert!(of(AdapterKind::Claude, "claude").contains(&"ANTHROPIC_API_KEY"));
        assert!(!of(AdapterKind::Claude, "claude").contains(&"OPENAI_API_KEY"));
        assert!(!of(AdapterKind::Codex, "codex").contains(&"ANTHROPIC_API_KEY"));
        assert!(of(AdapterKind::Acp, "/opt/bin/gemini").contains(&"GEMINI_API_KEY"));
        assert!(of(AdapterKind::Acp, "some-other-agent").is_empty());
        assert!(of(AdapterKind::Shell, "claude").is_empty());
    }

    #[test]
    fn claude_gets_cloud_keys_only_when_it_uses_that_cloud() {
        let with = |name: &str, value: &str| Variables::from([(name.into(), value.into())]);
        assert!(!claude(&Variables::new()).contains(&"AWS_SECRET_ACCESS_KEY"));
        assert!(!claude(&with("CLAUDE_CODE_USE_BEDROCK", "0")).contains(&"AWS_SECRET_ACCESS_KEY"));
        assert!(claude(&with("CLAUDE_CODE_USE_BEDROCK", "1")).contains(&"AWS_SECRET_ACCESS_KEY"));
        assert!(claude(&with("CLAUDE_CODE_USE_VERTEX", "1")).contains(&"GOOGLE_APPLICATION_CREDENTIALS"));
    }
}
