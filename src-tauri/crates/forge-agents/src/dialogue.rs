//! Programs that speak a protocol of lines on their pipes: one driver for all of them.
//!
//! A protocol is a [`Dialogue`], a state machine without I/O: it is told each line that the program prints, each
//! command of the engine and the wish to stop, and says what to answer, what to log and when the run is over. The
//! driver ([`converse`]) owns the process and the clock. Invariants: what a program prints is in the raw log before
//! anybody reads it; a line that is too long, or no UTF-8, or no JSON, never ends a run by itself; a program that
//! was asked to stop is asked by its protocol first, then by the end of its input, then by signal, then killed.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use forge_exec::{Command, Finished, Stdin};
use forge_keeper::{KeepError, KeptRun, LimitHit, Session};
use forge_model::{
    log::{EntryKind, EntryStatus},
    usage::{self, UsageSample},
};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    AgentError, Ask, Control, Launch, LimitKind, Limits, LogWriter, NewEntry, ReportedWindow, RunCommand,
    RunEvent, RunOutcome,
    alignment::{Alignment, Saying},
    end::{flush, not_run, note_end},
    journal::{Deed, Journal, StopReason},
    line_reader::{LineReader, READS_AHEAD, Read},
    lines::lines,
    question,
};

pub use crate::lines::MAX_LINE_BYTES;

/// How long a program has to end its turn by its protocol once it was asked to stop.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(2);

/// How long a program has to go by itself once its input has ended.
const LEAVE_PATIENCE: Duration = Duration::from_secs(3);

/// What the log says of a conversation that the program does not have any more.
pub(crate) const SESSION_LOST: &str =
    "The program no longer has the session that this run was to resume. It starts a new one.";

/// What the log says when nobody can tell what a program was told before.
const UNALIGNED: &str = "This version of Forge talks to the program in another way than the version that started it, so \
                         it cannot go on with this run.";

/// A protocol, as a state machine without I/O.
pub trait Dialogue: Send {
    /// Starts the dialogue once the program runs.
    fn begin(&mut self, cx: &mut DialogueContext<'_>);

    /// Handles one line of output, without its line end; `raw_offset` is its position in the raw log.
    fn hear(&mut self, line: &[u8], raw_offset: u64, cx: &mut DialogueContext<'_>);

    /// Handles a command of the engine.
    fn command(&mut self, command: RunCommand, cx: &mut DialogueContext<'_>);

    /// Asks the program to stop, in terms of its protocol. The run ends by [`DialogueContext::end`], or soon by force.
    fn interrupt(&mut self, cx: &mut DialogueContext<'_>);

    /// Returns what the dialogue knows at the end of the run; called once.
    fn take_end(&mut self) -> DialogueEnd;
}

/// What a dialogue knows at the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DialogueEnd {
    /// The protocol's final event; none when it never came.
    pub result: Option<Result<(), AgentError>>,
    /// The program's conversation.
    pub session_id: Option<String>,
    /// What the next run of the conversation, or of a fork, must know.
    pub carry: Option<Value>,
    /// How the agent summed up its work.
    pub summary: Option<String>,
}

/// What a dialogue can do: send, log, ask, report usage, and end.
pub struct DialogueContext<'r> {
    pub(crate) log: LogSink<'r>,
    pub(crate) control: &'r Control,
    pub(crate) out: &'r mut VecDeque<Vec<u8>>,
    pub(crate) state: &'r mut State,
}

/// Where a dialogue's entries go.
pub(crate) enum LogSink<'r> {
    /// To a run's log.
    Log(&'r LogWriter),
    /// Into memory, each with its turn, in a run without a program.
    Memory(&'r mut crate::memory_log::MemoryLog),
}

impl LogSink<'_> {
    fn append_entry(&mut self, entry: NewEntry) {
        match self {
            Self::Log(log) => drop(log.append_entry(entry)),
            Self::Memory(log) => log.append(entry),
        }
    }
}

/// What the driver keeps between two lines.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) over: bool,
    asks: BTreeSet<String>,
    used: Vec<UsageSample>,
    estimated: Vec<UsageSample>,
    windows: Vec<ReportedWindow>,
    carry: Option<Value>,
}

impl DialogueContext<'_> {
    /// Sends one line to the program.
    pub fn send(&mut self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.out.push_back(line);
    }

    /// Appends to the log.
    pub fn log(&mut self, entry: NewEntry) {
        self.log.append_entry(entry);
    }

