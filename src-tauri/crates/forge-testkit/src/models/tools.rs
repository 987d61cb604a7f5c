//! What a turn does, put as calls of the tools that a program offers.

use serde_json::{Value, json};

use super::{
    call::{Call, Input},
    request::Offered,
    scenario::Act,
};

/// The calls for one act. A tool that is not offered is called all the same, by the name that it would have:
/// what the program makes of that is its affair, and visible.
pub(super) fn calls(act: &Act, offered: &[Offered], folder: &str) -> Vec<Call> {
    let tools = Tools { offered, folder };
    match act {
        Act::Run { command, outside } => vec![tools.run(command, *outside)],
        Act::Read { path } => vec![tools.read(path)],
        Act::Write { path, content } => vec![tools.write(path, content)],
        Act::Edit { path, old, new } => tools.edit(path, old, new),
        Act::Mcp { server, tool, input } => vec![tools.mcp(server, tool, input)],
        Act::Tool { name, input } => vec![plain(name, input.clone())],
    }
}

struct Tools<'a> {
    offered: &'a [Offered],
    folder: &'a str,
}

impl Tools<'_> {
    fn has(&self, name: &str) -> bool {
        self.offered.iter().any(|tool| tool.name == name)
    }

    fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }

    fn run(&self, command: &str, outside: bool) -> Call {
        if self.has("exec_command") {
            let mut input = json!({ "cmd": command });
            if outside {
                input["sandbox_permissions"] = json!("require_escalated");
                input["justification"] = json!("the script wants it");
            }
            return plain("exec_command", input);
        }
        let name = ["Bash", "bash", "run_shell_command"].into_iter().find(|name| self.has(name));
        let mut input = json!({ "command": command, "description": "Runs a command of the script" });
        if outside && name == Some("Bash") {
            input["dangerouslyDisableSandbox"] = json!(true);
        }
        plain(name.unwrap_or("Bash"), input)
    }

    fn read(&self, path: &str) -> Call {
        let absolute = self.absolute(path);
        if self.has("Read") {
            plain("Read", json!({ "file_path": absolute }))
        } else if self.has("read") {
            plain("read", json!({ "filePath": absolute }))
        } else if self.has("read_file") {
            plain("read_file", json!({ "file_path": absolute }))
        } else {
            self.run(&format!("cat '{path}'"), false)
        }
    }

    fn write(&self, path: &str, content: &str) -> Call {
        let absolute = self.absolute(path);
        if self.has("Write") {
            plain("Write", json!({ "file_path": absolute, "content": content }))
        } else if self.has("write") {
            plain("write", json!({ "filePath": absolute, "content": content }))
        } else if self.has("write_file") {
            plain("write_file", json!({ "file_path": absolute, "content": content }))
        } else {
            let content = content.strip_suffix('\n').unwrap_or(content);
            self.patch(&format!("*** Add File: {path}\n{}", marked('+', content)))
        }
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<Call> {
        let absolute = self.absolute(path);
        if self.has("Edit") {
            let input = json!({ "file_path": absolute, "old_string": old, "new_string": new });
            vec![self.read(path), plain("Edit", input)]
        } else if self.has("edit") {
            let input = json!({ "filePath": absolute, "oldString": old, "newString": new });
            vec![plain("edit", input)]
        } else if self.has("replace") {
            let instruction = "as the script says";
            let input = json!({
                "file_path": absolute, "old_string": old, "new_string": new, "instruction": instruction,
            });
            vec![plain("replace", input)]
        } else {
            let lines = format!("{}{}", marked('-', old), marked('+', new));
            vec![self.patch(&format!("*** Update File: {path}\n@@\n{lines}"))]
        }
    }

    fn patch(&self, change: &str) -> Call {
        let patch = format!("*** Begin Patch\n{change}*** End Patch\n");
        match self.offered.iter().find(|tool| tool.name == "apply_patch") {
            Some(tool) if tool.freeform => {
                Call { name: tool.name.clone(), namespace: None, input: Input::Text(patch) }
            }
            Some(_) => plain("apply_patch", json!({ "input": patch, "patchText": patch })),
            None => self.run(&format!("apply_patch <<'END_OF_PATCH'\n{patch}END_OF_PATCH"), false),
        }
    }

    /// Programs join the two names in different ways.
    fn mcp(&self, server: &str, tool: &str, input: &Value) -> Call {
        let joined = [
            format!("mcp__{server}__{tool}"),
            format!("mcp_{server}_{tool}"),
            format!("{server}_{tool}"),
            format!("{server}__{tool}"),
        ];
        let in_namespace = self.offered.iter().find(|it| {
            it.name == tool && it.namespace.as_ref().is_some_and(|namespace| namespace.contains(server))
        });
        let [usual, ..] = &joined;
        let mut call = plain(joined.iter().find(|name| self.has(name)).unwrap_or(usual), input.clone());
        if let Some(offered) = in_namespace {
            call.name.clone_from(&offered.name);
            call.namespace.clone_from(&offered.namespace);
        } else if self.has("tool_search") && !joined.iter().any(|name| self.has(name)) {
            // Named by a namespace alone until it is searched for; who knows the name may call it all the same.
            call.name = tool.to_owned();
            call.namespace = Some(format!("mcp__{server}"));
        }
        call
    }
}

