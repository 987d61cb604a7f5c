//! The attempts of a module: `.forge/iterations/[<run>/]<module>.json` at the project's root.
//!
//! Invariants: a file is replaced whole by one writer at a time, whichever process that is, so no attempt is lost
//! and none is counted twice; a file that cannot be read, is no regular file or is about another module is kept
//! beside the new one, never overwritten.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use forge_model::time::Timestamp;
use forge_model::validate::{Attempt, AttemptFacts, CheckResult, IterationState, ValidateInput, measure};
use nix::fcntl::{Flock, FlockArg};

use crate::{
    EngineError,
    core::context::ProjectContext,
    error::Result,
    export::{FOLDER, place_for, replace},
};

/// Where attempts are kept, below `.forge/`.
const ITERATIONS: &str = "iterations";
/// How many attempts are kept.
const MAX_ATTEMPTS: usize = 200;

/// A module whose attempts are counted.
#[derive(Debug, Clone)]
pub(super) struct Module {
    root: PathBuf,
    module: String,
    run: Option<String>,
}

/// An attempt to be counted.
pub(super) struct Counted {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) facts: AttemptFacts,
    pub(super) input: ValidateInput,
    pub(super) results: Vec<CheckResult>,
}

/// What is kept, or why it cannot be read.
enum Kept {
    Read(Box<IterationState>),
    Unreadable(String),
}

impl Module {
    pub(super) fn new(context: &ProjectContext, module: &str, run: Option<&str>) -> Self {
        let root = PathBuf::from(&context.project.repo_path);
        Self { root, module: module.to_owned(), run: run.map(str::to_owned) }
    }

    /// What is kept; changes nothing, also where it cannot be read.
    pub(super) async fn read(&self) -> Result<IterationState> {
        let module = self.clone();
        self.blocking("read", move || {
            let file = module.path();
            Ok(match module.kept(&file) {
                Kept::Read(state) => *state,
                Kept::Unreadable(why) => IterationState { unreadable: Some(why), ..module.nothing() },
            })
        })
        .await
    }

    /// Counts an attempt: the number it has, how it compares, and what there is to say about what was kept before.
    /// `passing` is told the names of the boundaries that are passed.
    pub(super) async fn count(
        &self,
        counted: Counted,
        passing: impl Fn(&str) + Send + 'static,
    ) -> Result<(Attempt, Option<String>)> {
        let module = self.clone();
        self.blocking("write", move || {
            let _turn = module.turn()?;
            let file = module.path();
            let (mut state, notice) = match module.kept(&file) {
                Kept::Read(state) => (*state, None),
                Kept::Unreadable(why) => {
                    let aside = aside(&file, counted.at);
                    std::fs::rename(&file, &aside)?;
                    let name = aside.strip_prefix(&module.root).unwrap_or(&aside).display();
                    tracing::warn!(file = %name, why, "attempts that cannot be read are kept aside");
                    let notice =
                        format!("could not read the earlier attempts ({why}); they are kept in {name}");
                    (module.nothing(), Some(notice))
                }
            };
            let attempt = append(&mut state, counted);
            let mut text = serde_json::to_vec_pretty(&state)?;
            text.push(b'\n');
            passing("validate.counting");
            replace(&file, &text)?;
            passing("validate.counted");
            Ok((attempt, notice))
        })
        .await
    }

