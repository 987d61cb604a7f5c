//! From the greeting to the prompt: a session as it was asked for or as near to it as the program can, and the
//! choices that are made in it.

use agent_client_protocol_schema::v1::McpServer;

use super::*;

/// Modes in which agents that have them do not write.
const READING_MODES: &[&str] = &["read-only", "read_only", "readonly"];

impl AcpDialogue {
    /// The program answers the greeting.
    pub(super) fn met(&mut self, answer: &Value, cx: &mut DialogueContext<'_>) {
        let greeted = Greeted::read(answer).unwrap_or_default();
        if greeted.version != VERSION {
            let detail = format!("it uses protocol version {}, not {VERSION}", greeted.version);
            self.fail(AgentError::Protocol { detail }, cx);
            return;
        }
        self.greeted = greeted;
        let how = match &self.brief.session {
            SessionRequest::New => Opening::New,
            SessionRequest::Fork(_) if self.greeted.forks => Opening::Fork,
            SessionRequest::Resume(_) | SessionRequest::Fork(_) => self.going_on(cx),
        };
        self.open(how, cx);
    }

    /// How the program goes on with a session itself.
    pub(super) fn going_on(&self, cx: &mut DialogueContext<'_>) -> Opening {
        let how = match (self.greeted.loads, self.greeted.resumes) {
            (true, _) => Opening::Load,
            (false, true) => Opening::Resume,
            (false, false) => {
                cx.notice("session_lost", SESSION_LOST);
                return Opening::New;
            }
        };
        if matches!(self.brief.session, SessionRequest::Fork(_)) {
            let text = "The program cannot fork this session; the run continues it.";
            cx.notice("fork_unavailable", text);
        }
        how
    }

    pub(super) fn open(&mut self, how: Opening, cx: &mut DialogueContext<'_>) {
        let earlier = match &self.brief.session {
            SessionRequest::New => String::new(),
            SessionRequest::Resume(id) | SessionRequest::Fork(id) => id.clone(),
        };
        let folder = self.brief.worktree.clone();
        let servers = self.servers(cx);
        self.request(Waits::Opening(how), cx, |id| match how {
            Opening::New => wire::new_session(id, &folder, servers.clone()),
            Opening::Load => wire::load_session(id, &earlier, &folder, servers.clone()),
            Opening::Resume => wire::resume_session(id, &earlier, &folder, servers.clone()),
            Opening::Fork => wire::fork_session(id, &earlier, &folder, servers.clone()),
        });
    }

    /// Forge's own tools, where the program can use them.
    fn servers(&mut self, cx: &mut DialogueContext<'_>) -> Vec<McpServer> {
        match &self.brief.mcp {
            Some(mcp) if self.greeted.mcp_over_http || !mcp.is_http() => vec![mcp.for_acp()],
            Some(_) => {
                let text = "The program cannot use MCP servers over HTTP, so it gets no tools of Forge.";
                cx.notice("mcp_unavailable", text);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(super) fn not_opened(&mut self, how: Opening, error: &RpcError, cx: &mut DialogueContext<'_>) {
        let failure = self.failure(error);
        match how {
            // Whoever is not signed in gets no other session either.
            _ if matches!(failure, AgentError::Auth { .. } | AgentError::RateLimited { .. }) => {
                self.fail(failure, cx);
            }
            Opening::New => self.fail(failure, cx),
            Opening::Fork => {
                let how = self.going_on(cx);
                self.open(how, cx);
            }
            Opening::Load | Opening::Resume => {
                cx.notice("session_lost", SESSION_LOST);
                self.open(Opening::New, cx);
            }
        }
    }

    pub(super) fn opened(
        &mut self,
        how: Opening,
        answer: &Value,
        raw_offset: u64,
        cx: &mut DialogueContext<'_>,
    ) {
        let told = json::text(answer, "sessionId").map(str::to_owned);
        let session = match (how, &self.brief.session) {
            (Opening::Load | Opening::Resume, SessionRequest::Resume(id) | SessionRequest::Fork(id)) => {
                Some(id.clone())
            }
            _ => told,
        };
        let Some(session) = session else {
            let detail = "it opened a session without an id".to_owned();
            self.fail(AgentError::Protocol { detail }, cx);
            return;
        };
        self.options = Options::read(answer);
        self.spending.opened(how == Opening::New);
        if let Some(carry) = self.spending.carry() {
            cx.remember(carry);
        }
        self.plan_choices(cx);
        let current = self.options.model.as_ref().map(|model| model.current.clone());
        self.model = current.unwrap_or_default();
        let is_chosen = |wanted: &&String| self.choices.iter().any(|(_, value)| value == *wanted);
        let model = self.brief.model.as_ref().filter(is_chosen).unwrap_or(&self.model).clone();
        let model = Some(model).filter(|model| !model.is_empty());
        cx.session(&session, model.as_deref());
        let body = json!({
            "session_id": session, "model": model, "program": self.greeted.name,
            "version": self.greeted.program_version,
        });
        cx.log_at(NewEntry::new(EntryKind::SessionStarted, "session".to_owned(), body), raw_offset);
        self.session_id = Some(session);
        self.choose_next(cx);
    }

    /// What the profile wants of the session, as far as the program lets choose.
    pub(super) fn plan_choices(&mut self, cx: &mut DialogueContext<'_>) {
        let mut choices = VecDeque::new();
        if let (PermissionMode::ReadOnly, Some(modes)) = (self.brief.permissions, &self.options.mode) {
            let reading = modes.offered.iter().find(|(id, _)| READING_MODES.contains(&id.as_str()));
            if let Some((id, _)) = reading.filter(|(id, _)| *id != modes.current) {
                choices.push_back((modes.how.clone(), id.clone()));
            }
        }
        for (what, wanted, offered) in [
            ("model", &self.brief.model, &self.options.model),
            ("effort", &self.brief.effort, &self.options.effort),
        ] {
            match (wanted, offered) {
                (Some(wanted), Some(choice)) if *wanted != choice.current => {
                    choices.push_back((choice.how.clone(), wanted.clone()));
                }
                (Some(wanted), None) => {
                    let text = format!("The program has no setting for its {what}; `{wanted}` is not set.");
                    cx.notice("choice_unavailable", &text);
                }
                _ => {}
            }
        }
        self.choices = choices;
    }

    /// Makes the next choice, or says what is to be done when all are made.
    pub(super) fn choose_next(&mut self, cx: &mut DialogueContext<'_>) {
        let Some(session) = self.session_id.clone() else { return };
        if let Some((how, value)) = self.choices.pop_front() {
            let waits = Waits::Choice(value.clone());
            self.request(waits, cx, |id| wire::choose(id, &session, &how, &value));
            return;
        }
        let prompt = std::mem::take(&mut self.brief.prompt);
        self.request(Waits::Prompt, cx, |id| wire::prompt(id, &session, &prompt));
    }

    pub(super) fn chosen(&mut self, options: Options) {
        if let Some(model) = &options.model {
            self.model.clone_from(&model.current);
        }
        let keep = |new: Option<Choice>, old: &mut Option<Choice>| {
            if new.is_some() {
                *old = new;
            }
        };
        keep(options.model, &mut self.options.model);
        keep(options.effort, &mut self.options.effort);
        keep(options.mode, &mut self.options.mode);
    }
}
