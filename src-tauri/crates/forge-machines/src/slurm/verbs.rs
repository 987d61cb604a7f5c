//! The verbs, each of which may be repeated.

use std::sync::Arc;

use super::{SlurmFault, SlurmSetup, script, state, submit::Answer};
use crate::{
    Fault,
    job::{JobEnd, JobOver, JobRef, Known, ListedJob, Look},
};

/// A cluster. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Slurm {
    setup: Arc<SlurmSetup>,
}

impl Slurm {
    /// A cluster that nobody asks yet.
    #[must_use]
    pub fn new(setup: SlurmSetup) -> Self {
        Self { setup: Arc::new(setup) }
    }

    /// What its jobs ask for, and where they are submitted.
    #[must_use]
    pub fn setup(&self) -> &SlurmSetup {
        &self.setup
    }

    /// The name of a job.
    #[must_use]
    pub fn name(&self, id: &str) -> String {
        format!("{}{id}", self.prefix())
    }

    fn prefix(&self) -> String {
        format!("forge-{}-", self.setup.owner)
    }

    /// The folder of a job's keeper, among those of all keepers.
    pub(super) fn keeper(&self, id: &str) -> String {
        format!("{}-{id}", self.setup.owner)
    }

    /// Submits a job. Whoever calls has written down that it is asked for, and has looked for it.
    ///
    /// # Errors
    /// When Slurm refuses it, or does not answer: then it may have been submitted all the same.
    pub async fn submit(&self, id: &str) -> Result<JobRef, Fault> {
        self.setup.submit.prepare().await?;
        let script = script::job(&self.setup.root, &self.keeper(id));
        let answer = self.run(&self.setup.config.arguments(&self.name(id)), &script).await?;
        if !answer.is_good() {
            return Err(match answer.is_of_the_controller() {
                true => SlurmFault::Controller { said: answer.last() },
                false => SlurmFault::Refused { said: answer.last() },
            }
            .into());
        }
        // `12`, or `12;cluster`, beside warnings.
        let number = |line: &str| line.split(';').next().and_then(job_of);
        let said = || SlurmFault::Controller { said: format!("`sbatch` told no number ({})", answer.last()) };
        Ok(answer.said.lines().find_map(number).ok_or_else(said)?)
    }

    /// The job that was submitted by this name, if one was and Slurm knows it still.
    ///
    /// # Errors
    /// When that is not known.
    pub async fn find(&self, id: &str) -> Result<Option<JobRef>, Fault> {
        self.setup.submit.prepare().await?;
        let name = format!("--name={}", self.name(id));
        // Of this user alone: others may give their jobs any name.
        let answer = self.ask(["squeue", "--me", "--noheader", "--states=all", &name, "--format=%A"]).await?;
        let numbers = answer.said.lines().filter_map(|line| line.trim().parse::<u64>().ok());
        Ok(numbers.min().map(|number| JobRef(number.to_string())))
    }

