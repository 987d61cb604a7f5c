//! Tasks of vibe-kanban as JSON: a list, or the answer of its interface (`{"success": true, "data": [...]}`).

use forge_model::issue::Issue;
use serde::Deserialize;
use serde_json::Value;

use super::{IssueFileError, state_of, untitled, with_references};

#[derive(Deserialize)]
struct Task {
    id: String,
    title: String,
    description: Option<String>,
    #[serde(default)]
    status: String,
}

/// The tasks of an export.
///
/// # Errors
/// When it is not JSON, has no list of tasks, or a task lacks `id` or `title`.
pub fn read_vibe_kanban(text: &str) -> Result<Vec<Issue>, IssueFileError> {
    let refused = |why: String| IssueFileError::NotAnExport { why };
    let all: Value = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    let list = [&all, &all["data"], &all["tasks"], &all["data"]["tasks"]];
    let list = list.into_iter().find_map(Value::as_array);
    let list = list.ok_or_else(|| refused("it has no list of tasks".to_owned()))?;
    let mut issues = Vec::with_capacity(list.len());
    for (index, task) in list.iter().enumerate() {
        let task =
            Task::deserialize(task).map_err(|error| refused(format!("task {}: {error}", index + 1)))?;
        issues.push(Issue {
            reference: task.id,
            title: task.title,
            body: task.description.unwrap_or_default(),
            state: state_of(&task.status),
            ..untitled()
        });
    }
    Ok(with_references(issues))
}

#[cfg(test)]
mod tests {
    use forge_model::issue::IssueState;

    use super::*;

    #[test]
    fn list_and_answer_are_read_alike() {
        let tasks = r#"[{"id":"7a","project_id":"p","title":"A","description":null,"status":"inprogress"},
            {"id":"7b","project_id":"p","title":"B","description":"Why","status":"done"}]"#;
        let expected = read_vibe_kanban(tasks).unwrap();
        assert_eq!((expected[0].reference.as_str(), expected[0].state), ("7a", IssueState::Open));
        assert_eq!((expected[1].body.as_str(), expected[1].state), ("Why", IssueState::Closed));
        for text in [
            format!(r#"{{"success":true,"data":{tasks}}}"#),
            format!(r#"{{"tasks":{tasks}}}"#),
            format!(r#"{{"data":{{"tasks":{tasks}}}}}"#),
        ] {
            assert_eq!(read_vibe_kanban(&text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        for (text, why) in
            [("nothing", "expected"), ("{}", "no list"), (r#"[{"title":"A"}]"#, "task 1: missing field `id`")]
        {
            let refused = read_vibe_kanban(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
