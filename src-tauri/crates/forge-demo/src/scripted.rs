//! The scripted agent: does what the script in its prompt says, or for a task of the demo the script of that task, and
//! tells about it in the log format.
//!
//! It is an ordinary program to Forge's shell adapter: it works in the current folder, prints entries as
//! JSON lines, and its exit code decides. Exit 2 means that it could not be told what to do.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use nix::sys::signal::{SigSet, Signal};
use serde_json::{Value, json};

use crate::{
    diff, scenario,
    script::{self, Choice, Directive, ScriptError},
};

/// The most of a command's output that goes into its entry.
const MAX_OUTPUT: usize = 64 * 1024;

/// How often `wait-for` looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The exit code for a script that cannot be read.
const UNREADABLE: u8 = 2;

/// Why the scripted agent could not go on.
#[derive(Debug, thiserror::Error)]
enum ScriptedError {
    #[error(
        "failed to start: it is `scripted-agent --prompt-file FILE`, or FORGE_PROMPT_FILE names the file"
    )]
    NoPromptFile,
    #[error("failed to read the prompt {}", path.display())]
    Prompt { path: PathBuf, source: io::Error },
    #[error("failed to read FORGE_ATTEMPT: `{0}` is not a number from 1")]
    Attempt(String),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("failed to {what}")]
    Step { what: String, source: io::Error },
}

/// Runs the scripted agent. `args` are those after `scripted-agent`.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match try_main(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let causes =
                std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            let text: Vec<String> = causes.map(ToString::to_string).collect();
            // There is nobody left to tell when this fails too.
            let _ = writeln!(io::stderr(), "scripted-agent: {}", text.join(": "));
            match error {
                ScriptedError::Step { .. } => ExitCode::FAILURE,
                ScriptedError::NoPromptFile
                | ScriptedError::Prompt { .. }
                | ScriptedError::Attempt(_)
                | ScriptedError::Script(_) => ExitCode::from(UNREADABLE),
            }
        }
    }
}

fn try_main(args: impl IntoIterator<Item = OsString>) -> Result<u8, ScriptedError> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let path = prompt_file(args)?;
    let prompt = fs::read(&path).map_err(|source| ScriptedError::Prompt { path, source })?;
    let prompt = String::from_utf8_lossy(&prompt);
    let attempt = match variable("FORGE_ATTEMPT") {
        unset if unset.is_empty() => 1,
        text => text.parse().ok().filter(|attempt| *attempt > 0).ok_or(ScriptedError::Attempt(text))?,
    };
    let (role, strategy) = (variable("FORGE_ROLE"), variable("FORGE_STRATEGY"));
    let role = if role.is_empty() { "coder" } else { &role };
    let choice = Choice { attempt, role, strategy: &strategy };
    let directives = match script::find(&prompt, choice)? {
        Some(directives) => Some(directives),
        None => scenario::script_of(&title(&prompt))
            .map(|known| script::find(known, choice))
            .transpose()?
            .flatten(),
    };
    let directives = directives.unwrap_or_else(|| unscripted(&prompt, role));
    Agent::new(io::stdout()).follow(&directives)
}

fn prompt_file(args: impl IntoIterator<Item = OsString>) -> Result<PathBuf, ScriptedError> {
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--prompt-file" {
            return args.next().map(PathBuf::from).ok_or(ScriptedError::NoPromptFile);
        }
    }
    std::env::var_os("FORGE_PROMPT_FILE").map(PathBuf::from).ok_or(ScriptedError::NoPromptFile)
}

/// What is done for a prompt without a script: enough to see a task go its way.
fn unscripted(prompt: &str, role: &str) -> Vec<Directive> {
    let title = title(prompt);
    if role == "reviewer" {
        return vec![
            Directive::Say(format!("I read the changes for \"{title}\".")),
            Directive::Verdict { pass: true, text: "They do what the task asks for.".to_owned() },
        ];
    }
    let path = format!("notes/{}.md", slug(&title));
    vec![
        Directive::Say(format!("I read the task \"{title}\". It has no script, so I leave a note about it.")),
        Directive::Edit {
            path: path.clone(),
            content: format!("# {title}\n\nThe scripted agent was here and read the task.\n"),
        },
        Directive::Usage {
            model: "scripted".to_owned(),
            input: prompt.len() as u64 / 4,
            output: 40,
            cost_micro_usd: Some(0),
        },
        Directive::Summary(format!("Wrote `{path}`.")),
    ]
}

/// The task's title: what its heading says, else the first line.
fn title(prompt: &str) -> String {
    let mut headings = prompt.lines().filter_map(|line| line.strip_prefix("# "));
    let of_task = prompt
        .lines()
        .filter_map(|line| line.strip_prefix("# Task #"))
        .find_map(|rest| rest.split_once(": "))
        .map(|(_, title)| title);
    let first_line = || prompt.lines().find(|line| !line.trim().is_empty());
    of_task.or_else(|| headings.next()).or_else(first_line).unwrap_or("an empty task").trim().to_owned()
}

