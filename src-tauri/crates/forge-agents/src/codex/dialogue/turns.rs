//! Turns of a run: how they begin, how they end and what that means, and how they are stopped.

use super::*;

impl CodexDialogue {
    pub(super) fn begin_turn(&mut self, kind: TurnKind, cx: &mut DialogueContext<'_>) {
        self.turns += 1;
        cx.turn(self.turns);
        self.turn = Some(Turn { id: None, kind, calls: 0 });
    }

    pub(super) fn start_turn(&mut self, words: &str, kind: TurnKind, cx: &mut DialogueContext<'_>) {
        let permissions = self.permissions();
        let params = object([
            ("threadId", Some(json!(self.thread))),
            ("input", Some(wire::input(words))),
            ("cwd", Some(json!(self.plan.worktree))),
            ("approvalPolicy", Some(json!(wire::approval_policy(permissions)))),
            ("sandboxPolicy", Some(wire::sandbox_policy(permissions, self.sandbox.as_ref()))),
            ("model", self.plan.model.as_ref().map(|model| json!(model))),
            ("effort", self.plan.effort.as_ref().map(|effort| json!(effort))),
            ("outputSchema", (kind == TurnKind::Verdict).then(review::schema)),
        ]);
        self.begin_turn(kind, cx);
        self.ask_server("turn/start", &params, Awaited::Turn, cx);
    }

    pub(super) fn start_review(&mut self, cx: &mut DialogueContext<'_>) {
        let params = json!({
            "threadId": self.thread,
            "target": { "type": "custom", "instructions": self.plan.prompt },
            "delivery": "inline",
        });
        self.begin_turn(TurnKind::Review, cx);
        self.ask_server("review/start", &params, Awaited::Turn, cx);
    }

    pub(super) fn turn_taken(&mut self, result: Result<Value, Refusal>, cx: &mut DialogueContext<'_>) {
        let Some(turn) = &mut self.turn else { return };
        match result {
            Ok(result) => {
                turn.id = result.get("turn").and_then(|turn| text(turn, "id")).map(str::to_owned);
                if self.stopping { self.interrupt_turn(cx) } else { self.steer(cx) }
            }
            Err(refusal) if turn.kind == TurnKind::Review && !self.stopping => {
                let text = format!(
                    "The program's review command failed ({}); the review is requested by prompt.",
                    refusal.message
                );
                cx.notice("review_unavailable", &text);
                let prompt = self.plan.prompt.clone();
                self.start_turn(&prompt, TurnKind::Ordinary, cx);
            }
            Err(refusal) => {
                let detail = format!("it did not accept the turn: {}", refusal.message);
                self.finish(Err(AgentError::Protocol { detail }), cx);
            }
        }
    }

    pub(super) fn turn_over(&mut self, params: &Value, cx: &mut DialogueContext<'_>) {
        let ended = params.get("turn").unwrap_or(&Value::Null);
        let Some(turn) = self.turn.take_if(|turn| is_end_of(turn, ended)) else { return };
        self.close(cx);
        let status = text(ended, "status").unwrap_or_default();
        let last_error = self.last_error.take();
        let error = ended.get("error").filter(|error| error.is_object()).or(last_error.as_ref());
        let result = self.judge(status, error.unwrap_or(&Value::Null), cx);
        let summary = self.last_said.as_deref().and_then(summary::of_message);
        let body = object([
            ("status", Some(json!(status))),
            ("summary", summary.map(|summary| json!(summary))),
            ("error", result.as_ref().err().map(|error| json!(error.to_string()))),
        ]);
        cx.log(NewEntry::new(EntryKind::TurnEnded, String::new(), body));
        if turn.kind == TurnKind::Review && turn.calls == 0 {
            let text = "The program does not report the usage of its review; the costs do not include it.";
            cx.notice("usage_unreported", text);
        }
        if self.stopping {
            self.result.get_or_insert(result);
            return self.clean(cx);
        }
        if turn.kind == TurnKind::Review && result.is_ok() {
            let verdict = std::mem::take(&mut self.verdict).finish().0.verdict;
            if verdict.is_none() {
                let words = review::question(&self.plan.prompt);
                return self.start_turn(&words, TurnKind::Verdict, cx);
            }
        }
        self.finish(result, cx);
    }

    /// What is left open when a turn is over: questions that nobody wants to know about any more, and items that
    /// never ended.
    pub(super) fn close(&mut self, cx: &mut DialogueContext<'_>) {
        for (ask, _) in std::mem::take(&mut self.forms) {
            cx.resolve(&ask, None, EntryStatus::Cancelled);
        }
        for mut entry in std::mem::take(&mut self.open).into_values().flatten() {
            entry.status = Some(EntryStatus::Cancelled);
            entry.raw_offset = None;
            cx.log(entry);
        }
    }

    pub(super) fn judge(
        &mut self,
        status: &str,
        error: &Value,
        cx: &mut DialogueContext<'_>,
    ) -> Result<(), AgentError> {
        match status {
            "completed" => Ok(()),
            "interrupted" => Err(AgentError::Cancelled),
            "failed" => {
                let limits = Limits {
                    now_ms: (self.plan.now_ms)(),
                    snapshot: self.limits.as_ref(),
                    limited: self.counter.limited,
                };
                let failure = failure(error, &limits);
                if let Some(how) = &failure.waits {
                    cx.notice("rate_limited", &format!("The model's limit is reached. {how}"));
                    self.counter.limited =
                        if failure.guessed { self.counter.limited.saturating_add(1) } else { 0 };
                }
                Err(failure.error)
            }
            other => Err(AgentError::Protocol { detail: format!("its turn ended with status `{other}`") }),
        }
    }

    pub(super) fn interrupt_turn(&mut self, cx: &mut DialogueContext<'_>) {
        let Some(id) = self.turn.as_ref().and_then(|turn| turn.id.as_ref()) else { return };
        let params = json!({ "threadId": self.thread, "turnId": id });
        self.ask_server("turn/interrupt", &params, Awaited::Interrupt, cx);
    }

    /// Ends the commands that outlive their turn.
    pub(super) fn clean(&mut self, cx: &mut DialogueContext<'_>) {
        let params = json!({ "threadId": self.thread });
        self.ask_server("thread/backgroundTerminals/clean", &params, Awaited::Clean, cx);
    }
}

/// Whether this is the end of that turn. A review has turns in it, whose root it is. One that was not named yet is
/// the only one that there is.
fn is_end_of(turn: &Turn, ended: &Value) -> bool {
    turn.id.as_deref().is_none_or(|id| ["id", "rootTurnId"].iter().any(|name| text(ended, name) == Some(id)))
}
