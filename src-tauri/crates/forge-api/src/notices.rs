//! Notifications as they are made, for a host that can show native ones.

use std::collections::VecDeque;

use forge_engine::Engine;
use forge_model::event::EventType;
use forge_model::ids::NotificationId;
use forge_model::notification::Notification;
use futures::Stream;
use tokio::sync::watch;

/// How many events are read at once.
const MOST: u32 = 500;

struct State {
    engine: Engine,
    events: watch::Receiver<i64>,
    seen: i64,
    ready: VecDeque<NotificationId>,
}

/// The notifications made from now on whose event says that they are to be native.
pub(crate) fn stream(engine: Engine) -> impl Stream<Item = Notification> + Send {
    let events = engine.events();
    let seen = *events.borrow();
    futures::stream::unfold(State { engine, events, seen, ready: VecDeque::new() }, |mut state| async move {
        loop {
            if let Some(id) = state.ready.pop_front() {
                match state.engine.notification(&id).await {
                    Ok(notification) => return Some((notification, state)),
                    // Its task was deleted meanwhile: there is nothing left to tell.
                    Err(error) => tracing::debug!(%error, "a notification is gone"),
                }
                continue;
            }
            state.events.changed().await.ok()?;
            state.read().await;
        }
    })
}

impl State {
    async fn read(&mut self) {
        let last = *self.events.borrow_and_update();
        while self.seen < last {
            match self.engine.events_after(self.seen, MOST).await {
                Ok(Some(events)) if !events.is_empty() => {
                    for event in events {
                        self.seen = event.seq;
                        if event.kind == EventType::NotificationCreated && event.data["native"] == true {
                            self.ready.push_back(NotificationId(event.entity_id));
                        }
                    }
                }
                Ok(_) => self.seen = last,
                Err(error) => {
                    tracing::error!(%error, "failed to read notifications");
                    return;
                }
            }
        }
    }
}