/// A file name from a title: ASCII letters, digits and single dashes.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.chars().map(|character| character.to_ascii_lowercase()) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 48 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

struct Agent<W> {
    out: W,
    entries: u64,
    summary: Option<String>,
}

/// Whether the script goes on.
enum Next {
    On,
    End(u8),
}

impl<W: Write> Agent<W> {
    const fn new(out: W) -> Self {
        Self { out, entries: 0, summary: None }
    }

    fn follow(&mut self, directives: &[Directive]) -> Result<u8, ScriptedError> {
        for directive in directives {
            let step = |source| ScriptedError::Step { what: format!("do {directive:?}"), source };
            if let Next::End(code) = self.step(directive).map_err(step)? {
                return Ok(code);
            }
        }
        let body = json!({ "summary": self.summary });
        self.entry("turn_ended", &body)
            .map_err(|source| ScriptedError::Step { what: "print the end".to_owned(), source })?;
        Ok(0)
    }

    fn step(&mut self, directive: &Directive) -> io::Result<Next> {
        match directive {
            Directive::Say(text) => self.entry("assistant_text", &json!({ "text": text }))?,
            Directive::Think(text) => self.entry("reasoning", &json!({ "text": text }))?,
            Directive::Activity(text) => {
                self.entry("notice", &json!({ "text": text, "code": "activity" }))?;
            }
            Directive::Plan(steps) => self.plan(steps)?,
            Directive::Print(text) => self.line(text.as_bytes())?,
            Directive::Edit { path, content } => self.write(path, Some(content))?,
            Directive::Append { path, content } => self.write(path, Some(&(current(path)? + content)))?,
            Directive::Delete(path) => self.write(path, None)?,
            Directive::Run(command) => self.run(command, Command::new("sh").args(["-c", command]))?,
            Directive::Commit(message) => self.commit(message)?,
            Directive::Usage { model, input, output, cost_micro_usd } => self.entry(
                "usage",
                &json!({
                    "model": model, "input_uncached": input, "cache_read": 0, "cache_write": 0,
                    "output": output, "cost_micro_usd": cost_micro_usd,
                }),
            )?,
            Directive::Sleep(ms) => thread::sleep(Duration::from_millis(*ms)),
            Directive::WaitFor(path) => {
                while !Path::new(path).exists() {
                    thread::sleep(LOOK_EVERY);
                }
            }
            Directive::Summary(text) => self.summary = Some(text.clone()),
            Directive::Verdict { pass, text } => self.verdict(*pass, text)?,
            Directive::Fail(code) => return Ok(Next::End(*code)),
            Directive::Error { code, message } => {
                self.entry("turn_ended", &json!({ "error": { "code": code, "message": message } }))?;
                return Ok(Next::End(1));
            }
            Directive::RateLimit(ms) => {
                let until_ms = now_ms().saturating_add(*ms);
                self.entry(
                    "turn_ended",
                    &json!({ "error": { "code": "rate_limited", "until_ms": until_ms } }),
                )?;
                return Ok(Next::End(1));
            }
            Directive::Hang => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            Directive::Flood(bytes) => self.flood(*bytes)?,
            Directive::Fork => fork()?,
            // Blocked rather than ignored: the same to whoever sends it, and children do not inherit it.
            Directive::IgnoreSigterm => SigSet::from(Signal::SIGTERM).thread_block()?,
            Directive::InvalidUtf8 => self.line(b"not text: \xFF\xFE \xC3( \xE2\x82")?,
            Directive::LongLine(bytes) => self.long_line(*bytes)?,
        }
        Ok(Next::On)
    }

    fn line(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.write_all(text)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }

    fn entry(&mut self, kind: &str, body: &Value) -> io::Result<()> {
        self.entries += 1;
        let id = format!("{kind}-{}", self.entries);
        self.line(json!({ "kind": kind, "id": id, "body": body }).to_string().as_bytes())
    }

    fn plan(&mut self, steps: &[(String, bool)]) -> io::Result<()> {
        let steps: Vec<Value> =
            steps.iter().map(|(text, done)| json!({ "text": text, "done": done })).collect();
        // One plan, which later ones replace.
        self.line(json!({ "kind": "plan", "id": "plan", "body": { "steps": steps } }).to_string().as_bytes())
    }

    fn write(&mut self, path: &str, content: Option<&str>) -> io::Result<()> {
        let existed = Path::new(path).exists();
        let old = current(path)?;
        match content {
            Some(content) => {
                if let Some(folder) = Path::new(path).parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(path, content)?;
            }
            None => fs::remove_file(path)?,
        }
        let change = match (existed, content) {
            (_, None) => "delete",
            (true, Some(_)) => "update",
            (false, Some(_)) => "add",
        };
        let diff = diff::unified(path, &old, content.unwrap_or_default());
        self.entry("file_change", &json!({ "path": path, "change": change, "diff": diff }))
    }

