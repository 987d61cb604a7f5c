//! Every process that belongs to a folder, even one with a session or parent of its own, an empty environment, or
//! another working directory.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use anyhow::Result;

/// A live process.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    pub command: String,
}

impl Process {
    /// Whether it is the keeper, which stays for as long as the engine or what it keeps.
    pub fn is_keeper(&self) -> bool {
        self.command.contains("forge-keeper serve")
    }

    /// Whether it is part of the way to a machine: it stays for as long as the engine is connected.
    pub fn is_way(&self) -> bool {
        let starts = ["sshd", "/usr/sbin/sshd", "/usr/bin/ssh ", "ssh:"];
        starts.iter().any(|start| self.command.starts_with(start))
            || self.command.contains("forge-keeper relay")
    }
}

/// Every process with a path below the folder in its environment, its command line or its open files, or that works
/// below it; this one is none of them. A process that has ended and is not waited for is none either.
pub fn below(folder: &Path) -> Result<Vec<Process>> {
    let folder = folder.canonicalize()?;
    let needle = folder.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if pid == std::process::id() {
            continue;
        }
        // It may end while it is looked at.
        let text = |name: &str| at_once(&entry.path().join(name)).unwrap_or_default();
        let links_here = |path: &Path| fs::read_link(path).is_ok_and(|to| to.starts_with(&folder));
        let files = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        let command = text("cmdline");
        // One that ends gives up its memory before its files: it is nobody any more, nor what it was.
        if command.is_empty() {
            continue;
        }
        if command.contains(&needle)
            || text("environ").contains(&needle)
            || links_here(&entry.path().join("cwd"))
            || files.into_iter().any(|file| links_here(&file.path()))
        {
            found.push(Process { pid, command });
        }
    }
    Ok(found)
}

/// What a file of `/proc` says in a single read, so that the text of a process that ends meanwhile is never cut short:
/// reading it piece by piece gives its first bytes, then nothing.
fn at_once(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0; 256 << 10];
    let read = fs::File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..read]).replace('\0', " "))
}
