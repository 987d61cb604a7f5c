//! What keeps a machine from being used: each fault in one sentence, with what a person can do about it.

use std::time::Duration;

use crate::{
    ContainerFault,
    job_fault::JobFault,
    kubernetes_fault::KubernetesFault,
    slurm_fault::SlurmFault,
    steps::{Step, StepName},
};

/// From one attempt to the next, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The same of a cluster, which is asked and not connected to: it tells nobody that a job begins.
const LONGEST_PAUSE_OF_CLUSTER: Duration = Duration::from_secs(10);

/// Why a machine cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// `ssh` is not installed here.
    #[error("Could not start `{program}` on this computer: {said}.")]
    NoSsh {
        /// What was to start.
        program: String,
        /// What the system said.
        said: String,
    },
    /// `ssh` refuses its configuration.
    #[error("Could not use the SSH configuration: {said}.")]
    Configuration {
        /// What it said.
        said: String,
    },
    /// Its name leads nowhere.
    #[error("Could not find {host}: no machine has this name.")]
    NoSuchHost {
        /// The name.
        host: String,
    },
    /// The network, or the machine, refuses.
    #[error("Could not reach {host}: {said}.")]
    Unreachable {
        /// Its name.
        host: String,
        /// What `ssh` said.
        said: String,
    },
    /// Nothing came back in time.
    #[error("Could not reach {host}: it did not answer in time.")]
    TimedOut {
        /// Its name.
        host: String,
    },
    /// Something accepts the connection and then says nothing.
    #[error(
        "Could not reach {host}: something accepts the connection, but does not respond as an SSH server."
    )]
    Silent {
        /// Its name.
        host: String,
    },
    /// Nobody has accepted its host key.
    #[error("Could not trust {host}: its host key is not known on this computer.")]
    HostKeyUnknown {
        /// Its name.
        host: String,
    },
    /// Its host key is another one than before.
    #[error("Could not trust {host}: its host key has changed.")]
    HostKeyChanged {
        /// Its name.
        host: String,
        /// File and line of the key that is known, where `ssh` says.
        known_in: Option<String>,
    },
    /// It does not accept the user's keys.
    #[error("Could not sign in to {host}: it refuses the user or the key ({said}).")]
    PermissionDenied {
        /// Its name.
        host: String,
        /// What it would accept.
        said: String,
    },
    /// Another machine than before answers to the name.
    #[error("Could not use {host}: another machine answers to this name ({now} instead of {before}).")]
    OtherMachine {
        /// The name.
        host: String,
        /// The machine as it is known.
        before: String,
        /// The one that answers.
        now: String,
    },
    /// There is no keeper for this kind of machine.
    #[error(
        "Could not run the keeper on {host}: it is a {there} machine, and Forge has a keeper only for {have}."
    )]
    WrongArchitecture {
        /// Its name.
        host: String,
        /// What it is.
        there: String,
        /// What there is a keeper for.
        have: String,
    },
    /// A program that is needed there is missing.
    #[error("Could not use {host}: the program `{program}` is missing there.")]
    NoProgram {
        /// Its name.
        host: String,
        /// What is missing.
        program: String,
    },
    /// Its disk is full.
    #[error("Could not write to {root} on {host}: the disk is full.")]
    DiskFull {
        /// Its name.
        host: String,
        /// The folder.
        root: String,
    },
    /// The folder cannot be written to, or no program may run from it.
    #[error("Could not use {root} on {host}: {said}.")]
    Folder {
        /// Its name.
        host: String,
        /// The folder.
        root: String,
        /// What the system there said.
        said: String,
    },
    /// What arrived is not what was sent.
    #[error("Could not copy the keeper to {host}: the file was damaged on the way.")]
    Damaged {
        /// Its name.
        host: String,
    },
    /// The keeper that runs there is of another version.
    #[error(
        "Could not use the keeper on {host}: it speaks protocol {theirs}, this program speaks {}.",
        forge_keeper::PROTOCOL
    )]
    Protocol {
        /// Its name.
        host: String,
        /// The keeper's.
        theirs: u32,
    },
    /// git is missing there.
    #[error("Could not find git on {host}.")]
    NoGit {
        /// Its name.
        host: String,
    },
    /// git there is too old.
    #[error("Could not use git on {host}: it is version {version}, and {needed} is needed.")]
    OldGit {
        /// Its name.
        host: String,
        /// The version there.
        version: String,
        /// The first one that will do.
        needed: String,
    },
    /// It ended the session, and said something else.
    #[error("Could not stay connected to {host}: {said}.")]
    Ended {
        /// Its name.
        host: String,
        /// What was said last.
        said: String,
    },
    /// A container cannot be made or used.
    #[error(transparent)]
    Container(#[from] ContainerFault),
    /// The job of a task cannot be used.
    #[error(transparent)]
    Job(#[from] JobFault),
    /// A cluster of Slurm cannot be used.
    #[error(transparent)]
    Slurm(#[from] SlurmFault),
    /// Kubernetes cannot be used.
    #[error(transparent)]
    Kubernetes(#[from] KubernetesFault),
}

impl Fault {
    /// The fault that an error of a [keeper](forge_keeper::Keeper) on a machine comes from, if it does.
    #[must_use]
    pub fn of(error: &std::io::Error) -> Option<&Self> {
        error.get_ref().and_then(|source| source.downcast_ref())
    }

    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoSsh { .. } => "Install the OpenSSH client on this computer.".to_owned(),
            Self::Configuration { .. } => {
                "Correct the machine's options, or `~/.ssh/config` on this computer.".to_owned()
            }
            Self::NoSuchHost { .. } => {
                "Check the spelling of the name, and whether this computer is on the right network or VPN.".to_owned()
            }
            Self::Unreachable { .. } | Self::TimedOut { .. } => {
                "Check that the machine is on, that its SSH server is running, and that this computer is on the right network."
                    .to_owned()
            }
            Self::Silent { .. } => {
                "Check the address and the port. A gateway or firewall may be answering instead of the machine.".to_owned()
            }
            Self::HostKeyUnknown { host } => {
                format!("Run `ssh {host}` in a terminal once, compare the fingerprint, and accept the key.")
            }
            Self::HostKeyChanged { host, known_in } => {
                let known_in = known_in.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
                format!(
                    "Ask the machine's administrator whether its key was changed. If so, run `ssh-keygen -R {host}`{known_in} and then `ssh {host}` in a terminal."
                )
            }
            Self::PermissionDenied { host, .. } => {
                format!("Check that `ssh {host}` works in a terminal without a prompt: user, key, and SSH agent.")
            }
            Self::OtherMachine { .. } => {
                "Use a name that belongs to one machine only, or remove the machine and add it again."
                    .to_owned()
            }
            Self::WrongArchitecture { .. } => "Use a Linux machine of a supported architecture.".to_owned(),
            Self::NoProgram { program, .. } => {
                format!("Install `{program}` on the machine, or in the image of the container.")
            }
            Self::DiskFull { .. } => "Free space on the machine, or choose another folder.".to_owned(),
            Self::Folder { .. } => {
                "Choose a folder where the user can write files and run programs.".to_owned()
            }
            Self::Damaged { .. } => "Try again. If it happens again, check the machine's disk.".to_owned(),
            Self::Protocol { .. } => {
                "Wait until the runs that an earlier version started there have ended, or stop them with that version."
                    .to_owned()
            }
            Self::NoGit { .. } => "Install git on the machine, or in the image of the container.".to_owned(),
            Self::OldGit { needed, .. } => format!("Install git {needed} or later on the machine."),
            Self::Ended { host, .. } => format!("Check that `ssh {host} true` works in a terminal."),
            Self::Container(fault) => fault.remedy(),
            Self::Job(fault) => fault.remedy(),
            Self::Slurm(fault) => fault.remedy(),
            Self::Kubernetes(fault) => fault.remedy(),
        }
    }

    /// Whether time alone may mend it. The rest is for a person.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::NoSuchHost { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. }
            | Self::DiskFull { .. }
            | Self::Damaged { .. }
            | Self::Protocol { .. }
            | Self::Ended { .. } => true,
            Self::NoSsh { .. }
            | Self::Configuration { .. }
            | Self::HostKeyUnknown { .. }
            | Self::HostKeyChanged { .. }
            | Self::PermissionDenied { .. }
            | Self::OtherMachine { .. }
            | Self::WrongArchitecture { .. }
            | Self::NoProgram { .. }
            | Self::Folder { .. }
            | Self::NoGit { .. }
            | Self::OldGit { .. } => false,
            Self::Container(fault) => fault.is_passing(),
            Self::Job(fault) => fault.is_passing(),
            Self::Slurm(fault) => fault.is_passing(),
            Self::Kubernetes(fault) => fault.is_passing(),
        }
    }

    /// How long it may take until it is tried again, where time alone may mend it.
    pub(crate) const fn longest_pause(&self) -> Duration {
        match self {
            Self::Job(JobFault::Waiting { .. } | JobFault::Stalled { .. } | JobFault::Unsure) => {
                LONGEST_PAUSE_OF_CLUSTER
            }
            _ if self.is_of_silent_cluster() => LONGEST_PAUSE_OF_CLUSTER,
            _ => LONGEST_PAUSE,
        }
    }

    /// Whether a cluster did not answer: it may have done what it was asked for.
    #[must_use]
    pub const fn is_of_silent_cluster(&self) -> bool {
        matches!(
            self,
            Self::Slurm(SlurmFault::Controller { .. }) | Self::Kubernetes(KubernetesFault::Server { .. })
        )
    }

    /// Whether no keeper can ever have run where it was met: nothing of a task is there.
    #[must_use]
    pub const fn is_of_place_without_keeper(&self) -> bool {
        matches!(self, Self::WrongArchitecture { .. } | Self::NoProgram { .. })
    }

    /// Whether it is one of a single task's container or job: the machine serves other tasks all the same.
    #[must_use]
    pub const fn is_of_one_task(&self) -> bool {
        match self {
            Self::Container(fault) => fault.is_of_one(),
            Self::Job(fault) => fault.is_of_one(),
            Self::Slurm(fault) => fault.is_of_one(),
            _ => false,
        }
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::NoSsh { .. }
            | Self::Configuration { .. }
            | Self::NoSuchHost { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. } => StepName::Reach,
            Self::HostKeyUnknown { .. } | Self::HostKeyChanged { .. } => StepName::HostKey,
            Self::PermissionDenied { .. } => StepName::SignIn,
            Self::NoGit { .. } | Self::OldGit { .. } => StepName::Git,
            Self::OtherMachine { .. }
            | Self::WrongArchitecture { .. }
            | Self::NoProgram { .. }
            | Self::DiskFull { .. }
            | Self::Folder { .. }
            | Self::Damaged { .. }
            | Self::Protocol { .. }
            | Self::Ended { .. } => StepName::Keeper,
            Self::Container(fault) => fault.step(),
            Self::Job(fault) => fault.step(),
            Self::Slurm(fault) => fault.step(),
            Self::Kubernetes(fault) => fault.step(),
        }
    }

    /// Why `ssh` could not connect or lost a connection, by what it printed as errors.
    #[must_use]
    pub fn of_ssh(host: &str, errors: &str) -> Self {
        let lines: Vec<&str> = errors
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("debug"))
            .collect();
        let find = |text: &str| lines.iter().copied().find(|line| line.contains(text));
        let has = |text: &str| find(text).is_some();
        let host = host.to_owned();
        // What ssh says it of and to whom is known: what is left is the reason.
        let reason =
            |line: &str| line.rsplit(": ").next().unwrap_or(line).trim_end_matches(['.', '\r']).to_owned();
        if has("IDENTIFICATION HAS CHANGED") {
            let known_in = find("Offending").and_then(|line| line.rsplit(" in ").next()).map(str::to_owned);
            return Self::HostKeyChanged { host, known_in };
        }
        if has("Host key verification failed") || has("host key is known for") {
            return Self::HostKeyUnknown { host };
        }
        if let Some(line) = find("Permission denied (").or_else(|| find("Too many authentication failures")) {
            let methods = line.split_once('(').map(|(_, rest)| rest.trim_end_matches([')', '.']));
            return Self::PermissionDenied { host, said: methods.unwrap_or("too many keys").to_owned() };
        }
        if has("Could not resolve hostname") {
            return Self::NoSuchHost { host };
        }
        if let Some(line) = find("Bad configuration option")
            .or_else(|| find("Bad owner or permissions"))
            .or_else(|| find("command-line"))
            .or_else(|| find("keyword "))
        {
            return Self::Configuration { said: line.to_owned() };
        }
        if has("banner exchange") && (has("timed out") || has("Connection timed out")) {
            return Self::Silent { host };
        }
        if has("timed out") || has("Timeout, server") {
            return Self::TimedOut { host };
        }
        let refused = [
            "connect to host",
            "onnection refused",
            "No route to host",
            "unreachable",
            "onnection reset",
            "onnection closed",
            "kex_exchange",
        ];
        if let Some(line) = refused.iter().find_map(|text| find(text)) {
            return Self::Unreachable { host, said: reason(line) };
        }
        let said = lines.last().map_or_else(|| "the connection ended".to_owned(), |line| reason(line));
        Self::Ended { host, said }
    }

    /// Why a folder there could not be used, by what a program there printed.
    pub(crate) fn of_folder(host: &str, root: &str, errors: &str) -> Self {
        let (host, root) = (host.to_owned(), root.to_owned());
        if errors.contains("No space left")
            || errors.contains("quota exceeded")
            || errors.contains("os error 28")
        {
            return Self::DiskFull { host, root };
        }
        let line =
            errors.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason was given");
        Self::Folder { host, root, said: line.trim_end_matches('.').to_owned() }
    }
}

