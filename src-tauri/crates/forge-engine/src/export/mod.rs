//! Exports: the files for people and scripts under `.forge/` at a repository's root.
//!
//! The database is the source. An export is written whole or not at all, is kept out of git, and is never read back.
//! Only the attempts of `validate` are kept there themselves, by the module `validate`. A path through anything but
//! real folders (a link that somebody committed, say) is refused.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_model::ids::ProjectId;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext, sync::locked},
    error::Result,
    trust,
};

/// The folder of a project's exports.
pub(crate) const FOLDER: &str = ".forge";
/// What keeps it out of git, and what of it is the repository's own.
const EXCLUDED: [&str; 2] = ["/.forge/*", "!/.forge/workflow.json"];

/// When an export that failed is tried again.
const RETRY_EVERY: Duration = Duration::from_secs(5 * 60);

type Turn = Arc<tokio::sync::Mutex<()>>;

#[derive(Default)]
struct Exports {
    /// Whose turn it is to write a project's exports, and to read what goes into each of them.
    turns: Mutex<HashMap<(ProjectId, &'static str), Turn>>,
    /// Told when something that is exported is about to be committed.
    unexported: tokio::sync::Notify,
}

/// Says that something that is exported is about to be committed.
pub(crate) fn export_later(world: &World) {
    world.part::<Exports>().unexported.notify_one();
}

/// Exports what was recorded and not exported yet, now and whenever there is more.
pub(crate) fn keep_exporting(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        let exports = world.part::<Exports>();
        loop {
            let failed = export_what_is_new(&world).await.inspect_err(|error| {
                tracing::warn!(%error, "failed to export what is new; trying again with the next record, or later");
            });
            tokio::select! {
                () = world.inner.shutdown.cancelled() => return,
                () = exports.unexported.notified() => {}
                goes_on = core::sleep::pause(&world, RETRY_EVERY), if failed.is_err() => if !goes_on { return },
            }
        }
    });
}

async fn export_what_is_new(world: &World) -> Result<()> {
    // Writers take turns: what made this necessary is committed once a turn is had.
    drop(world.store().write().await?);
    for export in &world.features().moments.export {
        export(world).await?;
    }
    Ok(())
}

/// Writes a file of the exports, in place of what was there. `path` is relative to `.forge/`, its parts divided
/// by `/`.
///
/// # Errors
/// When the path leads elsewhere or the file cannot be written.
pub(crate) async fn export(
    world: &World,
    context: &ProjectContext,
    path: &str,
    content: impl Into<Vec<u8>>,
) -> Result<()> {
    let content = match String::from_utf8(content.into()) {
        Ok(text) => core::redaction::redactor_in(world, context).string(text).into_bytes(),
        Err(error) => error.into_bytes(),
    };
    write_export(world, context, path, move |file| replace(file, &content)).await
}

/// Sees to it that git does not look at what is written below `.forge/`.
pub(crate) async fn keep_out_of_git(world: &World, context: &ProjectContext) -> Result<()> {
    let repo = core::repository::repo(world, context).await?;
    repo.exclude(&EXCLUDED).await?;
    trust::accepted::keep_own_changes(world, context, &repo).await
}

async fn write_export(
    world: &World,
    context: &ProjectContext,
    path: &str,
    write: impl FnOnce(&Path) -> io::Result<()> + Send + 'static,
) -> Result<()> {
    keep_out_of_git(world, context).await?;
    let turn = export_turn(world, &context.project.id, "file");
    let _turn = turn.lock().await;
    let root = PathBuf::from(&context.project.repo_path);
    let path = format!("{FOLDER}/{path}");
    let doing = format!("write {path}");
    let written = tokio::task::spawn_blocking(move || write(&place_for(&root, &path)?)).await;
    written.map_err(io::Error::other).and_then(|done| done).map_err(EngineError::io(doing))
}

/// Exports of one project are written one after the other. Who reads what is to be exported has a turn of its own
/// meanwhile, so that nothing newer is replaced by something older.
pub(crate) fn export_turn(world: &World, id: &ProjectId, what: &'static str) -> Arc<tokio::sync::Mutex<()>> {
    Arc::clone(locked(&world.part::<Exports>().turns).entry((id.clone(), what)).or_default())
}

/// Where a file is to be written; its folders are made. Only real folders are gone through.
pub(crate) fn place_for(root: &Path, path: &str) -> io::Result<PathBuf> {
    let mut place = root.to_owned();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() || part == "." || part == ".." || part.contains(['\\', '\0']) {
            return Err(io::Error::other(format!("`{part}` is not a file name")));
        }
        place.push(part);
        let is_file = parts.peek().is_none();
        if !is_file {
            make_folder(&place)?;
        }
        match std::fs::symlink_metadata(&place) {
            Ok(found) if is_file && found.is_file() || !is_file && found.is_dir() => {}
            Ok(_) => {
                let wanted = if is_file { "file" } else { "folder" };
                return Err(io::Error::other(format!("{} is not a regular {wanted}", place.display())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_file => {}
            Err(error) => return Err(error),
        }
    }
    Ok(place)
}

/// Makes a folder unless something is there: another process may be making the same one.
fn make_folder(place: &Path) -> io::Result<()> {
    match std::fs::create_dir(place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Replaces a file by one with this content, whole.
pub(crate) fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = file.with_file_name(format!(".fresh-{}", uuid::Uuid::new_v4().simple()));
    let write = || {
        let mut made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        made.write_all(content)?;
        made.sync_all()?;
        std::fs::rename(&fresh, file)
    };
    write().inspect_err(|_| {
        // What could not be made whole is not left lying about; it may not be there at all.
        let _absent = std::fs::remove_file(&fresh);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let root = folder();
        let file = place_for(root.path(), ".forge/proposed-fixes/a.patch").unwrap();
        replace(&file, b"one").unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(std::fs::read(root.path().join(".forge/proposed-fixes/a.patch")).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(root.path().join(".forge/proposed-fixes")).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link_or_outside() {
        let (root, elsewhere) = (folder(), folder());
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join(".forge")).unwrap();
        place_for(root.path(), ".forge/x").unwrap_err();
        place_for(root.path(), "../x").unwrap_err();
        place_for(root.path(), "a//x").unwrap_err();
        std::os::unix::fs::symlink(elsewhere.path().join("y"), root.path().join("link")).unwrap();
        place_for(root.path(), "link").unwrap_err();
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
