//! The test of a machine: every step that a task needs, with what was found and what to do about it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;

use crate::{
    Fault, Machine, SshMachine, Step, StepName, Way,
    session::{Session, Stage},
    shell,
    shell::MARK,
};

/// How long a machine may take to tell all of it: profiles and programs that tell their version take time.
const TELLS_WITHIN: Duration = Duration::from_secs(90);

/// The first version of git that will do there.
const GIT: (u32, u32) = (2, 38);

/// What a worktree, its dependencies and its build need at least.
const SPACE_KIB: u64 = 1024 * 1024;

/// By how much clocks may differ before times of files and logs mislead.
const CLOCK: u64 = 5;

impl SshMachine {
    /// Tests the machine by a session of its own, whatever was found before. Each step is reported when it is taken;
    /// the first one that fails on the way to the machine is the last. `programs` are looked up on the search path of the
    /// user's login there.
    pub async fn test(&self, programs: &[&str], mut report: impl FnMut(&Step)) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut add = |step: Step| {
            report(&step);
            steps.push(step);
        };
        let (tell, mut stages) = mpsc::unbounded_channel();
        let opened = {
            let mut opening = Box::pin(self.open_apart(Some(tell)));
            let mut way = OnTheWay::default();
            let opened = loop {
                tokio::select! {
                    biased;
                    Some(stage) = stages.recv() => way.take(stage).into_iter().for_each(&mut add),
                    opened = &mut opening => break opened,
                }
            };
            while let Ok(stage) = stages.try_recv() {
                way.take(stage).into_iter().for_each(&mut add);
            }
            if opened.is_ok() {
                // A connection that is shared by the user's own configuration tells less.
                way.take(Stage::SignedIn(String::new())).into_iter().for_each(&mut add);
            }
            opened
        };
        let (apart, session) = match opened {
            Ok(opened) => opened,
            Err(fault) => {
                add(Step::from(&fault));
                return steps;
            }
        };
        apart.inside(&session, programs).await.into_iter().for_each(&mut add);
        steps
    }
}

impl<W: Way> Machine<W> {
    /// The steps that are taken on the machine itself.
    pub(crate) async fn inside(&self, session: &Session, programs: &[&str]) -> Vec<Step> {
        let mut steps = vec![keeper(session)];
        let begun = SystemTime::now();
        match self.ask(&shell::examine(self.config().root(), programs), TELLS_WITHIN).await {
            Ok(said) => steps.extend(self.found(&String::from_utf8_lossy(&said), begun)),
            Err(fault) => steps.push(Step::from(&fault)),
        }
        steps
    }

    /// The steps that follow from what the machine tells of itself.
    fn found(&self, said: &str, begun: SystemTime) -> Vec<Step> {
        let lines: Vec<Vec<&str>> = said
            .lines()
            .filter_map(|line| Some(line.split_once(MARK)?.1.split('\t').map(str::trim).collect()))
            .collect();
        let of = |name: &str| lines.iter().find(|line| line.first() == Some(&name)).map(|line| &line[1..]);
        let one = |name: &str| of(name).and_then(|words| words.first()).copied().unwrap_or_default();
        let host = self.config().name();
        let mut steps =
            vec![git(host, one("git"), one("login_git")), self.disk(of("disk").unwrap_or_default())];
        for line in &lines {
            if let ["program", name, rest @ ..] = line.as_slice() {
                steps.push(program(host, name, rest).about(name));
            }
        }
        steps.push(lingering(one("kills")));
        steps.push(clock(host, one("clock"), begun));
        steps
    }

    fn disk(&self, words: &[&str]) -> Step {
        let root = self.config().root();
        let Some(free) = words.get(3).and_then(|free| free.parse::<u64>().ok()) else {
            return Step::bad(StepName::Disk, "The free space is unknown.", "Check that `df` is installed.");
        };
        let told = format!("{:.1} GiB are free for {}.", free as f64 / f64::from(1 << 20), root);
        if free >= SPACE_KIB {
            return Step::good(StepName::Disk, told);
        }
        Step::bad(StepName::Disk, told, "Free space on the machine, or choose another folder.")
    }
}

/// The steps that `ssh` takes, each told once and in order.
#[derive(Default)]
struct OnTheWay {
    told: usize,
}

impl OnTheWay {
    fn take(&mut self, stage: Stage) -> Vec<Step> {
        let (reached, by) = match stage {
            Stage::Reached => (1, String::new()),
            Stage::Trusted => (2, String::new()),
            Stage::SignedIn(by) => (3, by),
        };
        let signed_in = if by.is_empty() { "Signed in.".to_owned() } else { format!("Signed in by {by}.") };
        let all = [
            (StepName::Reach, "An SSH server answers.".to_owned()),
            (StepName::HostKey, "Its host key is known.".to_owned()),
            (StepName::SignIn, signed_in),
        ];
        let steps = all.into_iter().take(reached).skip(self.told);
        let steps = steps.map(|(name, message)| Step::good(name, message)).collect();
        self.told = self.told.max(reached);
        steps
    }
}