    /// All jobs of this owner that Slurm knows still.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn list(&self) -> Result<Vec<ListedJob>, Fault> {
        self.setup.submit.prepare().await?;
        let answer = self.ask(["squeue", "--me", "--noheader", "--states=all", "--format=%A %j"]).await?;
        let prefix = self.prefix();
        // It becomes a part of a path.
        let is_id = |id: &&str| id.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
        let read = |line: &str| {
            let (job, name) = line.trim().split_once(' ')?;
            let id = name.trim().strip_prefix(&prefix).filter(is_id)?.to_owned();
            Some(ListedJob { job: job_of(job)?, id })
        };
        Ok(answer.said.lines().filter_map(read).collect())
    }

    /// How a job is.
    ///
    /// # Errors
    /// When that is not known: it says nothing of the job.
    pub async fn look(&self, job: &JobRef, known: Known<'_>) -> Result<Look, Fault> {
        self.setup.submit.prepare().await?;
        let words = ["scontrol", "--oneliner", "show", "job", &job.0].map(str::to_owned);
        let answer = self.run(&words, "").await?;
        if answer.is_good() {
            let unread =
                || SlurmFault::Controller { said: "what it tells of a job cannot be read".to_owned() };
            return match state::look_of(job, &answer.said).ok_or_else(unread)? {
                Look::Over(over) => self.with_its_node(over).await.map(Look::Over),
                look => Ok(look),
            };
        }
        if !is_unknown(&answer) {
            return Err(SlurmFault::Controller { said: answer.last() }.into());
        }
        Ok(Look::Over(self.accounted(job, known).await?))
    }

    /// What the accounting tells of a job that the controller has forgotten.
    async fn accounted(&self, job: &JobRef, known: Known<'_>) -> Result<JobOver, Fault> {
        let unknown = || async {
            let node = known.place.map(|place| place.node.clone()).unwrap_or_default();
            let ended = || JobOver { node, ..JobOver::new(job.clone(), JobEnd::Unknown) };
            self.with_its_node(known.over.cloned().unwrap_or_else(ended)).await
        };
        let of = format!("--jobs={job}");
        let format = "--format=State,NodeList,Timelimit,ReqMem";
        let words = ["sacct", "--allocations", "--noheader", "--parsable2", &of, format].map(str::to_owned);
        let told = match self.run(&words, "").await {
            Ok(answer) if answer.is_good() => answer.said,
            // Many clusters have none.
            Ok(_) | Err(Fault::Slurm(SlurmFault::NoProgram { .. })) => return unknown().await,
            Err(fault) => return Err(fault),
        };
        match told.lines().find_map(|line| state::look_of_account(job, line)) {
            Some(Look::Over(over)) => self.with_its_node(over).await,
            _ => unknown().await,
        }
    }

    /// A node that came back has ended what was left on it. On one that does not answer a job of any end may go on.
    async fn with_its_node(&self, over: JobOver) -> Result<JobOver, Fault> {
        if over.node.is_empty() {
            return Ok(over);
        }
        let words = ["scontrol", "--oneliner", "show", "node", &over.node].map(str::to_owned);
        let answer = self.run(&words, "").await?;
        let state = answer.said.split_whitespace().find_map(|word| word.strip_prefix("State="));
        let state = state.filter(|_| answer.is_good()).unwrap_or("UNKNOWN");
        Ok(match over.end {
            JobEnd::NodeFailed if is_up(state) => JobOver { end: JobEnd::NodeCameBack, ..over },
            _ => JobOver { may_go_on: is_silent(state), ..over },
        })
    }

    /// Cancels a job. Whether it is surely over: until then it is to be cancelled again.
    ///
    /// # Errors
    /// When that is not known.
    pub async fn cancel(&self, job: &JobRef, known: Known<'_>) -> Result<bool, Fault> {
        self.setup.submit.prepare().await?;
        let answer = self.run(&["scancel".to_owned(), job.to_string()], "").await?;
        if !answer.is_good() && answer.is_of_the_controller() {
            return Err(SlurmFault::Controller { said: answer.last() }.into());
        }
        Ok(matches!(self.look(job, known).await?, Look::Over(over) if over.is_certain()))
    }

    /// Whether the folder of a job is there.
    ///
    /// # Errors
    /// When that is not known: what jobs are submitted from does not see the folder that the nodes share.
    pub async fn sees(&self, id: &str) -> Result<bool, Fault> {
        self.setup.submit.prepare().await?;
        let said = self.setup.submit.ask(&script::seen(&self.setup.root, &self.keeper(id))).await?;
        let told = said.lines().find_map(|line| Some(line.split_once(crate::shell::MARK)?.1.trim()));
        match told.map(|told| told.split_once(' ').unwrap_or((told, ""))) {
            Some(("seen", _)) => Ok(true),
            Some(("gone", _)) => Ok(false),
            Some(("hidden", folder)) => {
                let (folder, place) = (folder.to_owned(), self.setup.submit.place());
                Err(SlurmFault::NotShared { folder, place }.into())
            }
            _ => Err(SlurmFault::Controller { said: "the shell gave no answer".to_owned() }.into()),
        }
    }

    /// Removes the folder of a job that is over, where jobs are submitted.
    ///
    /// # Errors
    /// When the shell there cannot be had.
    pub async fn remove_folder(&self, id: &str) -> Result<(), Fault> {
        self.setup.submit.prepare().await?;
        self.setup.submit.ask(&script::remove(&self.setup.root, &self.keeper(id))).await.map(drop)
    }

    async fn run(&self, words: &[String], input: &str) -> Result<Answer, Fault> {
        self.setup.submit.run(words, input).await
    }

    /// Asks something that is answered unless the controller is down.
    async fn ask<const N: usize>(&self, words: [&str; N]) -> Result<Answer, Fault> {
        let answer = self.run(&words.map(str::to_owned), "").await?;
        if answer.is_good() {
            return Ok(answer);
        }
        Err(SlurmFault::Controller { said: answer.last() }.into())
    }
}

fn job_of(word: &str) -> Option<JobRef> {
    let number: u64 = word.trim().parse().ok()?;
    Some(JobRef(number.to_string()))
}

fn is_unknown(answer: &Answer) -> bool {
    answer.said.contains("Invalid job id")
}

/// Whether a node that is in this state takes and ends programs.
fn is_up(state: &str) -> bool {
    let is_away = |text: &str| state.contains(text);
    !["DOWN", "NOT_RESPONDING", "*", "UNKNOWN", "POWER", "REBOOT", "FAIL", "FUTURE"].into_iter().any(is_away)
}

/// Whether nobody knows what goes on on a node that is in this state. One that was switched off is none.
fn is_silent(state: &str) -> bool {
    let is_off = state.contains("POWERED_DOWN") || state.contains('~');
    !is_off && ["NOT_RESPONDING", "*", "UNKNOWN"].into_iter().any(|text| state.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_does_not_answer_is_not_back() {
        for (state, up) in [
            ("IDLE", true),
            ("MIXED+DRAIN", true),
            ("DOWN*", false),
            ("IDLE+NOT_RESPONDING", false),
            ("DOWN", false),
        ] {
            assert_eq!(is_up(state), up, "{state}");
        }
    }

    #[test]
    fn node_that_was_switched_off_is_not_silent() {
        for (state, silent) in [
            ("IDLE", false),
            ("DOWN*", true),
            ("IDLE+NOT_RESPONDING", true),
            ("IDLE+POWERED_DOWN", false),
            ("IDLE~", false),
            ("DOWN+DRAIN", false),
        ] {
            assert_eq!(is_silent(state), silent, "{state}");
        }
    }
}