    /// Appends what a line of the raw log says that starts there.
    pub fn log_at(&mut self, mut entry: NewEntry, raw_offset: u64) {
        entry.raw_offset = Some(raw_offset);
        self.log.append_entry(entry);
    }

    /// Appends a line that nobody normalises.
    pub fn log_raw(&mut self, line: &[u8], raw_offset: u64) {
        let body =
            serde_json::from_slice(line).unwrap_or_else(|_| json!({ "text": String::from_utf8_lossy(line) }));
        self.log_at(NewEntry::new(EntryKind::Raw, String::new(), body), raw_offset);
    }

    /// Forge itself says something about the run.
    pub fn notice(&mut self, code: &str, text: &str) {
        let body = json!({ "text": text, "code": code });
        self.log.append_entry(NewEntry::new(EntryKind::Notice, String::new(), body));
    }

    /// Says which turn of the conversation the next entries belong to, from 1.
    pub fn turn(&mut self, turn: u32) {
        match &mut self.log {
            LogSink::Log(log) => log.set_turn(turn),
            LogSink::Memory(log) => log.turn = turn,
        }
    }

    /// Says what the agent is doing.
    pub fn doing(&mut self, line: &str) {
        self.control.activity.say(line);
    }

    /// Tells the conversation's name, as soon as it is known.
    pub fn session(&mut self, id: &str, model: Option<&str>) {
        self.control.tell(RunEvent::Session { id: id.to_owned(), model: model.map(str::to_owned) });
    }

    /// Asks a person, and logs the question. While one is open neither silence nor the wall clock counts.
    pub fn ask(&mut self, ask: Ask) {
        let ask = question::storable(ask);
        self.log.append_entry(question::asked(&ask, EntryStatus::Running));
        self.state.asks.insert(ask.id.clone());
        self.control.activity.say("Waiting for an answer");
        self.control.tell(RunEvent::Asked(ask));
    }

    /// Records that a question was answered with `option`, or withdrawn.
    pub fn resolve(&mut self, ask: &str, option: Option<&str>, status: EntryStatus) {
        if !self.state.asks.remove(ask) {
            return;
        }
        self.log.append_entry(question::resolved(ask, json!({ "answer": option }), status));
        self.control.tell(RunEvent::Withdrawn { id: ask.to_owned() });
    }

    /// Says no to a question in a person's place, and logs both with the reason.
    pub fn decline(&mut self, ask: Ask, why: &str) {
        let ask = question::storable(ask);
        self.log.append_entry(question::asked(&ask, EntryStatus::Declined));
        let body = json!({ "answer": "decline", "reason": why });
        self.log.append_entry(question::resolved(&ask.id, body, EntryStatus::Declined));
    }

    /// What [`DialogueEnd::carry`] will be if nothing more is spent. Said before [`DialogueContext::used`], it is written down with
    /// what that counts, so that a run that is cut short is not counted twice by the one that goes on.
    pub fn carry(&mut self, carry: Value) {
        self.state.carry = Some(carry);
    }

    /// The same, written down at once: nothing was spent yet.
    pub fn remember(&mut self, carry: Value) {
        self.control.tell(RunEvent::Carried { carry: carry.clone() });
        self.carry(carry);
    }

    /// Counts what was spent since the sample before, and logs it.
    pub fn used(&mut self, sample: UsageSample, raw_offset: u64) {
        let body = serde_json::to_value(&sample).unwrap_or_default();
        self.log_at(NewEntry::new(EntryKind::Usage, String::new(), body), raw_offset);
        let carry = self.state.carry.clone();
        self.control.tell(RunEvent::Used { sample: sample.clone(), carry });
        self.state.used.push(sample);
    }

    /// Says what was spent beyond what was counted, in place of what was said of it before. It counts if the program
    /// never says so itself, as one that is killed.
    pub fn estimated(&mut self, samples: Vec<UsageSample>) {
        if samples != self.state.estimated {
            self.state.estimated.clone_from(&samples);
            self.control.tell(RunEvent::Estimated { samples });
        }
    }