fn keeper(session: &Session) -> Step {
    let host_name = &session.greeting.host_name;
    let how = if session.was_sent { "was copied and is running" } else { "is running" };
    Step::good(StepName::Keeper, format!("The keeper {how} on {host_name}."))
}

fn version_of(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn git(host: &str, plain: &str, login: &str) -> Step {
    if plain.is_empty() && login.is_empty() {
        return Step::from(&Fault::NoGit { host: host.to_owned() });
    }
    if plain.is_empty() {
        return Step::bad(
            StepName::Git,
            "git is only on the search path of a login, where git itself does not look for it.",
            "Install git for all users of the machine, or set the search path where a non-login shell reads it.",
        );
    }
    let version = plain.trim_start_matches("git version ").to_owned();
    match version_of(plain) {
        Some(found) if found >= GIT => Step::good(StepName::Git, format!("git {version} is installed.")),
        _ => {
            let needed = format!("{}.{}", GIT.0, GIT.1);
            Step::from(&Fault::OldGit { host: host.to_owned(), version, needed })
        }
    }
}

fn program(host: &str, name: &str, found: &[&str]) -> Step {
    match found {
        [path, version @ ..] => {
            let version = version.first().filter(|version| !version.is_empty());
            let version = version.map(|version| format!(" ({version})")).unwrap_or_default();
            Step::good(StepName::Program, format!("{name} is {path}{version}."))
        }
        [] => Step::bad(
            StepName::Program,
            format!("Could not find {name} on the search path of a login on {host}."),
            format!(
                "Install {name} on the machine, or add its folder to the search path in the profile there."
            ),
        ),
    }
}

fn lingering(kills: &str) -> Step {
    let value = kills.trim_start_matches("b ").to_lowercase();
    if ["true", "yes", "on", "1"].contains(&value.as_str()) {
        return Step::bad(
            StepName::Lingering,
            "The system ends all of a user's programs when their last session ends (`KillUserProcesses`).",
            "Set `KillUserProcesses=no` in `/etc/systemd/logind.conf`, or name the user in `KillExcludeUsers`.",
        );
    }
    Step::good(StepName::Lingering, "Programs keep running when the session ends.")
}

fn clock(host: &str, told: &str, begun: SystemTime) -> Step {
    let here = begun.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let Ok(there) = told.parse::<u64>() else {
        return Step::bad(
            StepName::Clock,
            format!("The clock of {host} is unknown."),
            "Check that `date` is installed.",
        );
    };
    let by = there.abs_diff(here);
    if by <= CLOCK {
        return Step::good(StepName::Clock, "Its clock agrees with this computer's.");
    }
    let way = if there > here { "ahead of" } else { "behind" };
    Step::bad(
        StepName::Clock,
        format!("Its clock is {by} s {way} this computer's."),
        "Synchronize both clocks over the network (`timedatectl set-ntp true`).",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_on_the_way_are_told_once_and_in_order() {
        let mut way = OnTheWay::default();
        let names = |steps: Vec<Step>| steps.into_iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(way.take(Stage::Reached)), [StepName::Reach]);
        assert_eq!(names(way.take(Stage::Reached)), []);
        assert_eq!(
            names(way.take(Stage::SignedIn("publickey".to_owned()))),
            [StepName::HostKey, StepName::SignIn]
        );
        assert_eq!(names(way.take(Stage::SignedIn(String::new()))), []);
    }

    #[test]
    fn git_must_be_recent_and_found_without_a_login() {
        for (plain, login, ok) in [
            ("git version 2.39.5", "git version 2.39.5", true),
            ("git version 3.0.0", "", true),
            ("git version 2.38.0.windows.1", "", true),
            ("git version 2.25.1", "git version 2.25.1", false),
            ("", "git version 2.39.5", false),
            ("", "", false),
            ("nonsense", "", false),
        ] {
            assert_eq!(git("far", plain, login).ok, ok, "{plain:?} {login:?}");
        }
    }

    #[test]
    fn clock_and_lingering_are_told_with_a_remedy() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        assert!(clock("far", "1000004", now).ok);
        let behind = clock("far", "999000", now);
        assert!(!behind.ok && behind.message.contains("1000 s behind") && behind.remedy.is_some());
        assert!(!clock("far", "", now).ok);
        assert!(lingering("").ok && lingering("b false").ok && lingering("no").ok);
        assert!(!lingering("b true").ok && !lingering("yes").ok);
    }
}
