//! Confinement of a program by Landlock: what it may write, read and connect to.
//!
//! The kernel enforces it on the program and on all of its descendants, whatever sessions and groups they make; no
//! privilege, helper or namespace is needed. Landlock grants and cannot deny, so "reads all but the hidden" is made of
//! many grants: see `grants.rs`. What follows from that:
//!
//! - A program may list every folder, since a grant to list holds for all below: of hidden paths it sees names, sizes
//!   and times, and no contents.
//! - A file that is made later, directly in a folder that has a hidden path below it (such as the home), cannot be
//!   read, unless it was made in a writable folder.
//! - Hidden is a path, not its content: through a hard link or a mount elsewhere the content can be read.
//! - Of `/dev` only terminals, `null` and their like can be opened, and block devices never, unless they are named.
//!
//! The kernel also takes from a confined program: more privileges (`sudo`), mounts, and a look into processes that are
//! not its descendants. Left free: signals and abstract sockets, since agents talk to helpers of their own; UDP and
//! other sockets; listening; metadata of files (mode, owner, times), which Landlock does not know. The limit on TCP is
//! for programs that connect as usual: Landlock overlooks a connection that is made by its first data
//! (`MSG_FASTOPEN`), so it keeps nobody in who is set on getting out.

mod grants;

use std::{io, path::PathBuf, sync::OnceLock, thread};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, LandlockStatus, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
};
use serde::{Deserialize, Serialize};

/// The version of Landlock that a sandbox needs. Those before it do not keep a program from truncating files.
const FILES_ABI: u32 = 3;

/// The version that limits TCP.
const NETWORK_ABI: u32 = 4;

/// The version that limits what devices are asked to do.
const DEVICES_ABI: u32 = 5;

/// What a program and its descendants may touch. All paths are absolute; links in them are followed.
///
/// The longest path that is named decides, and of two alike the hidden one. Only a hidden path within a writable one
/// cannot be had: Landlock denies nothing, so that is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Folders and files in which it may write, make, move and remove, and which it may read and execute. Those that
    /// are missing are left out.
    pub writable: Vec<PathBuf>,
    /// Folders and files that it may read and execute, although they lie in a hidden folder. Those that are missing
    /// are left out.
    pub readable: Vec<PathBuf>,
    /// Folders and files that it may neither read nor execute, with all that lies in them. Names stay visible.
    pub hidden: Vec<PathBuf>,
    /// TCP ports that it may connect to, on any machine. Absent: no limit. Listening is not limited, so that servers
    /// can be tested; what is to reach them needs their ports here.
    pub tcp: Option<Vec<u16>>,
}

/// What the kernel can confine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSupport {
    /// Whether it confines what a program writes and reads.
    pub files: bool,
    /// Whether it confines TCP.
    pub network: bool,
    /// The version of Landlock, or 0.
    pub abi: u32,
}

impl SandboxSupport {
    const fn of(abi: u32) -> Self {
        Self { files: abi >= FILES_ABI, network: abi >= NETWORK_ABI, abi }
    }
}

/// Why a program could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel cannot confine files.
    #[error(
        "the kernel cannot confine what a program writes (Landlock version {abi}, needed is {FILES_ABI})"
    )]
    NoFiles {
        /// The kernel's version.
        abi: u32,
    },
    /// The kernel cannot confine TCP.
    #[error("the kernel cannot confine TCP (Landlock version {abi}; version {NETWORK_ABI} is needed)")]
    NoNetwork {
        /// The kernel's version.
        abi: u32,
    },
    /// A path means something else in each folder.
    #[error("the path {} of the sandbox is not absolute", path.display())]
    Relative {
        /// Which.
        path: PathBuf,
    },
    /// A path is to be writable and not readable.
    #[error("{} is hidden, but lies in {}, which is writable", hidden.display(), writable.display())]
    HiddenInWritable {
        /// The hidden path.
        hidden: PathBuf,
        /// The writable path.
        writable: PathBuf,
    },
    /// The system refuses to look at a path.
    #[error("could not look at {}: {cause}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The program itself, or what runs it, is hidden from it.
    #[error("the sandbox does not allow executing {}", file.display())]
    NotExecutable {
        /// The program's file.
        file: PathBuf,
    },
    /// The kernel refuses the rules.
    #[error("the kernel refused the sandbox: {cause}")]
    Refused {
        /// Why.
        cause: RulesetError,
    },
    /// The kernel does less than it was asked.
    #[error("the kernel enforces only part of the sandbox")]
    Partial,
}