    /// Tells how full the windows of the provider's limits are, when that changed.
    pub fn windows(&mut self, windows: Vec<ReportedWindow>) {
        if !windows.is_empty() && windows != self.state.windows {
            self.state.windows.clone_from(&windows);
            self.control.tell(RunEvent::Windows { windows });
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn usage(&self) -> &[UsageSample] {
        &self.state.used
    }

    /// The program took what [`RunCommand::Say`] with this id told it.
    pub fn heard(&mut self, id: &str) {
        self.control.tell(RunEvent::Heard { id: id.to_owned() });
    }

    /// Stops the run at a limit: the program is asked to stop, and the run fails by that limit.
    pub fn stop_at(&mut self, limit: LimitKind) {
        self.control.stop_at(limit);
    }

    /// The conversation is over for this run: the program's input is closed.
    pub fn end(&mut self) {
        self.state.over = true;
    }
}

/// Runs a program through a dialogue to its end. The launch's limits, log and grace count; `command` is what starts
/// the program, without its input and limits.
pub async fn converse(
    launch: Launch,
    command: Command,
    dialogue: &mut dyn Dialogue,
    control: &Control,
) -> RunOutcome {
    let begun = Instant::now();
    let log = launch.log.clone();
    log.append_entry(NewEntry::text(EntryKind::UserMessage, &launch.prompt));
    let mut dialogue_run = DialogueRun::new(log.clone(), control, &launch);
    let finished = dialogue_run.run(launch, command, dialogue).await;
    let (state, stopped_by) = (dialogue_run.state, dialogue_run.stopped);
    let ended_by_keeper =
        finished.as_ref().is_ok_and(|finished| finished.cancelled) && !dialogue_run.ended_process;
    control.activity.flush();
    for ask in &state.asks {
        control.tell(RunEvent::Withdrawn { id: ask.clone() });
    }
    let said = dialogue.take_end();
    let used = [state.used, state.estimated].concat();
    let exit = finished.as_ref().ok().map(|finished| finished.exit);
    let result = match (&finished, stopped_by, said.result) {
        (Err(error), ..) => Err(error.clone()),
        // Whoever finished at the moment in which it was stopped has finished.
        (Ok(_), _, Some(Ok(()))) => Ok(()),
        (Ok(_), Some(why), _) => Err(why),
        // No engine was there for longer than it may be.
        (Ok(_), None, _) if ended_by_keeper => Err(AgentError::Lost),
        (Ok(_), None, Some(Err(error))) => Err(error),
        (Ok(finished), None, None) => {
            Err(AgentError::Crashed { exit: Some(finished.exit), last_line: dialogue_run.last_words })
        }
    };
    note_end(&log, finished.as_ref().ok(), &result, begun.elapsed());
    flush(log).await;
    RunOutcome {
        result,
        session_id: said.session_id,
        usage: usage::by_model(&used),
        carry: said.carry,
        exit,
        activity: control.activity.latest(),
        summary: said.summary,
        left_behind: finished.map_or(0, |finished| finished.left_behind),
    }
}

/// The driver of one run.
struct DialogueRun<'r> {
    log: LogWriter,
    control: &'r Control,
    limits: Limits,
    out: VecDeque<Vec<u8>>,
    state: State,
    journal: Journal,
    alignment: Alignment,
    /// Whether everything was heard that the program had said before this engine followed it.
    is_live: bool,
    /// Whether later processes of the run are there, which tell on.
    tells_on: bool,
    /// Why the dialogue was asked to stop, once it was.
    stopped: Option<AgentError>,
    /// Whether this engine asked the process to end.
    ended_process: bool,
    last_words: String,
}

impl<'r> DialogueRun<'r> {
    fn new(log: LogWriter, control: &'r Control, launch: &Launch) -> Self {
        Self {
            log,
            control,
            limits: launch.limits,
            out: VecDeque::new(),
            state: State::default(),
            journal: Journal::none(),
            alignment: Alignment::default(),
            is_live: false,
            tells_on: launch.process < launch.kept,
            stopped: None,
            ended_process: false,
            last_words: String::new(),
        }
    }

