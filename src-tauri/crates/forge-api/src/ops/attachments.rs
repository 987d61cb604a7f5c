//! Files that go with a message to an agent.

use std::path::PathBuf;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_engine::FileSource;
use forge_model::actor::Actor;
use forge_model::attachment::{Attachment, MAX_ATTACHMENT_BYTES};
use forge_model::ids::{AttachmentId, TaskId};

use super::{Done, Page, TaskPath, input};
use crate::{Api, ApiError};

/// The largest body of an [`AddAttachment`]: base64 of the largest file, and its name.
pub(crate) const MAX_BODY: usize = MAX_ATTACHMENT_BYTES as usize / 3 * 4 + 64 * 1024;

input! {
    /// An attached file, by id.
    pub struct AttachmentPath {
        /// The file.
        pub attachment_id: AttachmentId,
    }

    /// A file to attach to the next message, by content or by path.
    pub struct AddAttachment {
        /// The task.
        pub task_id: TaskId,
        /// File name; taken from `path` when absent.
        #[serde(default)]
        pub name: Option<String>,
        /// Content in base64, at most 10 MiB.
        #[serde(default)]
        pub data: Option<String>,
        /// An absolute path on the engine's machine; the file is copied.
        #[serde(default)]
        pub path: Option<PathBuf>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Attachment>, ApiError> {
    Ok(Page::whole(api.engine().attachments(&path.task_id).await?))
}

pub(crate) async fn add(api: Api, _: Actor, new: AddAttachment) -> Result<Attachment, ApiError> {
    let name = new.name.or_else(|| new.path.as_ref()?.file_name()?.to_str().map(str::to_owned));
    let name = name.ok_or_else(|| ApiError::invalid("name", "is needed"))?;
    let source = match (new.data, new.path) {
        (Some(data), None) => {
            let content = BASE64_STANDARD.decode(data);
            FileSource::Content(content.map_err(|_| ApiError::invalid("data", "must be base64"))?)
        }
        (None, Some(path)) if path.is_absolute() => FileSource::Path(path),
        (None, Some(_)) => return Err(ApiError::invalid("path", "must be absolute")),
        _ => return Err(ApiError::invalid("data", "either `data` or `path` is required")),
    };
    Ok(api.engine().attach(&new.task_id, &name, source).await?)
}

pub(crate) async fn remove(api: Api, _: Actor, path: AttachmentPath) -> Result<Done, ApiError> {
    api.engine().detach(&path.attachment_id).await?;
    Ok(Done::yes())
}