impl From<RulesetError> for SandboxError {
    fn from(cause: RulesetError) -> Self {
        Self::Refused { cause }
    }
}

impl From<SandboxError> for io::Error {
    fn from(error: SandboxError) -> Self {
        let kind = match &error {
            SandboxError::NoFiles { .. } | SandboxError::NoNetwork { .. } | SandboxError::Partial => {
                io::ErrorKind::Unsupported
            }
            SandboxError::Relative { .. } | SandboxError::HiddenInWritable { .. } => {
                io::ErrorKind::InvalidInput
            }
            SandboxError::NotExecutable { .. } => io::ErrorKind::PermissionDenied,
            SandboxError::Path { cause, .. } => cause.kind(),
            SandboxError::Refused { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// What the kernel can confine. It is asked once, by its system call: what `/sys` says is not there everywhere.
#[must_use]
pub fn sandbox_support() -> SandboxSupport {
    static ABI: OnceLock<u32> = OnceLock::new();
    let abi = ABI.get().copied().or_else(|| kernel_abi().ok().map(|abi| *ABI.get_or_init(|| abi)));
    SandboxSupport::of(abi.unwrap_or(0))
}

/// The version of Landlock, as it is told to a thread that confines itself and ends.
fn kernel_abi() -> io::Result<u32> {
    let asked = || {
        let created = Ruleset::default().handle_access(AccessFs::MakeBlock).and_then(Ruleset::create);
        match created.and_then(RulesetCreated::restrict_self).map(|status| status.landlock) {
            Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
                kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(effective_abi as u32)
            }
            Ok(_) => 0,
            Err(error) => {
                tracing::warn!(%error, "failed to ask the kernel for Landlock");
                0
            }
        }
    };
    let asking = thread::Builder::new().name("sandbox-support".to_owned()).spawn(asked)?;
    Ok(asking.join().unwrap_or(0))
}

/// The rules of a sandbox, ready to be entered by a thread.
#[derive(Debug)]
pub(crate) struct Confinement(RulesetCreated);

impl Confinement {
    /// Looks at the paths of a sandbox and makes rules of them. Blocks.
    pub(crate) fn of(sandbox: &Sandbox) -> Result<Self, SandboxError> {
        let SandboxSupport { files, network, abi } = sandbox_support();
        if !files {
            return Err(SandboxError::NoFiles { abi });
        }
        if sandbox.tcp.is_some() && !network {
            return Err(SandboxError::NoNetwork { abi });
        }
        // What is asked for does not hang on what this crate, or the next version of the kernel, has besides.
        let rights =
            if abi < DEVICES_ABI { AccessFs::from_all(ABI::V3) } else { AccessFs::from_all(ABI::V5) };
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules = rules.handle_access(rights)?;
        if sandbox.tcp.is_some() {
            rules = rules.handle_access(AccessNet::ConnectTcp)?;
        }
        let mut rules = rules.create()?;
        grants::add(&mut rules, sandbox, rights)?;
        for port in sandbox.tcp.iter().flatten() {
            (&mut rules).add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        Ok(Self(rules))
    }

    /// Confines the thread that calls, for good, and all that it starts.
    pub(crate) fn enter(self) -> Result<(), SandboxError> {
        let status = self.0.restrict_self()?;
        let is_whole = status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs;
        is_whole.then_some(()).ok_or(SandboxError::Partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_that_lets_files_be_truncated_confines_no_files() {
        let support = |abi| (SandboxSupport::of(abi).files, SandboxSupport::of(abi).network);
        assert_eq!(
            [0, 2, 3, 4, 9].map(support),
            [(false, false), (false, false), (true, false), (true, true), (true, true)]
        );
    }
}
