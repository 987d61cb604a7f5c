//! How a machine is reached, and the arguments of `ssh` that follow from that.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked, Variables};
use serde::{Deserialize, Serialize};

use crate::{
    Fault, KeeperProgram, shell,
    way::{Sharing, Way},
};

/// Options that hold whatever the user's configuration says: nobody is asked, nothing is forwarded, and nothing but the
/// session runs.
const FIXED: &[&str] = &[
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
    "SessionType=default",
    "Tunnel=no",
    "ControlPersist=no",
];

/// Options that the user's own of a machine win over.
const USUAL: &[&str] = &["ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=2"];

/// The longest path of a control socket: `ssh` appends 17 bytes to it while it makes one, and systems take 104.
const MAX_CONTROL_PATH: usize = 86;

/// How a machine is reached by `ssh`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshConfig {
    /// A name that `ssh` understands: of a machine, or of a section of the user's configuration.
    pub host: String,
    /// The user there, unless the user's configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The key to sign in with; no other is tried then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_file: Option<PathBuf>,
    /// Given to `ssh -o` as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// A machine, and what is needed here to reach it.
#[derive(Debug, Clone)]
pub struct MachineConfig {
    /// How it is reached.
    pub ssh: SshConfig,
    /// The folder there that holds everything of Forge; one that begins with `~/` lies in the user's home.
    pub root: String,
    /// Whose keeper it is: engines with data of their own have keepers of their own. Letters, digits and `-`.
    pub owner: String,
    /// The keeper, for each kind of machine that there is one for.
    pub keepers: Vec<KeeperProgram>,
    /// A folder of this engine's alone for the sockets by which sessions are shared. Its path should be short: where it
    /// is not, each session connects by itself.
    pub control_folder: PathBuf,
    /// The `ssh` program.
    pub program: OsString,
    /// What it finds in its environment: that of the user's login, with the way to their agent.
    pub environment: Arc<Variables>,
    /// By which name the machine is known from earlier: another one that answers is refused.
    pub known_as: Option<String>,
}

impl SshConfig {
    /// Whether `ssh` would read the names as what they are.
    ///
    /// # Errors
    /// When it would not.
    pub fn check(&self) -> Result<(), Fault> {
        let is_bad = |text: &str| text.starts_with('-') || text.contains(|it: char| it.is_control());
        let user = self.user.as_deref().unwrap_or_default();
        if self.host.is_empty()
            || self.host.contains(char::is_whitespace)
            || is_bad(&self.host)
            || is_bad(user)
        {
            return Err(Fault::Configuration { said: format!("`{}` is no name of a machine", self.host) });
        }
        Ok(())
    }

    /// `ssh` that runs a shell there. What the shell does is written to its input, so that it is in no argument.
    #[must_use]
    pub fn shell(
        &self,
        program: &OsStr,
        environment: &Arc<Variables>,
        sharing: Sharing<'_>,
        detailed: bool,
    ) -> Command<Unmarked> {
        self.running("exec sh", program, environment, sharing, detailed)
    }

    /// `ssh` that runs a line there, which any shell understands.
    fn running(
        &self,
        line: &str,
        program: &OsStr,
        environment: &Arc<Variables>,
        sharing: Sharing<'_>,
        detailed: bool,
    ) -> Command<Unmarked> {
        Command::tool(program, "/")
            .args(self.arguments(sharing, detailed))
            .args(["--", self.host.as_str(), line])
            .base(Arc::clone(environment))
            // Nobody is there to answer.
            .env_remove("SSH_ASKPASS")
            .env_remove("DISPLAY")
            .without_terminal()
    }

    /// The arguments of `ssh` up to the name of the machine.
    pub(crate) fn arguments(&self, sharing: Sharing<'_>, detailed: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["-a", "-x", "-T"].map(OsString::from).into();
        let mut option = |text: &str| arguments.extend(["-o".into(), OsString::from(text)]);
        FIXED.iter().for_each(|fixed| option(fixed));
        option(if detailed { "LogLevel=DEBUG1" } else { "LogLevel=INFO" });
        option(match sharing {
            Sharing::Master(_) => "ControlMaster=yes",
            Sharing::Client(_) | Sharing::Alone => "ControlMaster=no",
        });
        if matches!(sharing, Sharing::Alone) {
            option("ControlPath=none");
        }
        self.options.iter().for_each(|own| option(own));
        USUAL.iter().for_each(|usual| option(usual));
        if self.identity_file.is_some() {
            option("IdentitiesOnly=yes");
        }
        if let Sharing::Master(path) | Sharing::Client(path) = sharing {
            // A percent sign begins a placeholder there.
            let path = path.to_string_lossy().replace('%', "%%");
            arguments.extend(["-S".into(), path.into()]);
        }
        if let Some(file) = &self.identity_file {
            arguments.extend(["-i".into(), file.as_os_str().to_owned()]);
        }
        if let Some(user) = &self.user {
            arguments.extend(["-l".into(), user.into()]);
        }
        if let Some(port) = self.port {
            arguments.extend(["-p".into(), port.to_string().into()]);
        }
        arguments
    }
}

