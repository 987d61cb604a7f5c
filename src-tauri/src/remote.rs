//! The window on the engine of another computer: changes, contact and notifications come over the connection.

use std::time::Duration;

use forge_api::{
    Change, ChangeBatch, Client as _, STORAGE_CHANGED, operations::NotificationList, ops::tasks::Limited,
};
use forge_model::event::{Event, EventType};
use forge_remote::{Contact, Happened, RemoteEngine, RemoteFault};
use serde_json::Value;
use tauri::{AppHandle, Emitter as _, Manager as _, Runtime};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::{
    arguments::Arguments,
    connections::{self, Known},
    contact::ContactNews,
    contract::Contract,
    events::Page,
    host::{Host, WindowEngine},
    notify,
    windows::Visibility,
};

/// Tells the page whether the engine can be reached.
const CONTACT: &str = "contact";
/// What happens at one moment goes to the page together.
const MOMENT: Duration = Duration::from_millis(10);
/// How many changes one batch holds at most.
const MOST: usize = 500;
/// Among how many of the latest notifications a new one is looked for.
const LATEST: u32 = 50;

/// Connects while the page loads; says what is wrong when it cannot, and tries again or ends the program.
pub async fn launch<R: Runtime>(app: AppHandle<R>) {
    let Arguments { connect, program } = app.state::<Arguments>().inner().clone();
    let Some(host) = connect else { return };
    let known = Known { host, program };
    match RemoteEngine::connect(connections::destination(&known)).await {
        Ok(engine) => {
            connections::remember(&app, known);
            let page = Page::new(app.clone(), app.state::<Visibility>().follow());
            tauri::async_runtime::spawn(pump(page, engine.happened()));
            tauri::async_runtime::spawn(raise_all(app.clone(), engine.clone()));
            tauri::async_runtime::spawn(tell_contact(app.clone(), engine.clone()));
            app.state::<Host>().ready(WindowEngine::There(engine));
        }
        Err(fault) => refuse(&app, &fault),
    }
}

/// Tells the person, in the terminal and in a dialog, why there is no connection.
fn refuse<R: Runtime>(app: &AppHandle<R>, fault: &RemoteFault) {
    eprintln!("forge-desktop: {fault}\n{}", fault.remedy());
    let handle = app.clone();
    app.dialog()
        .message(format!("{fault}\n\n{}", fault.remedy()))
        .title("Could not connect")
        .kind(MessageDialogKind::Error)
        .buttons(MessageDialogButtons::OkCancelCustom("Try again".to_owned(), "Quit".to_owned()))
        .show(move |again| {
            if again {
                tauri::async_runtime::spawn(async move { Box::pin(launch(handle)).await });
            } else {
                handle.exit(1);
            }
        });
}

async fn tell_contact<R: Runtime>(app: AppHandle<R>, engine: RemoteEngine) {
    let mut contact = Contact::Live;
    loop {
        contact = engine.contact_other_than(&contact).await;
        if let Err(error) = app.emit_to(crate::windows::target(), CONTACT, ContactNews::of(&contact)) {
            tracing::warn!(%error, "failed to tell the window about its connection");
        }
    }
}

/// Passes what happens on to the page, in batches.
async fn pump<R: Runtime>(page: Page<R>, mut happened: Receiver<Happened>) {
    let mut seen = 0;
    loop {
        let first = match happened.recv().await {
            Ok(first) => change_of(&first, seen),
            Err(RecvError::Lagged(_)) => Some(Change::of_everything(seen)),
            Err(RecvError::Closed) => return,
        };
        tokio::time::sleep(MOMENT).await;
        let mut changes: Vec<Change> = first.into_iter().collect();
        // The page knows no number yet: what it has read is as new as the first change.
        let after = if seen == 0 { changes.first().map_or(0, |change| change.seq - 1) } else { seen };
        seen = changes.last().map_or(seen, |change| seen.max(change.seq));
        while changes.len() < MOST
            && let Ok(more) = happened.try_recv()
        {
            if let Some(change) = change_of(&more, seen) {
                seen = seen.max(change.seq);
                changes.push(change);
            }
        }
        if !changes.is_empty() {
            page.tell(&ChangeBatch { after, seq: seen, changes });
        }
    }
}

