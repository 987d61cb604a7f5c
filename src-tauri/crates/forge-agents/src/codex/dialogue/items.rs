//! What a turn does, item by item: entries of the log, what the agent says in one line, what it spends.

use super::*;

impl CodexDialogue {
    pub(super) fn is_ours(&self, params: &Value) -> bool {
        match (&self.thread, text(params, "threadId")) {
            (Some(own), Some(thread)) => own == thread,
            (None, _) | (_, None) => true,
        }
    }

    pub(super) fn item(
        &mut self,
        params: &Value,
        done: bool,
        raw_offset: u64,
        cx: &mut DialogueContext<'_>,
    ) -> bool {
        let Some(item) = params.get("item") else { return false };
        let kind = text(item, "type").unwrap_or_default();
        let is_ours = self.is_ours(params);
        if is_ours && !done && kind != "userMessage" && self.is_too_much(cx) {
            return true;
        }
        if kind == "userMessage" && !self.prompt_seen && entries::words_of(item) == self.plan.prompt {
            self.prompt_seen = done;
            return true;
        }
        let Some(told) = entries::told(item, done, &self.plan.worktree) else { return !done };
        if let Some(line) = &told.doing {
            cx.doing(line);
        }
        let id = text(item, "id").unwrap_or_default();
        for helper in item.get("receiverThreadIds").and_then(Value::as_array).into_iter().flatten() {
            if let Some(helper) = helper.as_str() {
                self.helpers.insert(helper.to_owned(), id.to_owned());
            }
        }
        if is_ours && let Some(said) = told.said {
            // A review's outcome is told twice: as that, and as a message.
            if kind == "agentMessage" && self.last_said.as_ref() == Some(&said) && self.reviews() {
                return true;
            }
            if self.reviews() {
                self.verdict.read(&format!("{said}\n"));
            }
            self.last_said = Some(said);
        }
        let mut logged = told.entries;
        if !is_ours {
            let parent = text(params, "threadId").and_then(|thread| self.helpers.get(thread));
            logged.iter_mut().for_each(|entry| as_helper(entry, parent));
        }
        if self.stopping {
            logged.iter_mut().for_each(as_stopped);
        }
        self.follow(id, &logged);
        logged.into_iter().for_each(|entry| cx.log_at(entry, raw_offset));
        true
    }

    /// Remembers which entries have begun and not ended; one item may end what another began.
    pub(super) fn follow(&mut self, item: &str, logged: &[NewEntry]) {
        self.open.retain(|_, open| {
            open.retain(|open| logged.iter().all(|entry| entry.id != open.id));
            !open.is_empty()
        });
        let running = logged.iter().filter(|entry| entry.status == Some(EntryStatus::Running));
        let running: Vec<NewEntry> = running.cloned().collect();
        if !running.is_empty() {
            self.open.insert(item.to_owned(), running);
        }
    }

    pub(super) fn reviews(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.kind == TurnKind::Review)
    }

    /// Whether the model goes on although it was called as often as it may be. Then the run is stopped.
    pub(super) fn is_too_much(&mut self, cx: &mut DialogueContext<'_>) -> bool {
        match self.plan.turns {
            Some(most) if self.calls >= most && !self.stopping => {
                cx.stop_at(LimitKind::Turns(most));
                true
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn writes(&mut self, params: &Value, cx: &mut DialogueContext<'_>) {
        let (item, delta) =
            (text(params, "itemId").unwrap_or_default(), text(params, "delta").unwrap_or_default());
        if self.tail.item != item {
            item.clone_into(&mut self.tail.item);
            self.tail.line.clear();
        }
        let new = match delta.rsplit_once('\n') {
            Some((before, last)) => {
                let whole = before.rsplit('\n').find(|line| !line.trim().is_empty());
                if last.trim().is_empty() {
                    match whole {
                        Some(line) if before.contains('\n') => cx.doing(line),
                        Some(line) => cx.doing(&format!("{}{line}", self.tail.line)),
                        None => {}
                    }
                }
                self.tail.line.clear();
                last
            }
            None => delta,
        };
        if self.tail.line.len() < TAIL_BYTES {
            self.tail.line.push_str(new);
        }
        cx.doing(&self.tail.line);
    }

    pub(super) fn used(&mut self, params: &Value, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let is_ours = self.is_ours(params);
        let Some(usage) = params.get("tokenUsage") else { return };
        let Some(thread) = text(params, "threadId").or(self.thread.as_deref()) else { return };
        // Before the server has taken a turn of this run, it tells of earlier ones.
        let is_new = !is_ours || self.turn.as_ref().is_some_and(|turn| turn.id.is_some());
        let Some(sample) = self.counter.count(thread, usage, is_new, &self.model) else { return };
        if let Some(thread) = &self.thread {
            cx.carry(self.counter.carry(thread));
        }
        cx.used(sample, raw_offset);
        if let Some(turn) = self.turn.as_mut().filter(|_| is_ours) {
            turn.calls += 1;
            self.calls += 1;
        }
    }

    pub(super) fn error(&mut self, params: &Value, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Some(error) = params.get("error") else { return };
        let retries = params.get("willRetry").and_then(Value::as_bool).unwrap_or_default();
        let code = if retries { "retrying" } else { "error" };
        notice_at(code, &detail(error), raw_offset, cx);
        if !retries && self.is_ours(params) {
            self.last_error = Some(error.clone());
        }
    }
}

/// An entry of a helper: part of what called it, and no words of the agent itself.
fn as_helper(entry: &mut NewEntry, parent: Option<&String>) {
    entry.parent_id = parent.cloned();
    match entry.kind {
        EntryKind::AssistantText | EntryKind::UserMessage => {
            let is_told = entry.kind == EntryKind::UserMessage;
            let words = entry.body.get("text").cloned();
            let name = if is_told { "input" } else { "output" };
            entry.body = object([("name", Some(json!("agent"))), (name, words)]);
            entry.kind = EntryKind::ToolCall;
            entry.status = Some(EntryStatus::Completed);
        }
        _ => {}
    }
}

/// A command that ends badly once the turn is to be stopped was stopped with it: whether codex says so or that it failed
/// depends on which of the two it hears first.
fn as_stopped(entry: &mut NewEntry) {
    if entry.kind == EntryKind::Command && entry.status == Some(EntryStatus::Failed) {
        entry.status = Some(EntryStatus::Cancelled);
    }
}
