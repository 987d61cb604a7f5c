//! What the operating system must bring: libraries to build with, programs to test with.
//!
//! On Debian and Ubuntu missing packages are installed after being named; elsewhere they are only named,
//! and the work goes on when the libraries turn out to be there.

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::program::{self, answers, run};

/// What the machine is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Building and opening the window.
    Run,
    /// Building the packages.
    Package,
    /// Also the tests, those of the window among them.
    Test,
}

const TO_BUILD: &[&str] =
    &["git", "gcc", "libc6-dev", "pkg-config", "libwebkit2gtk-4.1-dev", "libayatana-appindicator3-1"];

/// By its development files the bundler finds the library of the tray.
const TO_PACKAGE: &[&str] = &["libayatana-appindicator3-dev"];

const TO_TEST: &[&str] = &[
    "iproute2",
    "openssh-client",
    "openssh-server",
    "podman",
    "runc",
    "uidmap",
    "debootstrap",
    "slurm-wlm",
    "munge",
    "kubernetes-client",
    "xvfb",
    "xauth",
    "webkit2gtk-driver",
    "dbus",
    "python3-venv",
    "python3-dbus",
    "python3-gi",
    "openbox",
    "xdotool",
    "x11-utils",
    "fonts-inter",
    "fonts-noto-core",
    "fonts-noto-color-emoji",
];

/// Packages that are not needed where a program answers: another package may bring it, and cannot be there beside them.
const UNLESS_ANSWERS: &[(&str, &str, &[&str])] =
    &[("kubernetes-client", "kubectl", &["version", "--client"])];

/// What Forge is measured against.
const YARDSTICKS: &[&str] = &["jq"];

/// What the fuzzer is built with.
const FUZZER: &[&str] = &["g++"];

/// The same things under the names of other systems.
const ELSEWHERE: &str = "\
  Fedora:   dnf install gcc pkgconf webkit2gtk4.1-devel libayatana-appindicator-gtk3
  Arch:     pacman -S base-devel webkit2gtk-4.1 libayatana-appindicator
  openSUSE: zypper install gcc pkg-config webkit2gtk3-devel libayatana-appindicator3-1
  and for the tests: ip, ssh and sshd, podman with runc, newuidmap, debootstrap, slurmctld and slurmd with munged, kubectl, unshare and nsenter, Xvfb, WebKitWebDriver, dbus-daemon, openbox, xdotool, xprop, setpriv, Python with venv, and for
  /usr/bin/python3 its bindings to D-Bus and GObject";

/// Sees to it that the machine has what the purpose needs.
pub fn prepare(purpose: Purpose) -> Result<()> {
    require_node()?;
    if is_debian() {
        let wanted: Vec<&str> = match purpose {
            Purpose::Run => TO_BUILD.to_vec(),
            Purpose::Package => [TO_BUILD, TO_PACKAGE].concat(),
            Purpose::Test => [TO_BUILD, TO_PACKAGE, TO_TEST].concat(),
        };
        install_missing(&wanted)?;
    } else {
        eprintln!("This is neither Debian nor Ubuntu: if something is missing below, install\n{ELSEWHERE}");
    }
    if !answers("pkg-config", &["--exists", "webkit2gtk-4.1"]) {
        bail!(
            "failed to find webkit2gtk-4.1 with pkg-config: the window cannot be built without its development files\n{ELSEWHERE}"
        );
    }
    Ok(())
}

/// Sees to it that the programs are there that Forge is measured against.
pub fn prepare_yardsticks() -> Result<()> {
    prepare_programs(YARDSTICKS, "what Forge is measured against")
}

/// Sees to it that the fuzzer can be built, which is in C++.
pub fn prepare_fuzzing() -> Result<()> {
    prepare_programs(FUZZER, "what the fuzzer is built with")
}

/// Programs whose packages have their names.
fn prepare_programs(wanted: &[&str], purpose: &str) -> Result<()> {
    if wanted.iter().all(|program| answers(program, &["--version"])) {
        return Ok(());
    }
    if !is_debian() {
        bail!("failed to find {purpose}: install {}", wanted.join(", "));
    }
    install_missing(wanted)
}

/// Sees to it that rustfmt, clippy and cargo-nextest are there.
pub fn prepare_cargo_tools(root: &Path) -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !answers("cargo", &[subcommand, "--version"]) {
            run(&mut program::program("rustup", ["component", "add", component], root))?;
        }
    }
    if !answers("cargo", &["nextest", "--version"]) {
        eprintln!("cargo-nextest runs the tests and is missing; it is built once (some minutes).");
        run(&mut program::program("cargo", ["install", "cargo-nextest", "--locked"], root))?;
    }
    Ok(())
}

/// What looks over dependencies, in the version that `.config/deny.toml` is written for.
const CARGO_DENY: &str = "0.20.2";