impl From<&Fault> for Step {
    fn from(fault: &Fault) -> Self {
        Self::bad(fault.step(), fault.to_string(), fault.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_says_is_told_in_a_sentence() {
        let host = || "far".to_owned();
        for (said, fault) in [
            (
                "ssh: Could not resolve hostname far: Name or service not known\r\n",
                Fault::NoSuchHost { host: host() },
            ),
            (
                "ssh: connect to host far port 22: Connection refused\r\n",
                Fault::Unreachable { host: host(), said: "Connection refused".to_owned() },
            ),
            ("ssh: connect to host far port 22: Connection timed out\r\n", Fault::TimedOut { host: host() }),
            (
                "Connection timed out during banner exchange\r\nConnection to 10.0.0.1 port 22 timed out\r\n",
                Fault::Silent { host: host() },
            ),
            ("Timeout, server far not responding.\r\n", Fault::TimedOut { host: host() }),
            (
                "No ED25519 host key is known for far and you have requested strict checking.\r\nHost key verification failed.\r\n",
                Fault::HostKeyUnknown { host: host() },
            ),
            (
                "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\nOffending ED25519 key in /home/me/.ssh/known_hosts:7\r\nHost key verification failed.\r\n",
                Fault::HostKeyChanged {
                    host: host(),
                    known_in: Some("/home/me/.ssh/known_hosts:7".to_owned()),
                },
            ),
            (
                "debug1: x\nme@far: Permission denied (publickey,password).\r\n",
                Fault::PermissionDenied { host: host(), said: "publickey,password".to_owned() },
            ),
            (
                "command-line: line 0: Bad configuration option: nonsense\r\n",
                Fault::Configuration {
                    said: "command-line: line 0: Bad configuration option: nonsense".to_owned(),
                },
            ),
            (
                "kex_exchange_identification: Connection closed by remote host\r\n",
                Fault::Unreachable { host: host(), said: "Connection closed by remote host".to_owned() },
            ),
            ("", Fault::Ended { host: host(), said: "the connection ended".to_owned() }),
        ] {
            assert_eq!(Fault::of_ssh("far", said), fault);
            assert!(fault.to_string().starts_with("Could not ") && fault.remedy().ends_with('.'));
        }
    }

    #[test]
    fn full_disk_is_told_from_a_folder_that_is_not_the_users() {
        let full = Fault::of_folder(
            "far",
            "~/.forge",
            "head: error writing 'standard output': No space left on device\n",
        );
        assert!(matches!(full, Fault::DiskFull { .. }));
        let refused =
            Fault::of_folder("far", "/x", "mkdir: cannot create directory '/x': Permission denied\n");
        assert!(refused.to_string().ends_with("Permission denied."), "{refused}");
        assert!(!refused.is_passing() && full.is_passing());
    }
}