    /// Lets the dialogue act. What it says is sent unless the program was given it.
    fn with_context(&mut self, act: impl FnOnce(&mut DialogueContext<'_>)) {
        let mut said = VecDeque::new();
        let mut cx = DialogueContext {
            log: LogSink::Log(&self.log),
            control: self.control,
            out: &mut said,
            state: &mut self.state,
        };
        act(&mut cx);
        for message in said {
            match self.alignment.say(&message) {
                Saying::Known => {}
                Saying::Fresh => self.out.push_back(message),
                Saying::Unaligned => self.lose(),
            }
        }
    }

    /// Ends the run, whose program is told nothing more.
    fn lose(&mut self) {
        self.stopped.get_or_insert(AgentError::Lost);
        self.state.over = true;
        self.out.clear();
    }

    /// Looks at what was said again, once all of it was.
    fn align(&mut self) {
        let was_lost = self.alignment.is_lost();
        let reworded = self.alignment.reworded();
        // One that was stopped meanwhile does not come to all that it was told.
        if was_lost || (!self.alignment.is_whole() && self.stopped.is_none()) {
            self.lose();
            self.with_context(|cx| cx.notice("replay_unaligned", UNALIGNED));
        } else if reworded > 0 {
            let text = format!(
                "This version of Forge words {reworded} of the messages differently that the program got from another \
                 version. What it was told stays as it was."
            );
            self.with_context(|cx| cx.notice("replay_reworded", &text));
        }
    }

    async fn run(
        &mut self,
        launch: Launch,
        mut command: Command,
        dialogue: &mut dyn Dialogue,
    ) -> Result<Finished, AgentError> {
        let (input, stdin) = mpsc::channel(1);
        command.stdin = Stdin::Stream(stdin);
        command.timeout = None;
        command.grace = launch.grace;
        let session = open(launch, command).await?;
        self.journal = Journal::new(session.notes(), &session.opened().notes);
        self.alignment = Alignment::new(session.opened().given.clone());
        let (sender, mut lines) = mpsc::channel(READS_AHEAD);
        let mut reader = LineReader::new(self.log.clone(), self.control, sender);
        let stop = CancellationToken::new();
        let finished = {
            let mut process = Box::pin(session.run(&stop, &mut reader));
            self.with_context(|cx| dialogue.begin(cx));
            self.do_again(dialogue);
            match self.listen(&mut process, &mut lines, &input, dialogue).await {
                Some(finished) => finished,
                None => self.take_leave(&mut process, &mut lines, input, &stop, dialogue).await,
            }
        };
        // What came in its last moment.
        while let Ok(read) = lines.try_recv() {
            self.hear(read, dialogue);
        }
        if let Some(last) = reader.finish() {
            self.hear(last, dialogue);
        }
        self.last_words = reader.errors.last_words();
        self.ended_process = stop.is_cancelled();
        finished.map_err(not_run)
    }

    fn hear(&mut self, read: Read, dialogue: &mut dyn Dialogue) {
        match read {
            Read::Lines { bytes, mut raw_offset, starts, at_ms } => {
                self.log.set_time(Some(at_ms));
                for (at, line) in lines(&bytes).enumerate() {
                    let told = line.strip_suffix(b"\n").unwrap_or(line);
                    if !told.trim_ascii().is_empty() {
                        let start = starts.get(at).copied().unwrap_or(raw_offset);
                        self.with_context(|cx| dialogue.hear(told, start, cx));
                    }
                    raw_offset += line.len() as u64;
                    self.journal.heard();
                    self.do_again(dialogue);
                }
                self.log.set_time(None);
            }
            Read::TooLong { length } => {
                let text = format!("A line of {length} bytes is too long to show; it is in the raw log.");
                self.with_context(|cx| cx.notice("line_too_long", &text));
                self.journal.heard();
                self.do_again(dialogue);
            }
            Read::Limit(hit) => {
                let why = match hit {
                    LimitHit::WallClock => {
                        AgentError::Limit(LimitKind::WallClock(self.limits.wall_clock.unwrap_or_default()))
                    }
                    LimitHit::Output => AgentError::Limit(LimitKind::Output),
                    LimitHit::Silence => {
                        AgentError::Silent { after: self.limits.silence.unwrap_or_default() }
                    }
                };
                self.stop(why, dialogue);
            }
            Read::Live => {
                self.is_live = true;
                if !self.tells_on {
                    self.log.told_again();
                }
                self.align();
                self.journal.set_waiting(!self.state.asks.is_empty());
            }
        }
    }

    /// Does again what an earlier engine did at this place.
    fn do_again(&mut self, dialogue: &mut dyn Dialogue) {
        while let Some(deed) = self.journal.next_due() {
            match deed {
                Deed::Told(command) => self.with_context(|cx| dialogue.command(command, cx)),
                // Whoever asked for the stop is gone with the earlier engine: the run is to go on in another one.
                Deed::Stopped(StopReason::Request) => self.stop(AgentError::Lost, dialogue),
                Deed::Stopped(reason) => self.stop(reason.error(), dialogue),
            }
        }
    }

    /// Asks the dialogue to stop, once.
    fn stop(&mut self, why: AgentError, dialogue: &mut dyn Dialogue) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            self.with_context(|cx| dialogue.interrupt(cx));
        }
    }