/// Installs cargo-deny unless a release of the same minor version is there.
///
/// Without optimisation and without debug information it is built in less than a minute on two cores, and looks over
/// the workspace in seconds.
pub fn prepare_cargo_deny(root: &Path) -> Result<()> {
    let answer = program::output(&mut program::program("cargo", ["deny", "--version"], root));
    if answer.is_ok_and(|version| is_of_minor(&version, CARGO_DENY)) {
        return Ok(());
    }
    eprintln!("cargo-deny {CARGO_DENY} looks over dependencies and is missing; it is built once (a minute).");
    let arguments = [
        "install",
        "cargo-deny",
        "--version",
        CARGO_DENY,
        "--locked",
        "--no-default-features",
        "--debug",
        "--force",
    ];
    run(program::program("cargo", arguments, root).env("CARGO_PROFILE_DEV_DEBUG", "false"))
}

/// Whether a program that says `name 1.2.3` has the major and minor version of another.
fn is_of_minor(said: &str, wanted: &str) -> bool {
    let minor = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    said.split_whitespace().nth(1).is_some_and(|version| minor(version) == minor(wanted))
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists() && answers("dpkg-query", &["--version"])
}

fn install_missing(wanted: &[&str]) -> Result<()> {
    let is_there = |package: &str| {
        UNLESS_ANSWERS
            .iter()
            .any(|(name, program, arguments)| *name == package && answers(program, arguments))
    };
    let wanted: Vec<&str> = wanted.iter().copied().filter(|package| !is_there(package)).collect();
    // dpkg-query ends with 1 when it does not know one of the names, and lists the others all the same.
    let known = Command::new("dpkg-query")
        .args(["--show", "--showformat=${Package} ${db:Status-Abbrev}\n"])
        .args(&wanted)
        .output()
        .context("failed to start dpkg-query")?;
    let missing = missing(&wanted, &String::from_utf8_lossy(&known.stdout));
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("These system packages are missing and will be installed with apt-get: {}", missing.join(" "));
    apt_get(&["update", "--quiet"])?;
    apt_get(&[&["install", "--yes", "--quiet", "--no-install-recommends"], missing.as_slice()].concat())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let root = program::output(Command::new("id").arg("--user"))?.trim() == "0";
    let mut command = if root {
        Command::new("env")
    } else if answers("sudo", &["--version"]) {
        let mut sudo = Command::new("sudo");
        sudo.arg("env");
        sudo
    } else {
        bail!(
            "failed to install packages: this is not root and there is no sudo; run as root: apt-get {}",
            arguments.join(" ")
        );
    };
    run(command.arg("DEBIAN_FRONTEND=noninteractive").arg("apt-get").args(arguments))
}

/// Which of the wanted packages dpkg does not list as installed.
fn missing<'a>(wanted: &[&'a str], listing: &str) -> Vec<&'a str> {
    let installed = |name: &str| {
        listing.lines().any(|line| {
            line.split_once(' ').is_some_and(|(package, state)| package == name && state.starts_with("ii"))
        })
    };
    wanted.iter().copied().filter(|name| !installed(name)).collect()
}

fn require_node() -> Result<()> {
    let version = program::output(Command::new("node").arg("--version"))
        .context("failed to find Node; the UI is built with version 20.19 or later (https://nodejs.org)")?;
    if !node_suffices(&version) {
        bail!("failed to use Node {}: the UI is built with version 20.19 or later", version.trim());
    }
    Ok(())
}

fn node_suffices(version: &str) -> bool {
    let mut parts =
        version.trim().trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
    match (parts.next(), parts.next()) {
        (Some(20), Some(minor)) => minor >= 19,
        (Some(major), _) => major > 20,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_counts_only_when_fully_installed() {
        let listing = "gcc ii \nxvfb rc \nlibwebkit2gtk-4.1-dev un \ngit ii \n";
        let wanted = ["gcc", "xvfb", "libwebkit2gtk-4.1-dev", "git", "dbus"];
        assert_eq!(missing(&wanted, listing), ["xvfb", "libwebkit2gtk-4.1-dev", "dbus"]);
        assert_eq!(missing(&["git"], "git-man ii \n"), ["git"], "a longer name is another package");
    }

    #[test]
    fn a_tool_of_the_same_minor_version_suffices() {
        for (said, suffices) in [
            ("cargo-deny 0.20.2\n", true),
            ("cargo-deny 0.20.9", true),
            ("cargo-deny 0.2.2", false),
            ("cargo-deny 1.20.2", false),
            ("cargo-deny", false),
            ("", false),
        ] {
            assert_eq!(is_of_minor(said, "0.20.2"), suffices, "{said:?}");
        }
    }

    #[test]
    fn node_from_20_19_on() {
        for (version, suffices) in [
            ("v20.18.3\n", false),
            ("v20.19.0\n", true),
            ("v22.0.1", true),
            ("v18.20.4", false),
            ("nonsense", false),
        ] {
            assert_eq!(node_suffices(version), suffices, "{version}");
        }
    }
}
