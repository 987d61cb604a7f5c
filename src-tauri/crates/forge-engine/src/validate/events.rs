//! The log of calls: `.forge/logs/<run, or the day>.jsonl` at the project's root, a line for every call and one for
//! its verdict. Lines are added whole, and nothing is ever removed.

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_model::validate::{LogEvent, LogEventKind, LogEvents};
use nix::fcntl::{Flock, FlockArg};
use serde_json::Value;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext},
    error::Result,
    export::{FOLDER, place_for},
    validate::call::Call,
};

/// Where the logs are, below `.forge/`.
const LOGS: &str = "logs";
const ENDING: &str = ".jsonl";

/// Adds a line to the log of a call's run.
pub(super) async fn log_validation(
    world: &World,
    call: &Call,
    kind: LogEventKind,
    data: Value,
) -> Result<()> {
    let Some(context) = &call.at.context else { return Ok(()) };
    let event = LogEvent {
        at: world.now(),
        kind,
        module_id: call.input.module_id.clone(),
        run_id: call.input.run_id.clone(),
        task_id: call.at.task_id().cloned(),
        data: core::redaction::redactor_in(world, context).json(data),
    };
    // A time as text begins with its day.
    let day = || event.at.to_string().chars().take(10).collect();
    let name: String = event.run_id.clone().unwrap_or_else(day);
    let root = PathBuf::from(&context.project.repo_path);
    let path = format!("{FOLDER}/{LOGS}/{name}{ENDING}");
    let doing = format!("write {path}");
    let written = tokio::task::spawn_blocking(move || {
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        let place = place_for(&root, &path)?;
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(place)?;
        let mut file = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        if is_torn(&mut file)? {
            line.insert(0, b'\n');
        }
        file.write_all(&line)
    });
    written.await.map_err(io::Error::other).and_then(|done| done).map_err(EngineError::io(doing))
}

/// Whether a log ends in the middle of a line, as a kill can leave it.
fn is_torn(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    if file.seek(io::SeekFrom::End(0))? > 0 {
        file.seek(io::SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last != [b'\n'])
}

/// The latest events of a run, or of all of them; oldest first.
pub(super) async fn latest(
    context: Arc<ProjectContext>,
    run: Option<String>,
    module: Option<String>,
    limit: usize,
) -> Result<LogEvents> {
    let folder = Path::new(&context.project.repo_path).join(FOLDER).join(LOGS);
    let read = tokio::task::spawn_blocking(move || {
        let files = match run {
            Some(run) => vec![folder.join(format!("{run}{ENDING}"))],
            None => logs_in(&folder)?,
        };
        let mut found = LogEvents { items: Vec::new(), unreadable: 0 };
        for file in files {
            read_log(&file, module.as_deref(), limit, &mut found)?;
        }
        found.items.sort_by_key(|event| event.at);
        let over = found.items.len().saturating_sub(limit);
        found.items.drain(..over);
        Ok(found)
    });
    let read: io::Result<LogEvents> = read.await.map_err(io::Error::other).and_then(|done| done);
    read.map_err(EngineError::io("read the log of validations"))
}

fn logs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_file() && path.to_string_lossy().ends_with(ENDING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the last events of one log; of a long one, no more than are wanted are in memory.
fn read_log(file: &Path, module: Option<&str>, limit: usize, found: &mut LogEvents) -> io::Result<()> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut last = VecDeque::new();
    for line in BufReader::new(opened).split(b'\n') {
        let line = line?;
        match serde_json::from_slice::<LogEvent>(&line) {
            Ok(event) if module.is_none_or(|module| event.module_id == module) => {
                last.push_back(event);
                if last.len() > limit {
                    last.pop_front();
                }
            }
            Ok(_) => {}
            // A kill in the middle of a line leaves a part of it; the next one begins behind that.
            Err(_) => found.unreadable = found.unreadable.saturating_add(1),
        }
    }
    found.items.extend(last);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_read_and_torn_ones_counted() {
        let folder = tempfile::tempdir().unwrap();
        let line = |n: u32, module: &str| {
            format!(
                r#"{{"at":"2026-01-01T00:00:{n:02}Z","type":"validate","moduleId":"{module}","runId":null,"data":{n}}}"#
            )
        };
        let text = [line(1, "a"), line(2, "b"), "{torn".to_owned(), line(3, "a"), line(4, "a")].join("\n");
        let file = folder.path().join("r.jsonl");
        std::fs::write(&file, text).unwrap();
        let mut found = LogEvents { items: Vec::new(), unreadable: 0 };
        read_log(&file, Some("a"), 2, &mut found).unwrap();
        let said: Vec<_> = found.items.iter().map(|event| event.data.clone()).collect();
        assert_eq!((said, found.unreadable), (vec![Value::from(3), Value::from(4)], 1));
        assert_eq!(logs_in(folder.path()).unwrap(), [file]);
        read_log(&folder.path().join("none.jsonl"), None, 2, &mut found).unwrap();
    }
}