/// What the page has to know of what happened, after the number that it has seen.
fn change_of(happened: &Happened, seen: i64) -> Option<Change> {
    let event = match happened {
        Happened::Event(event) => event,
        // What is not kept was missed.
        Happened::Reconnected { seen } => return Some(Change::of_everything(*seen)),
    };
    if event["seq"].is_null() {
        let text = |field: &str| event[field].as_str().map(str::to_owned);
        if event["type"] == STORAGE_CHANGED {
            return Some(Change::of_storage(seen));
        }
        let (project, log) = (text("project_id")?, text("entity_id")?);
        return Some(Change::of_growth(seen, project.into(), text("task_id").map(Into::into), log));
    }
    let event: Event = match serde_json::from_value((**event).clone()) {
        Ok(event) => event,
        Err(error) => {
            tracing::warn!(%error, "failed to read an event");
            return Some(Change::of_everything(seen));
        }
    };
    Some(match event.kind {
        EventType::EventsResync => Change::of_everything(event.seq),
        _ => Change::of_event(event),
    })
}

/// Raises on this desktop what the engine there wants raised.
async fn raise_all<R: Runtime>(app: AppHandle<R>, engine: RemoteEngine) {
    let mut happened = engine.happened();
    let asked = WindowEngine::There(engine);
    loop {
        let id = match happened.recv().await {
            Ok(Happened::Event(event)) => match native(&event) {
                Some(id) => id,
                None => continue,
            },
            Ok(Happened::Reconnected { .. }) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        match Contract(&asked).call(NotificationList, Limited { limit: Some(LATEST), cursor: None }).await {
            Ok(list) => {
                // One whose task was deleted meanwhile is gone.
                if let Some(notification) = list.items.iter().find(|it| it.id.0 == id) {
                    notify::raise(&app, notification);
                }
            }
            Err(error) => tracing::warn!(%error, "failed to read a notification"),
        }
    }
}

/// The notification that an event wants raised natively.
fn native(event: &Value) -> Option<String> {
    let is_native =
        event["type"] == EventType::NotificationCreated.to_string() && event["data"]["native"] == true;
    event["entity_id"].as_str().filter(|_| is_native).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn event(value: Value) -> Happened {
        Happened::Event(Arc::new(value))
    }

    #[test]
    fn changes_carry_the_tags_of_the_contract() {
        let moved = event(json!({
            "seq": 7, "type": "task.moved", "at": "2026-01-01T00:00:00Z", "project_id": "p", "task_id": "t",
            "entity_id": "t", "data": {},
        }));
        let change = change_of(&moved, 6).unwrap();
        assert_eq!((change.seq, change.tags.contains(&"board:p".to_owned())), (7, true), "{change:?}");
        let grown = event(json!({
            "seq": null, "type": "execution.log", "project_id": "p", "task_id": "t", "entity_id": "l", "data": {},
        }));
        let change = change_of(&grown, 7).unwrap();
        assert_eq!((change.seq, change.tags), (7, vec!["log:l".to_owned(), "activity:t".to_owned()]));
        for again in [Happened::Reconnected { seen: 7 }, event(json!({ "seq": 8, "type": "what" }))] {
            assert_eq!(change_of(&again, 7).unwrap().tags, ["*"]);
        }
    }

    #[test]
    fn only_notifications_that_are_to_be_native_are_raised() {
        let of = |native: bool| json!({ "type": "notification.created", "entity_id": "n", "data": { "native": native } });
        assert_eq!(native(&of(true)).as_deref(), Some("n"));
        assert_eq!(native(&of(false)), None);
    }
}