    /// Forgets every attempt.
    pub(super) async fn forget(&self) -> Result<()> {
        let module = self.clone();
        self.blocking("remove", move || {
            let file = place_for(&module.root, &module.relative())?;
            let _turn = module.turn()?;
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            }
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        doing: &str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let doing = format!("{doing} the attempts of {}", self.module);
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(io::Error::other).and_then(|done| done).map_err(EngineError::io(doing))
    }

    fn nothing(&self) -> IterationState {
        IterationState {
            module_id: self.module.clone(),
            run_id: self.run.clone(),
            attempts: Vec::new(),
            input: None,
            results: Vec::new(),
            unreadable: None,
        }
    }

    fn kept(&self, file: &Path) -> Kept {
        let read = match std::fs::symlink_metadata(file) {
            // Whatever else stands there: a link is not followed, and a pipe is not waited for.
            Ok(found) if !found.is_file() => return Kept::Unreadable("it is not a regular file".to_owned()),
            Ok(_) => std::fs::read(file),
            Err(error) => Err(error),
        };
        let bytes = match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Kept::Read(Box::new(self.nothing()));
            }
            Err(error) => return Kept::Unreadable(error.to_string()),
            Ok(bytes) => bytes,
        };
        match serde_json::from_slice::<IterationState>(&bytes) {
            Ok(state) if state.module_id == self.module && state.run_id == self.run => {
                Kept::Read(Box::new(state))
            }
            Ok(state) => {
                let run = state.run_id.map(|run| format!(" in the run {run}")).unwrap_or_default();
                Kept::Unreadable(format!("it is about the module {}{run}", state.module_id))
            }
            Err(error) => Kept::Unreadable(error.to_string()),
        }
    }

    /// The folder and the name of the file, below the root.
    fn relative(&self) -> String {
        let folder = self.run.as_ref().map(|run| format!("{run}/")).unwrap_or_default();
        format!("{FOLDER}/{ITERATIONS}/{folder}{}.json", self.module)
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.relative())
    }

    /// The right to replace the file, until it is dropped, against every other process, too.
    fn turn(&self) -> io::Result<Flock<File>> {
        let name = self.relative();
        let (folder, _) = name.rsplit_once('/').unwrap_or_default();
        // It stays where it is: whoever waits for it has it open.
        let path = place_for(&self.root, &format!("{folder}/.{}.lock", self.module))?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.into())
    }
}

/// Where what cannot be read is kept.
fn aside(file: &Path, at: Timestamp) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".unreadable-{}", at.0));
    file.with_file_name(name)
}

