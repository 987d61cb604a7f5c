//! `forge knowledge`.

use forge_api::{
    Reply,
    operations::{KnowledgeAccept, KnowledgeDismiss, KnowledgeList, KnowledgePropose, KnowledgeSearch},
    ops::knowledge::{AcceptLesson, LessonPath, ListKnowledge, ProposeLesson, SearchKnowledge},
};
use forge_model::{
    ids::{LessonId, ProjectId},
    knowledge::Lesson,
    lesson::{LessonStatus, LessonView},
};

use crate::{
    answer::Answer,
    args::Knowledge,
    at::At,
    error::{CliError, Kind},
    shown::{NONE, printable, table, text_or_input},
};

pub(crate) async fn run(at: &At, command: Knowledge) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    match command {
        Knowledge::List => {
            let list = ListKnowledge { project_id, status: None, cursor: None, limit: Some(200) };
            let page = at.call(KnowledgeList, list).await?;
            let row = |it: &LessonView| {
                let id = it.id.as_ref().map_or_else(|| NONE.to_owned(), ToString::to_string);
                vec![id, it.status.to_string(), it.title.clone(), it.paths.join(", ")]
            };
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = match rows.as_slice() {
                [] => "No lessons.".to_owned(),
                rows => table(&["ID", "STATE", "TITLE", "PATHS"], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Knowledge::Search { text } => {
            let page =
                at.call(KnowledgeSearch, SearchKnowledge { project_id, q: text, limit: None, cursor: None });
            let page = page.await?;
            let row = |it: &Lesson| vec![it.title.clone(), it.path.clone(), it.summary.clone()];
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = match rows.as_slice() {
                [] => "No lesson matches.".to_owned(),
                rows => table(&["TITLE", "FILE", ""], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Knowledge::Show(named) => {
            let (json, lesson) = find(at, &project_id, &named.lesson, false).await?;
            Ok(Answer::new(json, shown(&lesson)))
        }
        Knowledge::Propose { title, body, path } => {
            let body = text_or_input(body)?;
            let paths = (!path.is_empty()).then_some(path);
            let lesson = at.call(KnowledgePropose, ProposeLesson { project_id, title, body, paths }).await?;
            Ok(decided(lesson))
        }
        Knowledge::Accept(named) => {
            let lesson_id = proposed(at, &project_id, &named.lesson).await?;
            let accept = AcceptLesson { project_id, lesson_id, title: None, body: None, paths: None };
            Ok(decided(at.call(KnowledgeAccept, accept).await?))
        }
        Knowledge::Dismiss(named) => {
            let lesson_id = proposed(at, &project_id, &named.lesson).await?;
            Ok(decided(at.call(KnowledgeDismiss, LessonPath { project_id, lesson_id }).await?))
        }
    }
}

/// A lesson by its id or title. A title that several lessons have names none of them.
async fn find(
    at: &At,
    project: &ProjectId,
    named: &str,
    is_proposed: bool,
) -> Result<(serde_json::Value, LessonView), CliError> {
    let mut cursor = None;
    let mut found = Vec::new();
    loop {
        let list = ListKnowledge {
            project_id: project.clone(),
            status: None,
            cursor: cursor.take(),
            limit: Some(200),
        };
        let mut page = at.call(KnowledgeList, list).await?;
        for (place, lesson) in page.value.items.into_iter().enumerate() {
            if lesson.title == named || lesson.id.as_ref().is_some_and(|id| id.as_str() == named) {
                found.push((page.json["items"][place].take(), lesson));
            }
        }
        match page.value.next_cursor {
            Some(next) => cursor = Some(next),
            None => return one_of(found, named, is_proposed),
        }
    }
}

/// The only one of what was found, where one that is proposed goes before those that are decided if that is asked for.
fn one_of<T>(
    found: Vec<(T, LessonView)>,
    named: &str,
    is_proposed: bool,
) -> Result<(T, LessonView), CliError> {
    let is_open = |lesson: &LessonView| lesson.status == LessonStatus::Proposed;
    let any_open = found.iter().any(|(_, lesson)| is_open(lesson));
    let meant: Vec<_> =
        found.into_iter().filter(|(_, lesson)| !(is_proposed && any_open) || is_open(lesson)).collect();
    let id = |lesson: &LessonView| {
        lesson.id.as_ref().map_or_else(|| lesson.file.clone().unwrap_or_default(), ToString::to_string)
    };
    let ids: Vec<String> = meant.iter().map(|(_, lesson)| id(lesson)).collect();
    if ids.len() > 1 {
        return Err(CliError::Told {
            kind: Kind::Usage,
            message: format!("several lessons have the title `{named}`"),
            hint: format!("Name one by its id: {}.", ids.join(", ")),
        });
    }
    meant.into_iter().next().ok_or_else(|| unknown(named))
}

fn unknown(named: &str) -> CliError {
    CliError::NotFound {
        message: format!("no lesson `{named}`"),
        hint: "List them with `forge knowledge list`.",
    }
}

async fn proposed(at: &At, project: &ProjectId, named: &str) -> Result<LessonId, CliError> {
    let (_, lesson) = find(at, project, named, true).await?;
    lesson.id.ok_or_else(|| CliError::Conflict {
        message: format!("`{named}` is in the repository, and not proposed"),
        hint: "Edit the file in the repository.",
    })
}

fn decided(lesson: Reply<LessonView>) -> Answer {
    let file = lesson.file.as_ref().map(|file| format!(", {file}")).unwrap_or_default();
    let id = lesson.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    let text = printable(&format!("{}: {}{id}{file}", lesson.status, lesson.title));
    Answer::new(lesson.json, text)
}

fn shown(lesson: &LessonView) -> String {
    let mut lines = vec![lesson.title.clone(), format!("state   {}", lesson.status)];
    if !lesson.paths.is_empty() {
        lines.push(format!("paths   {}", lesson.paths.join(", ")));
    }
    lines.extend(lesson.file.as_ref().map(|file| format!("file    {file}")));
    lines.extend(lesson.task_number.map(|number| format!("task    #{number}")));
    lines.extend([String::new(), lesson.body.trim_end().to_owned()]);
    printable(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn title_that_several_lessons_have_names_none_of_them() {
        let lesson = |id: &str, status: &str| -> ((), LessonView) {
            let view = json!({ "id": id, "status": status, "title": "T", "body": "b", "paths": [] });
            ((), serde_json::from_value(view).unwrap())
        };
        let two = || vec![lesson("1", "proposed"), lesson("2", "proposed")];
        let refused = one_of(two(), "T", true).err().unwrap();
        assert_eq!((refused.exit_code(), refused.hints()), (2, vec!["Name one by its id: 1, 2.".to_owned()]));
        let decided = || vec![lesson("1", "dismissed"), lesson("2", "proposed")];
        let id =
            |found: Result<((), LessonView), CliError>| found.ok().and_then(|(_, it)| it.id).map(|id| id.0);
        assert_eq!(id(one_of(decided(), "T", true)).as_deref(), Some("2"), "only it can be decided");
        assert!(one_of(decided(), "T", false).is_err());
        assert_eq!(one_of(Vec::<((), LessonView)>::new(), "T", true).err().unwrap().exit_code(), 3);
    }
}