#[async_trait]
impl Way for MachineConfig {
    fn name(&self) -> &str {
        &self.ssh.host
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.keepers
    }

    fn known_as(&self) -> Option<&str> {
        self.known_as.as_deref()
    }

    async fn prepare(&self) -> Result<(), Fault> {
        self.ssh.check()
    }

    fn begin(&self) -> String {
        shell::begin(&self.root, &self.owner, &self.keepers)
    }

    fn environment(&self, fence: &str) -> String {
        shell::environment(fence)
    }

    /// A socket that no other session of this engine has; none where its path would be too long.
    fn new_control_path(&self) -> Option<PathBuf> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = self.control_folder.join(format!("{}-{number}", std::process::id()));
        (path.as_os_str().len() <= MAX_CONTROL_PATH).then_some(path)
    }

    /// `ssh` that runs a shell there. What the shell does is written to its input, so that it is in no argument.
    fn shell(&self, sharing: Sharing<'_>, detailed: bool) -> Command<Unmarked> {
        self.ssh.shell(&self.program, &self.environment, sharing, detailed)
    }

    fn program(&self, sharing: Sharing<'_>, words: &[String]) -> Option<Command<Unmarked>> {
        let words: Vec<String> = words.iter().map(|word| crate::quote(word)).collect();
        let line = format!("exec {}", words.join(" "));
        Some(self.ssh.running(&line, &self.program, &self.environment, sharing, false))
    }

    fn not_started(&self, said: String) -> Fault {
        Fault::NoSsh { program: self.program.to_string_lossy().into_owned(), said }
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        code == 255
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        let host = self.ssh.host.clone();
        match exit {
            Some(Exit::Code(255)) => Fault::of_ssh(&host, errors),
            Some(Exit::Code(0)) => Fault::Ended { host, said: "the connection ended".to_owned() },
            Some(Exit::Code(127)) if errors.contains("sh") && !errors.contains("forge-keeper") => {
                Fault::NoProgram { host, program: "sh".to_owned() }
            }
            Some(Exit::Code(_)) => Fault::of_folder(&host, &self.root, errors),
            _ => Fault::Ended { host, said: "ssh was stopped".to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config() -> MachineConfig {
        MachineConfig {
            ssh: SshConfig {
                host: "far".to_owned(),
                user: Some("dev".to_owned()),
                port: Some(2222),
                identity_file: Some("/keys/a b".into()),
                options: vec!["ConnectTimeout=3".to_owned()],
            },
            root: "~/.forge".to_owned(),
            owner: "o".to_owned(),
            keepers: Vec::new(),
            control_folder: "/run/forge".into(),
            program: "ssh".into(),
            environment: Arc::default(),
            known_as: None,
        }
    }

    /// All of `ssh` with its arguments, as a shell would read it.
    fn line(config: &MachineConfig, sharing: Sharing<'_>) -> String {
        let arguments = config.ssh.arguments(sharing, false);
        let words = std::iter::once(&config.program).chain(&arguments);
        words.map(|word| crate::quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn users_options_of_a_machine_win_over_the_usual_ones_and_not_over_the_fixed_ones() {
        let line = line(&config(), Sharing::Master(Path::new("/run/100%")));
        let at = |text: &str| line.find(text).unwrap_or_else(|| panic!("{text} is not in {line}"));
        assert!(line.starts_with("ssh -a -x -T "), "{line}");
        assert!(
            at("ForwardAgent=no") < at("ConnectTimeout=3")
                && at("ConnectTimeout=3") < at("ConnectTimeout=15")
        );
        assert!(line.ends_with("-S /run/100%% -i '/keys/a b' -l dev -p 2222"), "{line}");
        assert!(line.contains("IdentitiesOnly=yes"));
    }

    #[test]
    fn control_path_is_used_only_where_a_socket_may_have_it() {
        let mut config = config();
        let (one, other) = (config.new_control_path().unwrap(), config.new_control_path().unwrap());
        assert_ne!(one, other);
        config.control_folder = format!("/{}", "x".repeat(90)).into();
        assert_eq!(config.new_control_path(), None);
        assert!(line(&config, Sharing::Alone).contains("ControlPath=none"));
    }

    #[test]
    fn host_that_is_an_option_is_refused() {
        for host in ["", "-oProxyCommand=x", "a b", "a\nb"] {
            let ssh = SshConfig { host: host.to_owned(), ..SshConfig::default() };
            assert!(matches!(ssh.check(), Err(Fault::Configuration { .. })), "{host:?}");
        }
        let ssh = SshConfig { host: "far".to_owned(), user: Some("-x".to_owned()), ..SshConfig::default() };
        assert!(ssh.check().is_err());
        assert_eq!(SshConfig { host: "dev@far.example".to_owned(), ..SshConfig::default() }.check(), Ok(()));
    }
}
