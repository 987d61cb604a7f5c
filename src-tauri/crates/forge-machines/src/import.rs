//! The machines that the user's configuration of ssh names.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use forge_exec::{Caps, Command, Unmarked, collect};
use futures::{StreamExt as _, stream};
use globset::Glob;
use serde::{Deserialize, Serialize};

use crate::{Fault, MachineConfig};

/// How deep files include one another, as `ssh` has it.
const DEEPEST: usize = 16;

/// How many are looked up at once.
const AT_ONCE: usize = 4;

const CAPS: Caps = Caps { stdout: 1024 * 1024, stderr: 16 * 1024 };

/// A machine to pick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedHost {
    /// The name in the configuration, by which `ssh` knows all the rest.
    pub alias: String,
    /// Where it leads.
    pub host_name: String,
    /// As whom.
    pub user: String,
    /// To which port.
    pub port: u16,
    /// Over which other machines, if any.
    pub jump: Option<String>,
}

/// The machines that a configuration of ssh names, with what `ssh` makes of their names. Patterns are left out. `home` is
/// the user's; `like` says which `ssh` is asked, and in which environment.
///
/// # Errors
/// When the file cannot be read.
pub async fn import(file: &Path, home: &Path, like: &MachineConfig) -> Result<Vec<ImportedHost>, Fault> {
    let (read_file, read_home) = (file.to_owned(), home.to_owned());
    let names = tokio::task::spawn_blocking(move || {
        let mut names = Names { home: read_home, found: BTreeSet::new(), in_order: Vec::new() };
        names.read(&read_file, 0).map(|()| names.in_order)
    });
    let unreadable = |said: String| Fault::Configuration { said: format!("{}: {said}", file.display()) };
    let names = names.await.map_err(|error| unreadable(error.to_string()))?;
    let names = names.map_err(|error| unreadable(error.to_string()))?;
    let looked_up = stream::iter(names).map(|alias| look_up(alias, file, like)).buffered(AT_ONCE);
    Ok(looked_up.filter_map(std::future::ready).collect().await)
}

/// What `ssh` makes of a name.
async fn look_up(alias: String, file: &Path, like: &MachineConfig) -> Option<ImportedHost> {
    let command: Command<Unmarked> = Command::tool(like.program.clone(), "/")
        .arg("-F")
        .arg(file)
        .args(["-G", "--", alias.as_str()])
        .base(std::sync::Arc::clone(&like.environment))
        .without_terminal()
        .timeout(std::time::Duration::from_secs(10));
    let done = match collect(command, CAPS).await {
        Ok(done) => done,
        Err(error) => {
            tracing::warn!(%error, alias, "failed to ask ssh about a machine");
            return None;
        }
    };
    let told = String::from_utf8_lossy(&done.stdout);
    let value = |name: &str| {
        let mut lines = told.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
    };
    Some(ImportedHost {
        host_name: value("hostname")?,
        user: value("user")?,
        port: value("port")?.parse().ok()?,
        jump: value("proxyjump").filter(|jump| jump != "none"),
        alias,
    })
}

/// The names in a configuration, in order and each once.
struct Names {
    home: PathBuf,
    found: BTreeSet<String>,
    in_order: Vec<String>,
}

