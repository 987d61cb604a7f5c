//! An agent that speaks the Agent Client Protocol and asks for a permission at each prompt.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// An agent that asks whether it may run `make`, and ends its turn with a file once it is answered.
const SCRIPT: &str = r#"#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"id":\([0-9]*\),.*/\1/p')
  [ -n "$id" ] || id=$(printf '%s' "$line" | sed -n 's/^.*"id":\([0-9]*\)[,}].*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) result='{"sessionId":"s1"}' ;;
    *'"session/prompt"'*)
      prompt=$id
      printf '%s\n' '{"jsonrpc":"2.0","id":900,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"Run make","kind":"execute","rawInput":{"command":"make"}},"options":[{"optionId":"allow","name":"Allow once","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}'
      continue ;;
    *'"outcome"'*) echo made > made.txt; id=$prompt; result='{"stopReason":"end_turn"}' ;;
    *) result='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Installs the program into a new folder, and returns its path.
///
/// # Errors
/// When a file cannot be written.
pub fn install(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir(folder)?;
    let program = folder.join("asker");
    std::fs::write(&program, SCRIPT)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program)
}
