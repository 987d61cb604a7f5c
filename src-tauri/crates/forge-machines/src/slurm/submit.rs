//! Where jobs are submitted: here, or on a login node.

use std::{sync::Arc, time::Duration};

use forge_exec::{Caps, CollectError, Command, Stdin, Unmarked, Variables, collect};

use super::SlurmFault;
use crate::{AnyMachine, Fault, quote, shell::MARK};

/// How long a command may take. One that asks a controller that is down gives up by itself in less.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);

/// How much is read of an answer.
const CAPS: Caps = Caps { stdout: 8 * 1024 * 1024, stderr: 64 * 1024 };

/// Where jobs are submitted.
#[derive(Debug, Clone)]
pub enum Submit {
    /// On this computer, in this environment.
    Here(Arc<Variables>),
    /// On a login node, by the session of that machine.
    Via(AnyMachine),
}

/// What a command answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: i32,
    /// What it printed, errors included.
    pub(super) said: String,
}

impl Answer {
    pub(super) fn is_good(&self) -> bool {
        self.code == 0
    }

    /// Its last line that says something, without the name of the command.
    pub(super) fn last(&self) -> String {
        let line = self.said.lines().map(str::trim).rfind(|line| !line.is_empty());
        let line = line.unwrap_or("no reason was given");
        let line = line.rsplit_once("error: ").map_or(line, |(_, rest)| rest);
        line.trim_end_matches('.').to_owned()
    }

    /// Whether it says that no controller answered.
    pub(super) fn is_of_the_controller(&self) -> bool {
        let texts = [
            "Unable to contact slurm controller",
            "Slurm controller not responding",
            "ocket timed out",
            "connect failure",
            "temporarily unavailable",
            "Zero Bytes were transmitted",
            "configuration source",
            "Protocol authentication error",
            "Munge",
        ];
        texts.iter().any(|text| self.said.contains(text))
    }
}

impl Submit {
    /// Where it is, for people.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Here(_) => "on this computer".to_owned(),
            Self::Via(machine) => format!("on {}", crate::Way::name(&**machine.config())),
        }
    }

    /// Makes sure that it can be reached.
    pub(super) async fn prepare(&self) -> Result<(), Fault> {
        match self {
            Self::Here(_) => Ok(()),
            Self::Via(machine) => machine.reach().await,
        }
    }

    /// Runs a command, with `input` as its standard input.
    pub(super) async fn run(&self, words: &[String], input: &str) -> Result<Answer, Fault> {
        let said = self.ask(&script(words, input)).await?;
        let missing = || SlurmFault::Controller { said: "the shell that asks it gave no answer".to_owned() };
        let answer = read(&said).ok_or_else(missing)?;
        if answer.code == 127 {
            let program = words.first().cloned().unwrap_or_default();
            return Err(SlurmFault::NoProgram { program, place: self.place() }.into());
        }
        Ok(answer)
    }

    /// Has a shell run a script. What it printed.
    pub(super) async fn ask(&self, script: &str) -> Result<String, Fault> {
        let environment = match self {
            Self::Via(machine) => {
                let said = machine.ask(script, ANSWERS_WITHIN).await?;
                return Ok(String::from_utf8_lossy(&said).into_owned());
            }
            Self::Here(environment) => environment,
        };
        let command =
            shell(environment).stdin(Stdin::Bytes(script.as_bytes().to_vec())).timeout(ANSWERS_WITHIN);
        match collect(command, CAPS).await {
            Ok(done) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            Err(CollectError::TimedOut { after, .. }) => {
                let said = format!("it did not answer within {} s", after.as_secs());
                Err(SlurmFault::Controller { said }.into())
            }
            Err(error) => Err(SlurmFault::Controller { said: error.to_string() }.into()),
        }
    }

    /// A program that is spoken with at length. Its words are plain ones for any shell.
    pub(super) fn program(&self, words: &[String]) -> Command<Unmarked> {
        match self {
            Self::Here(environment) => tool(words, environment),
            Self::Via(machine) => machine.program(words).unwrap_or_else(|| tool(words, &Arc::default())),
        }
    }
}

fn tool(words: &[String], environment: &Arc<Variables>) -> Command<Unmarked> {
    let (program, arguments) = words.split_first().map_or(("false", &[][..]), |(first, rest)| (first, rest));
    Command::tool(program, "/").args(arguments).base(Arc::clone(environment)).without_terminal()
}

fn shell(environment: &Arc<Variables>) -> Command<Unmarked> {
    Command::tool("sh", "/").base(Arc::clone(environment)).without_terminal()
}

/// A script that runs a command and prints its code and all that it said between marks.
fn script(words: &[String], input: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let words = words.join(" ");
    format!(
        "{{\ne=$({words} 2>&1 <<'FORGE_INPUT'\n{input}\nFORGE_INPUT\n)\n\
         printf '{MARK}code %s\\n%s\\n{MARK}end\\n' \"$?\" \"$e\"\n}}\n"
    )
}

fn read(said: &str) -> Option<Answer> {
    let (_, rest) = said.split_once(&format!("{MARK}code "))?;
    let (code, rest) = rest.split_once('\n')?;
    let (said, _) = rest.split_once(&format!("\n{MARK}end"))?;
    Some(Answer { code: code.trim().parse().ok()?, said: said.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn command_is_given_its_input_and_tells_code_and_errors() {
        let here = Submit::Here(Arc::new(std::env::vars_os().collect()));
        let words = ["sh", "-c", "cat; echo it\\'s >&2; exit 3"].map(str::to_owned);
        let answer = here.run(&words, "a $HOME 'b'").await.unwrap();
        assert_eq!((answer.code, answer.said.as_str()), (3, "a $HOME 'b'\nit's"));
        let fault = here.run(&["no-such-sbatch".to_owned()], "").await.unwrap_err();
        assert!(matches!(fault, Fault::Slurm(SlurmFault::NoProgram { .. })), "{fault:?}");
    }

    #[test]
    fn last_line_is_told_and_silent_controller_is_known() {
        let said = "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified";
        let answer = Answer { code: 1, said: said.to_owned() };
        assert_eq!(answer.last(), "Batch job submission failed: Invalid partition name specified");
        assert!(!answer.is_of_the_controller());
        let down = "scancel: error: Kill job error on job id 5: Unable to contact slurm controller (connect failure)";
        assert!(Answer { code: 1, said: down.to_owned() }.is_of_the_controller());
    }
}
