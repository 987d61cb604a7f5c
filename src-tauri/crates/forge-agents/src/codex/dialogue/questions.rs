//! What the server asks for, and what people answer.

use super::*;

impl CodexDialogue {
    /// A request of the server. False when nobody serves it.
    pub(super) fn requested(
        &mut self,
        rpc: &Value,
        method: &str,
        params: &Value,
        scene: &mut Scene<'_>,
    ) -> bool {
        let item = text(params, "itemId").and_then(|item| self.open.get(item));
        let mut context = Context {
            worktree: &self.plan.worktree,
            item: item.map_or(&[][..], Vec::as_slice),
            next: &mut self.last_ask,
        };
        let Some(form) = asks::form(rpc, method, params, &mut context) else {
            scene.send(&wire::not_served(rpc, method));
            return false;
        };
        let why = if self.stopping {
            Some("The run is being stopped.")
        } else if self.asks_nobody() {
            Some("This mode asks no user.")
        } else {
            form.unaskable
        };
        match why {
            Some(why) => {
                if let Some(ask) = form.open() {
                    scene.decline(ask.clone(), why);
                }
                scene.send(&wire::answer(&form.rpc, &form.declined));
            }
            None => self.put(form, scene),
        }
        true
    }

    /// A request of the server is settled, by our answer or by itself.
    pub(super) fn resolved(&mut self, rpc: &Value, scene: &mut Scene<'_>) {
        let asked = self.forms.iter().find(|(_, form)| form.rpc == *rpc).map(|(ask, _)| ask.clone());
        if let Some(ask) = asked {
            self.forms.remove(&ask);
            scene.settle(&ask, None, EntryStatus::Cancelled);
        }
    }

    pub(super) fn answer(&mut self, ask: &str, option: &str, note: Option<&str>, scene: &mut Scene<'_>) {
        let Some(mut form) = self.forms.remove(ask) else { return };
        let Some((taken, status, used_note)) = form.answer(option, note) else {
            let text = format!("`{option}` is not an answer to this question; it stays open.");
            scene.notice("no_such_answer", &text);
            self.forms.insert(ask.to_owned(), form);
            return;
        };
        scene.settle(ask, Some(option), status);
        match taken {
            Taken::Reply(result) => scene.send(&wire::answer(&form.rpc, &result)),
            Taken::More => self.put(form, scene),
        }
        let words = note.map(str::trim).filter(|note| !note.is_empty() && !used_note);
        if let Some(words) = words {
            self.says.push_back((None, words.to_owned()));
            self.steer(scene);
        }
    }

    /// Asks a form's next question.
    pub(super) fn put(&mut self, form: Form, scene: &mut Scene<'_>) {
        if let Some(ask) = form.open() {
            let ask = ask.clone();
            self.forms.insert(ask.id.clone(), form);
            scene.ask(ask);
        }
    }
}