    /// Tells the dialogue what the engine has for it, unless it was told before.
    fn tell(&mut self, command: RunCommand, dialogue: &mut dyn Dialogue) {
        if let RunCommand::Answer { ask, .. } = &command
            && !self.state.asks.contains(ask)
        {
            return;
        }
        if self.journal.note(&Deed::Told(command.clone())) {
            self.with_context(|cx| dialogue.command(command, cx));
        }
    }

    /// Hands the program what is to be said, as far as it takes it.
    fn hand_on(&mut self, input: &mpsc::Sender<Vec<u8>>) {
        while let Some(line) = self.out.pop_front() {
            match input.try_send(line) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(line)) => {
                    self.out.push_front(line);
                    return;
                }
                // It reads no more: how it ends tells why.
                Err(mpsc::error::TrySendError::Closed(_)) => self.out.clear(),
            }
        }
    }

    /// Goes on until the process is gone, and then says how, or until the dialogue is over or was stopped.
    async fn listen<P>(
        &mut self,
        process: &mut P,
        lines: &mut mpsc::Receiver<Read>,
        input: &mpsc::Sender<Vec<u8>>,
        dialogue: &mut dyn Dialogue,
    ) -> Option<Result<Finished, KeepError>>
    where
        P: Future<Output = Result<Finished, KeepError>> + Unpin,
    {
        let control = self.control;
        let mut settling = Box::pin(control.activity.keep_settling());
        while !self.state.over && self.stopped.is_none() {
            self.hand_on(input);
            let asked = !self.state.asks.is_empty();
            // A program that floods does not keep the others from being heard.
            tokio::select! {
                biased;
                () = control.cancel.cancelled(), if self.is_live => {
                    let why = control.why_stopped();
                    self.journal.note(&Deed::Stopped(StopReason::of(&why)));
                    self.stop(why, dialogue);
                }
                command = control.next_command(), if self.is_live => self.tell(command, dialogue),
                () = takes(input), if !self.out.is_empty() => {}
                read = lines.recv() => if let Some(read) = read { self.hear(read, dialogue) },
                finished = &mut *process => return Some(finished),
                never = &mut settling => match never {},
            }
            let asks = !self.state.asks.is_empty();
            if self.is_live && asks != asked {
                self.journal.set_waiting(asks);
            }
        }
        None
    }

    /// Ends the conversation: by the protocol if it is not over, by the end of the input, by signal.
    async fn take_leave<P>(
        &mut self,
        process: &mut P,
        lines: &mut mpsc::Receiver<Read>,
        input: mpsc::Sender<Vec<u8>>,
        stop: &CancellationToken,
        dialogue: &mut dyn Dialogue,
    ) -> Result<Finished, KeepError>
    where
        P: Future<Output = Result<Finished, KeepError>> + Unpin,
    {
        let interrupted_until = Instant::now() + INTERRUPT_PATIENCE;
        while !(self.state.over && self.out.is_empty()) {
            self.hand_on(&input);
            tokio::select! {
                biased;
                finished = &mut *process => return finished,
                () = takes(&input), if !self.out.is_empty() => {}
                read = lines.recv() => if let Some(read) = read { self.hear(read, dialogue) },
                // It does not answer: the end of its input tells it in another way.
                () = sleep_until(interrupted_until) => break,
            }
        }
        drop(input);
        let gone_by = Instant::now() + LEAVE_PATIENCE;
        loop {
            tokio::select! {
                biased;
                finished = &mut *process => return finished,
                read = lines.recv() => if let Some(read) = read { self.hear(read, dialogue) },
                () = sleep_until(gone_by), if !stop.is_cancelled() => stop.cancel(),
            }
        }
    }
}

/// Starts the program of a launch, or goes on with it.
async fn open(launch: Launch, command: Command) -> Result<Session, AgentError> {
    let (id, goes_on, tools) = (launch.kept_id(), launch.goes_on(), launch.tools());
    let Launch { keeper, task_id, limits, memo, mut started, .. } = launch;
    let limits = forge_keeper::Limits { wall_clock: limits.wall_clock, silence: limits.silence };
    let kept = KeptRun { id, task: task_id, command, limits, memo, goes_on, tools };
    let session = keeper.open(kept).await.map_err(not_run)?;
    if let Some(identity) = &session.opened().identity {
        started(identity.clone());
    }
    Ok(session)
}

/// Returns when the program may be told more.
async fn takes(input: &mpsc::Sender<Vec<u8>>) {
    // An error means that it reads no more; handing on finds that out.
    drop(input.reserve().await);
}