/// Adds an attempt, measured against those before it. The call that made the latest one takes its place.
fn append(state: &mut IterationState, counted: Counted) -> Attempt {
    state.attempts.pop_if(|last| last.id == counted.id);
    let facts = |kept: &Attempt| AttemptFacts {
        passed: kept.passed,
        score: kept.score,
        failures: kept.failures.clone(),
    };
    let earlier: Vec<AttemptFacts> = state.attempts.iter().map(facts).collect();
    let measures = measure(&earlier, &counted.facts);
    let attempt = Attempt {
        attempt: state.attempts.last().map_or(0, |last| last.attempt).saturating_add(1),
        id: counted.id,
        at: counted.at,
        passed: counted.facts.passed,
        score: counted.facts.score,
        failures: counted.facts.failures,
        measures,
    };
    state.attempts.push(attempt.clone());
    let over = state.attempts.len().saturating_sub(MAX_ATTEMPTS);
    state.attempts.drain(..over);
    (state.input, state.results) = (Some(counted.input), counted.results);
    attempt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(root: &Path, run: Option<&str>) -> Module {
        Module { root: root.to_owned(), module: "m1".to_owned(), run: run.map(str::to_owned) }
    }

    fn counted(id: &str, failing: &[&str]) -> Counted {
        let failures = failing.iter().map(|name| (*name).to_owned()).collect();
        let input = serde_json::from_str(r#"{ "moduleId": "m1", "commands": ["true"] }"#).unwrap();
        Counted {
            id: id.to_owned(),
            at: Timestamp(7),
            facts: AttemptFacts::new(4, failures),
            input,
            results: vec![],
        }
    }

    async fn count(module: &Module, id: &str, failing: &[&str]) -> (Attempt, Option<String>) {
        module.count(counted(id, failing), |_| {}).await.unwrap()
    }

    #[tokio::test]
    async fn attempts_are_counted_for_each_run_by_itself() {
        let root = tempfile::tempdir().unwrap();
        let (plain, run) = (module(root.path(), None), module(root.path(), Some("r1")));
        for number in 1..=2 {
            assert_eq!(count(&plain, &format!("a{number}"), &["x"]).await.0.attempt, number);
        }
        assert_eq!(count(&run, "b", &["x"]).await.0.attempt, 1);
        assert!(plain.read().await.unwrap().attempts[1].measures.same_as_prev);
        plain.forget().await.unwrap();
        assert_eq!(
            (plain.read().await.unwrap().attempts.len(), run.read().await.unwrap().attempts.len()),
            (0, 1)
        );
        assert!(root.path().join(".forge/iterations/r1/m1.json").is_file());
    }

    #[tokio::test]
    async fn a_call_that_is_made_again_is_counted_once() {
        let root = tempfile::tempdir().unwrap();
        let module = module(root.path(), None);
        count(&module, "a", &["x"]).await;
        for _ in 0..2 {
            let (again, _) = count(&module, "b", &["x"]).await;
            assert_eq!((again.attempt, again.measures.same_as_prev), (2, true));
        }
        assert_eq!(module.read().await.unwrap().attempts.len(), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_writes_at_once_none_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let all = (0..20).map(|n| {
            let module = module(root.path(), Some("r"));
            tokio::spawn(async move { count(&module, &n.to_string(), &[]).await.0.attempt })
        });
        let mut numbers = Vec::new();
        for one in all.collect::<Vec<_>>() {
            numbers.push(one.await.unwrap());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_kept_aside_and_told() {
        let root = tempfile::tempdir().unwrap();
        let module = module(root.path(), None);
        count(&module, "a", &[]).await;
        std::fs::write(module.path(), "{ torn").unwrap();
        let seen = module.read().await.unwrap();
        assert!(seen.unreadable.is_some() && seen.attempts.is_empty());
        assert_eq!(
            std::fs::read_to_string(module.path()).unwrap(),
            "{ torn",
            "who only looks changes nothing"
        );
        let (attempt, notice) = count(&module, "b", &[]).await;
        assert_eq!(attempt.attempt, 1);
        let aside = root.path().join(".forge/iterations/m1.json.unreadable-7");
        assert!(notice.unwrap().contains(".forge/iterations/m1.json.unreadable-7"));
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{ torn");
    }

    #[tokio::test]
    async fn what_is_no_file_of_this_module_is_kept_aside_too() {
        type Make = fn(&Path, &str);
        let root = tempfile::tempdir().unwrap();
        let (module, run) = (module(root.path(), None), module(root.path(), Some("r")));
        count(&run, "a", &[]).await;
        let of_a_run = std::fs::read_to_string(run.path()).unwrap();
        let cases: [(&str, Make); 4] = [
            ("it is not a regular file", |place, _| std::fs::create_dir(place).unwrap()),
            ("it is not a regular file", |place, _| std::os::unix::fs::symlink("/dev/zero", place).unwrap()),
            ("it is about the module m1 in the run r", |place, text| std::fs::write(place, text).unwrap()),
            ("it is about the module m2", |place, _| {
                std::fs::write(place, r#"{ "moduleId": "m2", "attempts": [] }"#).unwrap();
            }),
        ];
        for (number, (why, make)) in (10..).zip(cases) {
            make(&module.path(), &of_a_run);
            assert_eq!(module.read().await.unwrap().unreadable.as_deref(), Some(why));
            let (attempt, notice) =
                module.count(Counted { at: Timestamp(number), ..counted("b", &[]) }, |_| {}).await.unwrap();
            assert_eq!(attempt.attempt, 1);
            assert!(notice.as_ref().is_some_and(|notice| notice.contains(why)), "{notice:?}");
            let aside = root.path().join(format!(".forge/iterations/m1.json.unreadable-{number}"));
            assert!(std::fs::symlink_metadata(aside).is_ok());
            module.forget().await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_latest_two_hundred_are_kept_and_numbers_go_on() {
        let root = tempfile::tempdir().unwrap();
        let mut state = module(root.path(), None).nothing();
        for n in 0..=MAX_ATTEMPTS {
            append(&mut state, counted(&n.to_string(), &[]));
        }
        assert_eq!((state.attempts.len(), state.attempts[0].attempt), (MAX_ATTEMPTS, 2));
    }
}
