//! Files that people send to agents with a message. The file is written before its row, since an agent would be told
//! of a row without a file.

use std::path::{Path, PathBuf};

use forge_model::attachment::{
    AttachedFile, Attachment, MAX_ATTACHMENT_BYTES, MAX_WAITING_ATTACHMENTS, attachment_name,
};
use forge_model::event::EventType;
use forge_model::ids::{AttachmentId, ProjectId, TaskId};
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::json;
use tokio::{fs, io::AsyncReadExt as _};

use crate::{ConflictCode, EngineError, World, core, core::private_data, error::Result};

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSource {
    /// Its content.
    Content(Vec<u8>),
    /// A file on this machine, which is copied.
    Path(PathBuf),
}

/// A task's files that wait for their message, oldest first.
pub(crate) async fn attachments(world: &World, task: &TaskId) -> Result<Vec<Attachment>> {
    let mut conn = world.store().read().await?;
    core::load::load_own(world, &mut conn, task, None).await?;
    Ok(conn.attachments().list(task, true).await?)
}

/// Keeps a file for the next message to a task's agent.
pub(crate) async fn attach(
    world: &World,
    task: &TaskId,
    name: &str,
    source: FileSource,
) -> Result<Attachment> {
    let name = attachment_name(name).map_err(|why| EngineError::invalid("name", why))?;
    let (row, content) = {
        let mut conn = world.store().read().await?;
        let (row, _) = core::load::load_own(world, &mut conn, task, None).await?;
        refuse_too_many(conn.attachments().list(task, true).await?.len())?;
        (row, content_of(source).await?)
    };
    let attachment = Attachment {
        id: world.new_id(),
        task_id: task.clone(),
        name,
        bytes: size_of(content.len() as u64)?,
        added_at: world.now(),
        sent_at: None,
    };
    let path = path_of(world, &row, &attachment);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await.map_err(EngineError::io("store a file"))?;
    }
    let kept = match private_data::write(&path, &content).await {
        Ok(()) => keep_attachment(world, &attachment).await,
        Err(error) => Err(EngineError::io("store a file")(error)),
    };
    if kept.is_err() {
        remove_folder(path.parent().unwrap_or(&path)).await?;
    }
    kept.map(|()| attachment)
}

/// Takes a file back that waits for its message.
pub(crate) async fn detach(world: &World, id: &AttachmentId) -> Result<()> {
    let mut tx = world.store().write().await?;
    let found = tx.attachments().get(id).await?;
    let attachment = found.ok_or_else(|| EngineError::not_found("attachment", id))?;
    if attachment.sent_at.is_some() {
        return Err(EngineError::conflict(ConflictCode::AlreadySent, "the file was sent to the agent"));
    }
    let (row, _) = core::load::load_own(world, &mut tx, &attachment.task_id, None).await?;
    tx.attachments_mut().delete(id).await?;
    queue_changed(world, &mut tx, &row.id).await?;
    tx.commit().await?;
    let path = path_of(world, &row, &attachment);
    remove_folder(path.parent().unwrap_or(&path)).await
}

/// Where a task's files lie.
pub(crate) fn attachment_dir(world: &World, project: &ProjectId, task: &TaskId) -> PathBuf {
    world.data_dir().join("attachments").join(project.as_str()).join(task.as_str())
}

/// A task's files, by their paths from its folder on.
pub(crate) async fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let folder = folder.to_owned();
    let list = move || {
        let mut files = Vec::new();
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(files) };
        for entry in entries {
            for file in std::fs::read_dir(entry?.path())? {
                files.extend(file?.path().strip_prefix(&folder).map(Path::to_owned));
            }
        }
        Ok(files)
    };
    tokio::task::spawn_blocking(list).await.map_err(std::io::Error::other)?
}

/// Writes the row of a file that is there.
async fn keep_attachment(world: &World, attachment: &Attachment) -> Result<()> {
    let task = &attachment.task_id;
    let mut tx = world.store().write().await?;
    let (row, _) = core::load::load_own(world, &mut tx, task, None).await?;
    // Others may have come while this one was written.
    refuse_too_many(tx.attachments().list(task, true).await?.len())?;
    tx.attachments_mut().insert(attachment).await?;
    queue_changed(world, &mut tx, &row.id).await?;
    Ok(tx.commit().await?)
}

/// Writes down that files go with a message; what the agent is told of them.
pub(crate) async fn send_files(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    ids: &[AttachmentId],
) -> Result<Vec<AttachedFile>> {
    let mut told = Vec::with_capacity(ids.len());
    for id in ids {
        let found = tx.attachments().get(id).await?.filter(|found| found.task_id == task.id);
        let attachment = found.ok_or_else(|| EngineError::not_found("attachment", id))?;
        if !tx.attachments_mut().send(id, world.now()).await? {
            return Err(EngineError::conflict(
                ConflictCode::AlreadySent,
                format!("{} was sent with an earlier message", attachment.name),
            ));
        }
        let path = path_of(world, task, &attachment).to_string_lossy().into_owned();
        told.push(AttachedFile { name: attachment.name, path, bytes: attachment.bytes });
    }
    Ok(told)
}

/// Says that what waits to be told to a task's agent is not what it was.
pub(crate) async fn queue_changed(world: &World, tx: &mut Tx, task: &TaskId) -> Result<()> {
    let (row, _) = core::load::load_own(world, tx, task, None).await?;
    world.emit(tx, EventType::TaskUpdated, &row, task.as_str(), &json!({ "messages": true })).await
}

fn path_of(world: &World, task: &TaskRow, attachment: &Attachment) -> PathBuf {
    let folder = attachment_dir(world, &task.project_id, &task.id);
    folder.join(attachment.id.as_str()).join(&attachment.name)
}

/// Removes a folder that may be gone already.
pub(crate) async fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::io(format!("remove {}", folder.display()))(error))
        }
        _ => Ok(()),
    }
}

fn refuse_too_many(waiting: usize) -> Result<()> {
    if waiting < MAX_WAITING_ATTACHMENTS {
        return Ok(());
    }
    let message = format!("{waiting} files are already attached: send or remove some first");
    Err(EngineError::invalid("task_id", message))
}

async fn content_of(source: FileSource) -> Result<Vec<u8>> {
    let path = match source {
        FileSource::Content(content) => return Ok(content),
        FileSource::Path(path) => path,
    };
    let refused = |why: String| EngineError::invalid("path", format!("{}: {why}", path.display()));
    let about = fs::metadata(&path).await.map_err(|error| refused(error.to_string()))?;
    if !about.is_file() {
        return Err(refused("only files can be attached".to_owned()));
    }
    size_of(about.len())?;
    let file = fs::File::open(&path).await.map_err(|error| refused(error.to_string()))?;
    let mut content = Vec::new();
    // It may grow while it is read: one byte more than is allowed tells.
    let most = u64::from(MAX_ATTACHMENT_BYTES) + 1;
    file.take(most).read_to_end(&mut content).await.map_err(|error| refused(error.to_string()))?;
    Ok(content)
}

fn size_of(bytes: u64) -> Result<u32> {
    let size = u32::try_from(bytes).ok().filter(|bytes| *bytes <= MAX_ATTACHMENT_BYTES);
    size.ok_or_else(|| {
        let mib = 1024.0 * 1024.0;
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let message = format!(
            "the file has {:.1} MiB; at most {} MiB can be attached",
            bytes as f64 / mib,
            MAX_ATTACHMENT_BYTES / (1024 * 1024)
        );
        EngineError::invalid("data", message)
    })
}