    /// Tells of a command when it starts and, under the same id, when it has ended.
    fn run(&mut self, shown: &str, command: &mut Command) -> io::Result<()> {
        self.entries += 1;
        let id = format!("command-{}", self.entries);
        let mut tell = |status: &str, body: Value| {
            let entry = json!({ "kind": "command", "id": id, "status": status, "body": body });
            self.line(entry.to_string().as_bytes())
        };
        tell("running", json!({ "command": shown }))?;
        let output = command.stdin(Stdio::null()).output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let cut = text.floor_char_boundary(MAX_OUTPUT);
        if cut < text.len() {
            text.truncate(cut);
            text.push_str("\n[...]");
        }
        let status = if output.status.success() { "completed" } else { "failed" };
        tell(status, json!({ "command": shown, "exit_code": output.status.code(), "output": text }))
    }

    fn commit(&mut self, message: &str) -> io::Result<()> {
        let shown = format!("git commit -m {message:?}");
        let mut command = Command::new("sh");
        command
            .args(["-c", "git add -A && git commit --quiet -m \"$1\"", "commit", message])
            .env("GIT_AUTHOR_NAME", "Scripted Agent")
            .env("GIT_AUTHOR_EMAIL", "scripted-agent@localhost")
            .env("GIT_COMMITTER_NAME", "Scripted Agent")
            .env("GIT_COMMITTER_EMAIL", "scripted-agent@localhost");
        self.run(&shown, &mut command)
    }

    /// The marker must stand alone on its line.
    fn verdict(&mut self, pass: bool, text: &str) -> io::Result<()> {
        let words = if pass {
            format!("{text}\n\n===REVIEW: PASS===")
        } else {
            format!("===REVIEW: FAIL: {text}===")
        };
        self.entry("assistant_text", &json!({ "text": words.trim_start() }))
    }

    fn flood(&mut self, bytes: u64) -> io::Result<()> {
        let mut line = String::new();
        let mut left = bytes;
        let mut number = 0_u64;
        let mut out = io::BufWriter::with_capacity(64 * 1024, &mut self.out);
        while left > 0 {
            line.clear();
            let _ =
                writeln!(line, "flood {number:012} ........................................................");
            let part = line.as_bytes();
            let part =
                part.get(..usize::try_from(left).unwrap_or(usize::MAX).min(part.len())).unwrap_or(part);
            out.write_all(part)?;
            left -= part.len() as u64;
            number += 1;
        }
        out.flush()
    }

    fn long_line(&mut self, bytes: u64) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(b'x'), bytes), &mut self.out)?;
        self.line(b"")
    }
}

/// A file's content; empty when there is none.
fn current(path: &str) -> io::Result<String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Leaves a grandchild in a session of its own: the shell between ends at once.
fn fork() -> io::Result<()> {
    let status = Command::new("sh").args(["-c", "setsid sleep 3600 &"]).stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("sh ended with {status}"))) }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_title_of_a_prompt() {
        assert_eq!(title("# How\n\n# Task #3: Greet: all\n\n# Where\n"), "Greet: all");
        assert_eq!(title("intro\n# First\n"), "First");
        assert_eq!(title("\nwords\n"), "words");
        assert_eq!(title(""), "an empty task");
    }

    #[test]
    fn makes_file_names_of_titles() {
        assert_eq!(slug("Greet  in Français!"), "greet-in-fran-ais");
        assert_eq!(slug("日本"), "task");
        assert!(slug(&"long ".repeat(40)).len() <= 48);
    }

    #[test]
    fn prints_entries_a_log_can_take() {
        let mut agent = Agent::new(Vec::new());
        let code = agent.follow(&[
            Directive::Say("hi".to_owned()),
            Directive::Usage { model: "m".to_owned(), input: 1, output: 2, cost_micro_usd: None },
            Directive::Summary("done".to_owned()),
        ]);
        assert_eq!(code.expect("no error"), 0);
        let lines: Vec<Value> = agent
            .out
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect();
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
        assert_eq!(kinds, ["assistant_text", "usage", "turn_ended"]);
        assert_eq!(lines[2]["body"]["summary"], "done");
    }

    #[test]
    fn floods_exactly_as_much_as_asked() {
        let mut agent = Agent::new(Vec::new());
        agent.flood(100_001).expect("written");
        assert_eq!(agent.out.len(), 100_001);
        agent.out.clear();
        agent.long_line(70_000).expect("written");
        assert_eq!(agent.out.len(), 70_001);
    }

    #[test]
    fn stops_at_a_failure() {
        let mut agent = Agent::new(Vec::new());
        let code = agent.follow(&[Directive::Fail(7), Directive::Say("never".to_owned())]);
        assert_eq!((code.expect("no error"), agent.out.as_slice()), (7, b"".as_slice()));
    }
}