impl Names {
    fn read(&mut self, file: &Path, depth: usize) -> std::io::Result<()> {
        let text = fs::read(file)?;
        for line in String::from_utf8_lossy(&text).lines() {
            let words = words(line);
            let Some((keyword, values)) = words.split_first() else { continue };
            match keyword.to_lowercase().as_str() {
                "host" => values.iter().for_each(|name| self.add(name)),
                "include" if depth < DEEPEST => {
                    let files: Vec<PathBuf> = values.iter().flat_map(|it| self.included(it)).collect();
                    for included in files {
                        if let Err(error) = self.read(&included, depth + 1) {
                            tracing::debug!(%error, file = %included.display(), "failed to read an included file");
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str) {
        let is_pattern = name.contains(['*', '?', '!']);
        if !is_pattern && !name.starts_with('-') && self.found.insert(name.to_owned()) {
            self.in_order.push(name.to_owned());
        }
    }

    /// The files that a pattern means, in the order of their names.
    fn included(&self, pattern: &str) -> Vec<PathBuf> {
        let pattern = match pattern.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            // What is relative lies where the user's configuration does, whichever file says it.
            None => self.home.join(".ssh").join(pattern),
        };
        let mut paths = vec![PathBuf::new()];
        for part in pattern.components() {
            let name = part.as_os_str();
            let is_pattern = name.as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
            let glob = is_pattern.then(|| Glob::new(&name.to_string_lossy()).ok()).flatten();
            let Some(glob) = glob.map(|glob| glob.compile_matcher()) else {
                paths.iter_mut().for_each(|path| path.push(part));
                continue;
            };
            paths = paths.iter().flat_map(|folder| matching(folder, &glob)).collect();
        }
        paths.retain(|path| path.is_file());
        paths
    }
}

fn matching(folder: &Path, glob: &globset::GlobMatcher) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
    // A pattern names no hidden file, as in a shell.
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().first() == Some(&b'.');
    let mut found: Vec<PathBuf> = names
        .filter(|name| !is_hidden(name) && glob.is_match(Path::new(name)))
        .map(|name| folder.join(name))
        .collect();
    found.sort();
    found
}

/// The words of a line: `Host a "b c"`, or `Host=a`. A comment has none.
fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let (mut words, mut word, mut is_quoted, mut has_equals) = (Vec::new(), String::new(), false, false);
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' if !is_quoted && word.is_empty() => break,
            '=' if !is_quoted && !has_equals && words.len() + usize::from(!word.is_empty()) == 1 => {
                has_equals = true;
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            it if it.is_whitespace() && !is_quoted => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            it => word.push(it),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::SshConfig;

    #[test]
    fn line_is_read_as_ssh_reads_it() {
        assert_eq!(words("  Host a \"b c\" # and so on"), ["Host", "a", "b c"]);
        assert_eq!(words("Host=a"), ["Host", "a"]);
        assert_eq!(words("Host = a"), ["Host", "a"]);
        assert_eq!(words("SetEnv A=b"), ["SetEnv", "A=b"]);
        assert!(words("# Host a").is_empty() && words("").is_empty());
    }

    #[tokio::test]
    async fn hosts_of_a_configuration_and_of_what_it_includes_are_found_once() {
        let home = tempfile::tempdir().unwrap();
        let ssh = home.path().join(".ssh");
        fs::create_dir_all(ssh.join("conf.d")).unwrap();
        let config = "Include conf.d/*.conf\nHost box box.example *.wild !not\n  HostName 10.0.0.1\n  User dev\n\
                      Host jumps\n  ProxyJump box\n  Port 2222\nMatch host x\n  User y\nHost *\n  User all\n";
        fs::write(ssh.join("config"), config).unwrap();
        fs::write(ssh.join("conf.d/a.conf"), "Host=first\nHostName first.example\nHost box\n").unwrap();
        fs::write(ssh.join("conf.d/.hidden.conf"), "Host hidden\n").unwrap();
        fs::write(ssh.join("conf.d/other"), "Host other\n").unwrap();
        // It includes itself, in a circle.
        fs::write(ssh.join("conf.d/b.conf"), "Include config\nHost last\n").unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let like = MachineConfig {
            ssh: SshConfig::default(),
            root: String::new(),
            owner: String::new(),
            keepers: Vec::new(),
            control_folder: PathBuf::new(),
            program: "ssh".into(),
            environment: Arc::new(BTreeMap::from([
                ("PATH".into(), path),
                ("HOME".into(), home.path().into()),
            ])),
            known_as: None,
        };
        let names = {
            let mut names =
                Names { home: home.path().to_owned(), found: BTreeSet::new(), in_order: Vec::new() };
            names.read(&ssh.join("config"), 0).unwrap();
            names.in_order
        };
        assert_eq!(names, ["first", "box", "box.example", "jumps", "last"]);
        // `ssh` itself reads what is relative in its user's home, and refuses circles.
        fs::write(ssh.join("conf.d/b.conf"), "Host last\n").unwrap();
        let config = config.replace("conf.d", &ssh.join("conf.d").display().to_string());
        fs::write(ssh.join("config"), config).unwrap();
        let found = import(&ssh.join("config"), home.path(), &like).await.unwrap();
        let of = |alias: &str| found.iter().find(|host| host.alias == alias).cloned().unwrap();
        assert_eq!(
            (of("box").host_name.as_str(), of("box").user.as_str(), of("box").port),
            ("10.0.0.1", "dev", 22)
        );
        assert_eq!((of("jumps").jump.as_deref(), of("jumps").port), (Some("box"), 2222));
        assert_eq!(of("first").host_name, "first.example");
        assert!(import(&ssh.join("no"), home.path(), &like).await.is_err());
    }
}
