//! The scripted agent's language: finding the script in a prompt, and reading it.
//!
//! A script stands in a fenced block ```` ```forge-script ````, one directive a line; blank lines and
//! lines that begin with `#` say nothing. Words after the name choose among several blocks:
//! `attempt=N` (from the N-th attempt on; 1 when left out), `role=R` and `strategy=S` (only then).
//! The last block that applies wins. Blocks inside quotes (`> `) count too.
//!
//! A script is read to its end before anything is done, so a typing mistake never leaves half of it done.

/// What a script may do. Texts understand `\n`, `\t`, `\"` and `\\` where they are quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// `say TEXT`: an assistant's message.
    Say(String),
    /// `think TEXT`: reasoning.
    Think(String),
    /// `activity TEXT`: what is being done now.
    Activity(String),
    /// `plan [x] DONE | OPEN | ...`: the plan.
    Plan(Vec<(String, bool)>),
    /// `print TEXT`: a plain line.
    Print(String),
    /// `edit PATH <<< "CONTENT"`, or `edit PATH <<END` and the lines up to `END`.
    Edit {
        /// Which file.
        path: String,
        /// All of its new content.
        content: String,
    },
    /// `append PATH <<< "CONTENT"`, or with lines as for `edit`.
    Append {
        /// Which file.
        path: String,
        /// What is added.
        content: String,
    },
    /// `delete PATH`.
    Delete(String),
    /// `run CMD`: by `sh -c`; a failure is logged and nothing more.
    Run(String),
    /// `commit MSG`: everything.
    Commit(String),
    /// `usage MODEL IN OUT [COST_MICRO]`.
    Usage {
        /// Which model.
        model: String,
        /// Uncached input tokens.
        input: u64,
        /// Output tokens.
        output: u64,
        /// Cost in micro-dollars.
        cost_micro_usd: Option<u64>,
    },
    /// `sleep MS`.
    Sleep(u64),
    /// `wait-for PATH`: until it exists.
    WaitFor(String),
    /// `summary TEXT`: told at the end.
    Summary(String),
    /// `verdict pass|fail TEXT`: what a reviewer ends with.
    Verdict {
        /// Passed or failed.
        pass: bool,
        /// Why.
        text: String,
    },
    /// `fail CODE`: ends with this code.
    Fail(u8),
    /// `error CODE TEXT`: ends with a typed error (`auth`, `model_error`, `refused`).
    Error {
        /// Which.
        code: String,
        /// In words.
        message: String,
    },
    /// `rate-limit MS`: ends, asking to be started again in so many milliseconds.
    RateLimit(u64),
    /// `hang`: neither speaks nor ends.
    Hang,
    /// `flood BYTES`: prints so much text.
    Flood(u64),
    /// `fork`: leaves a process behind, in a session of its own, that keeps standard output open.
    Fork,
    /// `ignore-sigterm`.
    IgnoreSigterm,
    /// `invalid-utf8`: prints bytes that are no text.
    InvalidUtf8,
    /// `long-line BYTES`: prints so much without a line break.
    LongLine(u64),
}

/// What chooses among the blocks of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// What the agent was started for.
    pub role: &'a str,
    /// Which entry of a race this is; empty outside of one.
    pub strategy: &'a str,
}

/// A mistake in a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the script: line {line} of the prompt, `{text}`: {problem}")]
pub struct ScriptError {
    /// Line of the prompt, from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The script of a prompt that applies; none when the prompt has none.
///
/// # Errors
/// When a block's name has unknown words, or the chosen block holds a line that is no directive.
pub fn find(prompt: &str, choice: Choice<'_>) -> Result<Option<Vec<Directive>>, ScriptError> {
    let mut chosen = None;
    let mut lines = numbered(prompt);
    while let Some((number, line)) = lines.next() {
        let Some((fence, words)) = opening(line) else { continue };
        let body: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| !closes(line, fence)).collect();
        if applies(words, choice).map_err(|problem| mistake(number, line, problem))? {
            chosen = Some(body);
        }
    }
    chosen.map(|body| parse(&body)).transpose()
}

fn numbered(prompt: &str) -> impl Iterator<Item = (usize, &str)> {
    let unquoted = |line| {
        let bare = str::trim_start(line);
        bare.strip_prefix("> ").or_else(|| bare.strip_prefix('>')).unwrap_or(line)
    };
    prompt.lines().map(unquoted).enumerate().map(|(index, line)| (index + 1, line))
}

/// How many backticks open the block, and the words after its name.
fn opening(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let info = line.trim_start_matches('`');
    let ticks = line.len() - info.len();
    let words = info.trim_start().strip_prefix("forge-script")?;
    (ticks >= 3 && (words.is_empty() || words.starts_with(char::is_whitespace))).then_some((ticks, words))
}

fn closes(line: &str, ticks: usize) -> bool {
    let line = line.trim();
    line.len() >= ticks && line.bytes().all(|byte| byte == b'`')
}