fn plain(name: &str, input: Value) -> Call {
    Call { name: name.to_owned(), namespace: None, input: Input::Json(input) }
}

fn marked(mark: char, lines: &str) -> String {
    lines.split('\n').map(|line| format!("{mark}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(names: &[&str]) -> Vec<Offered> {
        let tool = |name: &&str| Offered {
            name: (*name).to_owned(),
            namespace: None,
            freeform: *name == "apply_patch",
        };
        names.iter().map(tool).collect()
    }

    fn shown(act: &Act, names: &[&str]) -> Vec<String> {
        let text = |call: Call| match call.input {
            Input::Json(value) => format!("{} {value}", call.name),
            Input::Text(text) => format!("{} {text}", call.name),
        };
        calls(act, &offered(names), "/w").into_iter().map(text).collect()
    }

    #[test]
    fn a_command_goes_to_the_shell_that_there_is() {
        let act = Act::Run { command: "ls".to_owned(), outside: true };
        assert_eq!(
            shown(&act, &["exec_command", "apply_patch"]),
            [concat!(
                r#"exec_command {"cmd":"ls","sandbox_permissions":"require_escalated","#,
                r#""justification":"the script wants it"}"#
            )]
        );
        let described = r#"{"command":"ls","description":"Runs a command of the script"}"#;
        assert_eq!(shown(&act, &["bash", "edit"]), [format!("bash {described}")]);
        assert_eq!(shown(&act, &["run_shell_command"]), [format!("run_shell_command {described}")]);
    }

    #[test]
    fn an_edit_is_a_patch_or_a_replacement() {
        let act = Act::Edit { path: "a.md".to_owned(), old: "x\ny".to_owned(), new: "z".to_owned() };
        let patch = "*** Begin Patch\n*** Update File: a.md\n@@\n-x\n-y\n+z\n*** End Patch\n";
        assert_eq!(shown(&act, &["exec_command", "apply_patch"]), [format!("apply_patch {patch}")]);
        assert_eq!(
            shown(&act, &["Bash", "Read", "Edit"]),
            [
                r#"Read {"file_path":"/w/a.md"}"#,
                r#"Edit {"file_path":"/w/a.md","old_string":"x\ny","new_string":"z"}"#
            ]
        );
        assert_eq!(
            shown(&act, &["bash", "read", "edit"]),
            [r#"edit {"filePath":"/w/a.md","oldString":"x\ny","newString":"z"}"#]
        );
    }

    #[test]
    fn a_new_file_has_the_lines_that_were_asked_for() {
        let act = Act::Write { path: "n.md".to_owned(), content: "one\n\ntwo\n".to_owned() };
        let patch = "*** Begin Patch\n*** Add File: n.md\n+one\n+\n+two\n*** End Patch\n";
        assert_eq!(shown(&act, &["apply_patch"]), [format!("apply_patch {patch}")]);
        let heredoc = format!("apply_patch <<'END_OF_PATCH'\n{patch}END_OF_PATCH");
        assert_eq!(
            shown(&act, &["exec_command"]),
            [format!("exec_command {}", json!({ "cmd": heredoc }))],
            "codex finds a patch in a command, too"
        );
    }

    #[test]
    fn a_tool_of_a_server_is_called_by_the_programs_name_for_it() {
        let act = Act::Mcp { server: "notes".to_owned(), tool: "add".to_owned(), input: json!({}) };
        assert_eq!(shown(&act, &["mcp__notes__add"]), ["mcp__notes__add {}"]);
        assert_eq!(shown(&act, &["notes_add"]), ["notes_add {}"]);
        let namespaced =
            [Offered { name: "add".to_owned(), namespace: Some("mcp__notes".to_owned()), freeform: false }];
        let call = calls(&act, &namespaced, "/w").pop();
        assert_eq!(
            call.map(|it| (it.name, it.namespace)),
            Some(("add".to_owned(), Some("mcp__notes".to_owned())))
        );
    }
}
