//! A drafting agent that speaks the Agent Client Protocol and gives a fixed answer.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde_json::json;

/// An agent that speaks the Agent Client Protocol and answers every prompt with the content of `answer`. It records
/// each prompt, and waits while `gate` exists.
const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"id":\([0-9]*\),.*/\1/p')
  [ -n "$id" ] || id=$(printf '%s' "$line" | sed -n 's/^.*"id":\([0-9]*\)[,}].*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) result='{"sessionId":"s1"}' ;;
    *'"session/prompt"'*)
      printf '%s\n' "$line" >> asked
      while [ -e gate ]; do sleep 0.05; done
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}\n' "$(cat answer)"
      result='{"stopReason":"end_turn"}' ;;
    *) result='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Installs the program with its answer into a new folder, and returns its path.
///
/// # Errors
/// When a file cannot be written.
pub fn install(folder: &Path, answer: &str) -> Result<PathBuf> {
    std::fs::create_dir(folder)?;
    let program = folder.join("drafter");
    std::fs::write(&program, SCRIPT)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    std::fs::write(folder.join("answer"), json!(answer).to_string())?;
    Ok(program)
}