fn applies(words: &str, choice: Choice<'_>) -> Result<bool, String> {
    let mut applies = true;
    let mut role = "coder";
    for word in words.split_whitespace() {
        match word.split_once('=') {
            Some(("attempt", number)) => {
                let from: u32 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
                applies &= choice.attempt >= from;
            }
            Some(("role", name)) => role = name,
            Some(("strategy", name)) => applies &= choice.strategy == name,
            _ => return Err(format!("`{word}` is none of attempt=, role=, strategy=")),
        }
    }
    Ok(applies && role == choice.role)
}

fn mistake(line: usize, text: &str, problem: impl Into<String>) -> ScriptError {
    ScriptError { line, text: text.trim().to_owned(), problem: problem.into() }
}

fn parse(lines: &[(usize, &str)]) -> Result<Vec<Directive>, ScriptError> {
    let mut directives = Vec::new();
    let mut lines = lines.iter().copied();
    while let Some((number, line)) = lines.next() {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let directive = match name {
            "edit" | "append" => write(name, rest.trim(), &mut lines),
            _ => directive(name, rest.trim()),
        };
        directives.push(directive.map_err(|problem| mistake(number, text, problem))?);
    }
    Ok(directives)
}

fn directive(name: &str, rest: &str) -> Result<Directive, String> {
    let text = || words(rest).map(str::to_owned);
    Ok(match name {
        "say" => Directive::Say(text()?),
        "think" => Directive::Think(text()?),
        "activity" => Directive::Activity(text()?),
        "plan" => Directive::Plan(words(rest)?.split('|').map(step).collect()),
        "print" => Directive::Print(rest.to_owned()),
        "delete" => Directive::Delete(text()?),
        "run" => Directive::Run(text()?),
        "commit" => Directive::Commit(text()?),
        "usage" => usage(rest)?,
        "sleep" => Directive::Sleep(number(rest)?),
        "wait-for" => Directive::WaitFor(text()?),
        "summary" => Directive::Summary(text()?),
        "verdict" => verdict(rest)?,
        "fail" => Directive::Fail(number(rest)?),
        "error" => {
            let (code, message) = rest.split_once(' ').unwrap_or((rest, ""));
            Directive::Error { code: words(code)?.to_owned(), message: message.to_owned() }
        }
        "rate-limit" => Directive::RateLimit(number(rest)?),
        "hang" => nothing(rest, Directive::Hang)?,
        "flood" => Directive::Flood(number(rest)?),
        "fork" => nothing(rest, Directive::Fork)?,
        "ignore-sigterm" => nothing(rest, Directive::IgnoreSigterm)?,
        "invalid-utf8" => nothing(rest, Directive::InvalidUtf8)?,
        "long-line" => Directive::LongLine(number(rest)?),
        _ => return Err(format!("there is no directive `{name}`")),
    })
}

fn words(rest: &str) -> Result<&str, String> {
    if rest.is_empty() { Err("something must follow".to_owned()) } else { Ok(rest) }
}

fn nothing(rest: &str, directive: Directive) -> Result<Directive, String> {
    if rest.is_empty() { Ok(directive) } else { Err("nothing may follow".to_owned()) }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number that fits here"))
}

fn step(text: &str) -> (String, bool) {
    let text = text.trim();
    match text.strip_prefix("[x]") {
        Some(done) => (done.trim().to_owned(), true),
        None => (text.strip_prefix("[ ]").unwrap_or(text).trim().to_owned(), false),
    }
}

fn usage(rest: &str) -> Result<Directive, String> {
    let parts: Vec<&str> = rest.split_whitespace().collect();
    let (model, input, output, cost) = match parts.as_slice() {
        [model, input, output] => (model, input, output, None),
        [model, input, output, cost] => (model, input, output, Some(number(cost)?)),
        _ => return Err("it is MODEL IN OUT [COST_MICRO]".to_owned()),
    };
    Ok(Directive::Usage {
        model: (*model).to_owned(),
        input: number(input)?,
        output: number(output)?,
        cost_micro_usd: cost,
    })
}

fn verdict(rest: &str) -> Result<Directive, String> {
    let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let pass = match word {
        "pass" => true,
        "fail" => false,
        _ => return Err("it is `pass` or `fail`, then why".to_owned()),
    };
    Ok(Directive::Verdict { pass, text: text.trim().to_owned() })
}

/// `PATH <<< "CONTENT"` or `PATH <<END` with the lines that follow.
fn write<'a>(
    name: &str,
    rest: &str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<Directive, String> {
    let Some((path, content)) = rest.split_once("<<") else {
        return Err("it is PATH <<< \"CONTENT\", or PATH <<END and lines up to END".to_owned());
    };
    let path = words(path.trim())?.to_owned();
    let content = match content.strip_prefix('<') {
        Some(quoted) => unquote(quoted.trim())?,
        None => until(words(content.trim())?, lines)?,
    };
    Ok(if name == "edit" { Directive::Edit { path, content } } else { Directive::Append { path, content } })
}

