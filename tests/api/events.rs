//! Server-sent events: replay, live events, and events that are no longer stored.

use anyhow::{Context as _, Result, bail};
use forge_store::Store;
use forge_tests::patience::until;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::answers::refused;
use forge_testkit::{Folder, board::text, caller::PATIENCE, script, serve::Served};

/// One received event.
#[derive(Debug)]
pub struct Event {
    pub id: Option<i64>,
    pub data: Value,
}

impl Event {
    pub fn kind(&self) -> &str {
        self.data["type"].as_str().unwrap_or_default()
    }
}

pub struct Stream {
    response: Response,
    unread: String,
}

impl Stream {
    pub async fn open(server: &Served, last: Option<i64>) -> Result<Self> {
        let mut request = server.request(Method::GET, "/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await?.error_for_status()?;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Ok(Self { response, unread: String::new() })
    }

    /// The next event, or none at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
                };
                let parsed = match field("data") {
                    Some(data) => Some(Event {
                        id: field("id").map(str::parse).transpose()?,
                        data: serde_json::from_str(data)?,
                    }),
                    None => None,
                };
                self.unread = rest.to_owned();
                if parsed.is_some() {
                    return Ok(parsed);
                }
                continue;
            }
            let chunk =
                tokio::time::timeout(PATIENCE, self.response.chunk()).await.context("nothing comes")??;
            match chunk {
                Some(chunk) => self.unread.push_str(std::str::from_utf8(&chunk)?),
                None => return Ok(None),
            }
        }
    }

    /// All events up to the first one that matches.
    pub async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await? {
            let found = wanted(&event);
            all.push(event);
            if found {
                return Ok(all);
            }
        }
        bail!("the stream ended with {all:?}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_gets_all_remaining_or_new_events() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    for title in ["One", "Two"] {
        server.task(&project, json!({ "title": title })).await?;
    }
    let second = |event: &Event| event.kind() == "task.created" && event.data["data"]["number"] == 2;
    let all = Stream::open(&server, Some(0)).await?.until(second).await?;
    let ids: Vec<i64> = all.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids, (1..=i64::try_from(all.len())?).collect::<Vec<_>>(), "from the first, without gaps");
    assert!(all.iter().all(|event| event.data["seq"] == json!(event.id)));
    assert!(all.iter().any(|event| event.kind() == "project.changed"));

    let mut new_only = Stream::open(&server, None).await?;
    let mut rest = Stream::open(&server, ids.get(1).copied()).await?;
    let rest_ids: Vec<i64> = rest.until(second).await?.iter().filter_map(|event| event.id).collect();
    assert_eq!(rest_ids, ids[2..]);

    let third = server.task(&project, json!({ "title": "Three" })).await?;
    for stream in [&mut new_only, &mut rest] {
        let event = stream.next().await?.context("ended")?;
        assert_eq!((event.kind(), &event.data["task_id"]), ("task.created", &third["id"]));
        assert_eq!(event.data["project_id"], project.as_str());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_event_number_is_answered_with_resync() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let mut stream = Stream::open(&server, Some(1_000_000)).await?;
    let resync = stream.next().await?.context("ended")?;
    assert_eq!(resync.kind(), "events.resync");
    assert!(resync.id.is_some_and(|id| id < 1_000_000), "the number to go on from: {resync:?}");
    server.task(&project, json!({})).await?;
    assert_eq!(stream.next().await?.context("ended")?.kind(), "task.created");
    let wrong = server.request(Method::GET, "/events").header("last-event-id", "soon");
    assert_eq!(refused(wrong).await?.0, 400);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn log_growth_is_announced_without_a_number() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    let new = json!({ "description": script(&["say Hello", "edit a.txt <<< \"a\\n\"", "sleep 300"]) });
    let task = server.task(&project, new).await?;
    let mut stream = Stream::open(&server, None).await?;
    let claim = json!({ "agent_id": agent, "version": task["version"] });
    server.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
    let seen = stream.until(|event| event.kind() == "task.awaiting_human").await?;
    let (kept, grown): (Vec<&Event>, Vec<&Event>) = seen.iter().partition(|event| event.id.is_some());
    assert!(!grown.is_empty());
    for event in grown {
        assert_eq!((event.kind(), &event.data["task_id"]), ("execution.log", &task["id"]));
        assert!(event.data["data"]["last_seq"].as_u64().is_some_and(|seq| seq > 0), "{event:?}");
    }
    let ids: Vec<i64> = kept.iter().filter_map(|event| event.id).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_event_number_is_answered_with_resync() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    for title in ["One", "Two", "Three"] {
        server.task(&project, json!({ "title": title })).await?;
    }
    server.terminate().await?;
    let store = Store::open(&sandbox.data_dir()).await?;
    let mut tx = store.write().await?;
    tx.events_mut().prune(2).await?;
    tx.commit().await?;
    store.close().await;

    let server = sandbox.serve()?;
    let mut gone = Stream::open(&server, Some(1)).await?;
    let resync = gone.next().await?.context("ended")?;
    let last = resync.id.context("no number to go on from")?;
    assert_eq!((resync.kind(), &resync.data["seq"]), ("events.resync", &json!(last)));
    let kept = Stream::open(&server, Some(0)).await?.until(|event| event.id == Some(last)).await?;
    let kept: Vec<i64> = kept.iter().filter_map(|event| event.id).collect();
    assert_eq!(kept, [last - 1, last], "from the first that is kept");
    let four = server.task(&project, json!({ "title": "Four" })).await?;
    assert_eq!(gone.next().await?.context("ended")?.data["task_id"], four["id"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn event_stream_beyond_the_limit_is_refused() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(Stream::open(&server, None).await?);
    }
    let (status, body) = refused(server.request(Method::GET, "/events")).await?;
    assert_eq!((status, &body["code"]), (429, &json!("too_many_streams")));
    open.pop();
    until("a place", async || Ok(Stream::open(&server, None).await.ok())).await?;
    Ok(())
}
