//! Notifications.

use forge_model::actor::Actor;
use forge_model::ids::NotificationId;
use forge_model::notification::Notification;

use super::{Done, Page, input, tasks::Limited};
use crate::{Api, ApiError, paging::PageRange};

input! {
    /// Notifications to mark as read.
    pub struct MarkRead {
        /// Ids; all notifications when absent.
        #[serde(default)]
        pub ids: Option<Vec<NotificationId>>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, list: Limited) -> Result<Page<Notification>, ApiError> {
    let range = PageRange::asked(list.limit, list.cursor.as_deref())?;
    Ok(range.of(api.engine().notifications(range.reach()).await?))
}

pub(crate) async fn read(api: Api, _: Actor, mark: MarkRead) -> Result<Done, ApiError> {
    api.engine().mark_read(mark.ids.as_deref()).await?;
    Ok(Done::yes())
}