fn until<'a>(end: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<String, String> {
    let mut content = String::new();
    for (_, line) in lines {
        if line.trim() == end {
            return Ok(content);
        }
        content.push_str(line);
        content.push('\n');
    }
    Err(format!("no line `{end}` follows"))
}

fn unquote(text: &str) -> Result<String, String> {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .ok_or("the content must stand in double quotes")?;
    let mut content = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        content.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(same @ ('"' | '\\')) => same,
                Some(other) => return Err(format!("`\\{other}` is none of \\n, \\t, \\\", \\\\")),
                None => return Err("the last quote is escaped".to_owned()),
            },
            other => other,
        });
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Choice<'_> = Choice { attempt: 1, role: "coder", strategy: "" };

    fn block(body: &str) -> String {
        format!("# Task #1: x\n\nPlease.\n\n```forge-script\n{body}\n```\n\nThanks.\n")
    }

    fn script(body: &str) -> Vec<Directive> {
        find(&block(body), FIRST).expect("a script").expect("some script")
    }

    #[test]
    fn reads_texts_and_numbers() {
        assert_eq!(
            script("say  hello there\n\n# no directive\nsleep 20\nusage m 1 2 3\nfail 7\nplan [x] a | b"),
            vec![
                Directive::Say("hello there".to_owned()),
                Directive::Sleep(20),
                Directive::Usage { model: "m".to_owned(), input: 1, output: 2, cost_micro_usd: Some(3) },
                Directive::Fail(7),
                Directive::Plan(vec![("a".to_owned(), true), ("b".to_owned(), false)]),
            ]
        );
    }

    #[test]
    fn reads_content_in_quotes_and_in_lines() {
        assert_eq!(
            script("edit a b.txt <<< \"x\\n\\\"y\\\" \\\\\\t\"\nappend c <<END\n  two\n# lines\nEND\nhang"),
            vec![
                Directive::Edit { path: "a b.txt".to_owned(), content: "x\n\"y\" \\\t".to_owned() },
                Directive::Append { path: "c".to_owned(), content: "  two\n# lines\n".to_owned() },
                Directive::Hang,
            ]
        );
    }

    #[test]
    fn chooses_the_last_block_that_applies() {
        let prompt = "```forge-script\nsay one\n```\n```forge-script attempt=2\nsay two\n```\n\
            ````forge-script attempt=4\nsay four\n```\n````\n\
            ```forge-script role=reviewer\nverdict pass fine\n```\n";
        let said = |attempt, role| match find(prompt, Choice { attempt, role, strategy: "" }) {
            Ok(Some(directives)) => format!("{directives:?}"),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(1, "coder"), r#"[Say("one")]"#);
        assert_eq!(said(2, "coder"), r#"[Say("two")]"#);
        assert_eq!(said(3, "coder"), r#"[Say("two")]"#);
        assert!(said(4, "coder").contains("there is no directive ````"), "{}", said(4, "coder"));
        assert_eq!(said(9, "reviewer"), r#"[Verdict { pass: true, text: "fine" }]"#);
        assert_eq!(said(1, "planner"), "none");
    }

    #[test]
    fn finds_a_block_inside_a_quote() {
        let found = find("> look:\n> ```forge-script\n> say hi\n> ```\n", FIRST).expect("a script");
        assert_eq!(found, Some(vec![Directive::Say("hi".to_owned())]));
    }

    #[test]
    fn names_the_line_of_a_mistake() {
        let problem = |body: &str| find(&block(body), FIRST).expect_err("must be refused").to_string();
        assert_eq!(
            problem("say hi\ndance wildly"),
            "failed to read the script: line 7 of the prompt, `dance wildly`: there is no directive `dance`"
        );
        for (body, part) in [
            ("say", "something must follow"),
            ("fail 256", "`256` is not a number that fits"),
            ("hang now", "nothing may follow"),
            ("edit x", "PATH <<<"),
            ("edit x <<< y", "double quotes"),
            ("edit x <<< \"\\q\"", "`\\q` is none of"),
            ("edit x <<END\ny", "no line `END` follows"),
            ("usage m 1", "MODEL IN OUT"),
            ("verdict maybe", "`pass` or `fail`"),
        ] {
            assert!(problem(body).contains(part), "{body}: {}", problem(body));
        }
        assert!(find("```forge-script attempt=x\n```", FIRST).is_err());
        assert!(find("```forge-script colour=red\n```", FIRST).is_err());
    }

    #[test]
    fn a_prompt_without_a_block_has_no_script() {
        assert_eq!(find("# Task #1: x\n```sh\nsay hi\n```\n", FIRST), Ok(None));
        assert_eq!(find("```forge-scripted\nsay hi\n```\n", FIRST), Ok(None));
    }
}
