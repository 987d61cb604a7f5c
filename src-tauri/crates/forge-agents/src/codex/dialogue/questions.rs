//! What the server asks for, and what people answer.

use super::*;

impl CodexDialogue {
    /// Handles a request of the server. Returns false if there is no handler for it.
    pub(super) fn requested(
        &mut self,
        rpc: &Value,
        method: &str,
        params: &Value,
        cx: &mut DialogueContext<'_>,
    ) -> bool {
        let item = text(params, "itemId").and_then(|item| self.open.get(item));
        let mut context = Context {
            worktree: &self.plan.worktree,
            item: item.map_or(&[][..], Vec::as_slice),
            next: &mut self.last_ask,
        };
        let Some(form) = asks::form(rpc, method, params, &mut context) else {
            cx.send(&wire::not_served(rpc, method));
            return false;
        };
        let decline_reason = if self.stopping {
            Some("The run is being stopped.")
        } else if self.asks_nobody() {
            Some("This mode does not ask the user.")
        } else {
            form.unaskable
        };
        match decline_reason {
            Some(reason) => {
                if let Some(ask) = form.open() {
                    cx.decline(ask.clone(), reason);
                }
                cx.send(&wire::answer(&form.rpc, &form.declined));
            }
            None => self.put(form, cx),
        }
        true
    }

    /// A request of the server is resolved, by our answer or by the server.
    pub(super) fn resolved(&mut self, rpc: &Value, cx: &mut DialogueContext<'_>) {
        let asked = self.forms.iter().find(|(_, form)| form.rpc == *rpc).map(|(ask, _)| ask.clone());
        if let Some(ask) = asked {
            self.forms.remove(&ask);
            cx.resolve(&ask, None, EntryStatus::Cancelled);
        }
    }

    pub(super) fn answer(
        &mut self,
        ask: &str,
        option: &str,
        note: Option<&str>,
        cx: &mut DialogueContext<'_>,
    ) {
        let Some(mut form) = self.forms.remove(ask) else { return };
        let Some((taken, status, used_note)) = form.answer(option, note) else {
            let text = format!("`{option}` is not an answer to this question; it stays open.");
            cx.notice("no_such_answer", &text);
            self.forms.insert(ask.to_owned(), form);
            return;
        };
        cx.resolve(ask, Some(option), status);
        match taken {
            Taken::Reply(result) => cx.send(&wire::answer(&form.rpc, &result)),
            Taken::More => self.put(form, cx),
        }
        let words = note.map(str::trim).filter(|note| !note.is_empty() && !used_note);
        if let Some(words) = words {
            self.says.push_back((None, words.to_owned()));
            self.steer(cx);
        }
    }

    /// Asks a form's next question.
    pub(super) fn put(&mut self, form: Form, cx: &mut DialogueContext<'_>) {
        if let Some(ask) = form.open() {
            let ask = ask.clone();
            self.forms.insert(ask.id.clone(), form);
            cx.ask(ask);
        }
    }
}
