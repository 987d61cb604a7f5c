//! A notification service on the test's own bus: it receives Forge's notifications and clicks them.

use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::{Duration, timeout},
};

use crate::{children::start, display::Display};

/// Debian's build: others lack the D-Bus bindings.
const PYTHON: &str = "/usr/bin/python3";
const SERVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/desktop/support/notifyd.py");

/// Reached only when no notification is raised.
const LIMIT: Duration = Duration::from_secs(30);

/// The running service.
pub struct NotificationService {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    orders: ChildStdin,
}

/// A notification as it came over the bus.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReceivedNotification {
    /// The service's number for it.
    pub id: u32,
    /// Who raised it.
    pub app: String,
    /// Its title.
    pub summary: String,
    /// Its text.
    pub body: String,
    /// Its answers: keys and labels in turn.
    pub actions: Vec<String>,
}

impl NotificationService {
    /// Starts the service, which then owns the name on the bus.
    ///
    /// # Errors
    /// When Python or its D-Bus binding is missing.
    pub async fn start(display: &Display) -> Result<Self> {
        let mut command = display.program(PYTHON);
        command.arg(SERVICE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let log = display.folder().join("logs/notifyd.log");
        let mut child = start(&mut command, &log)?;
        let output = child.stdout.take().context("failed to read what the service prints")?;
        let orders = child.stdin.take().context("failed to write to the service")?;
        let mut lines = BufReader::new(output).lines();
        if lines.next_line().await?.as_deref() != Some("READY") {
            bail!(
                "the notification service did not come up: {}",
                std::fs::read_to_string(&log).unwrap_or_default()
            );
        }
        Ok(Self { _child: child, lines, orders })
    }

    /// The next notification.
    ///
    /// # Errors
    /// When none comes.
    pub async fn next(&mut self) -> Result<ReceivedNotification> {
        let line =
            timeout(LIMIT, self.lines.next_line()).await.context("waited in vain for a notification")??;
        let line = line.context("the notification service ended")?;
        serde_json::from_str(&line).with_context(|| format!("failed to read {line}"))
    }

    /// Answers a notification with one of its keys; `default` is a click on itself.
    ///
    /// # Errors
    /// When the service is gone.
    pub async fn click(&mut self, id: u32, key: &str) -> Result<()> {
        let order = format!("{}\n", json!({ "click": id, "key": key }));
        Ok(self.orders.write_all(order.as_bytes()).await?)
    }
}
