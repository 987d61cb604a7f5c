//! Objects as one stream: packed at one end, checked and stored at the other.

use forge_exec::{Exit, Piped};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use crate::{Fault, Side, Snapshot, Store};

const CHUNK: usize = 128 << 10;
/// Of so many commits that the other end has, the trees are excluded by name, too.
const NEAREST: usize = 16;

/// git packs objects. Dropping this ends it.
#[derive(Debug)]
pub struct Packing {
    process: Piped,
    stdout: ChildStdout,
    stderr: ChildStderr,
    store: std::path::PathBuf,
}

impl Packing {
    /// The next bytes of the pack; none at its end.
    ///
    /// # Errors
    /// When git fails.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut chunk = Vec::with_capacity(CHUNK);
        while chunk.len() < CHUNK / 2 {
            let read = self.stdout.read_buf(&mut chunk).await;
            if read.map_err(Fault::io("read a pack of", &self.store))? == 0 {
                break;
            }
        }
        if !chunk.is_empty() {
            return Ok(Some(chunk));
        }
        end(&mut self.process, &mut self.stderr, "pack-objects", &self.store).await?;
        Ok(None)
    }
}

/// git checks and stores objects. Dropping this ends it, and what came is forgotten.
#[derive(Debug)]
pub struct Unpacking {
    process: Piped,
    stdin: Option<ChildStdin>,
    /// It prints one line, which fits into the pipe.
    _stdout: ChildStdout,
    stderr: ChildStderr,
    store: std::path::PathBuf,
}

impl Unpacking {
    /// Takes bytes of the pack.
    ///
    /// # Errors
    /// When git fails.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        if stdin.write_all(bytes).await.is_err() {
            // It ended: what it said tells why.
            self.stdin = None;
            end(&mut self.process, &mut self.stderr, "index-pack", &self.store).await?;
            return Err(Fault::damaged("the pack is longer than it says"));
        }
        Ok(())
    }

    /// The pack is whole.
    ///
    /// # Errors
    /// When it is not, or git fails.
    pub async fn finish(mut self) -> Result<(), Fault> {
        if let Some(mut stdin) = self.stdin.take() {
            // One that ended tells why by how.
            let _ = stdin.shutdown().await;
        }
        end(&mut self.process, &mut self.stderr, "index-pack", &self.store).await
    }
}

async fn end(
    process: &mut Piped,
    stderr: &mut ChildStderr,
    name: &str,
    store: &std::path::Path,
) -> Result<(), Fault> {
    let mut said = Vec::new();
    stderr.read_to_end(&mut said).await.map_err(Fault::io("read the messages of git in", store))?;
    match process.wait().await.map_err(Fault::io("wait for git in", store))? {
        Exit::Code(0) => Ok(()),
        _ => Err(Fault::git(name, &said, store)),
    }
}

impl Store {
    /// Packs a snapshot with all that it leads to, less what the other end has of `haves`.
    ///
    /// # Errors
    /// When git cannot be started.
    pub async fn pack(&self, snapshot: &Snapshot, haves: &[String]) -> Result<Packing, Fault> {
        let mut input = format!("{}\n", snapshot.id);
        for root in &snapshot.roots {
            input.extend([root, "\n"]);
        }
        let mut nearest = 0;
        for (oid, kind) in self.existing(haves.to_vec()).await? {
            input.extend(["^", &oid, "\n"]);
            if kind == "commit" && nearest < NEAREST {
                nearest += 1;
                input.extend(["^", &oid, "^{tree}\n"]);
            }
        }
        let args = [
            "pack-objects",
            "--quiet",
            "--revs",
            "--thin",
            "--stdout",
            "--delta-base-offset",
            // What programs left incomplete is judged where it is taken back.
            "--missing=allow-any",
        ];
        let (process, pipes) = self.git(&args).piped().await?;
        let mut stdin = pipes.stdin;
        // One that ends at once tells why by how.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        Ok(Packing { process, stdout: pipes.stdout, stderr: pipes.stderr, store: self.tree.store.clone() })
    }

    /// Begins to take a pack.
    ///
    /// # Errors
    /// When git cannot be started.
    pub async fn unpack(&self) -> Result<Unpacking, Fault> {
        let mut command = self.git(&["index-pack", "--stdin", "--fix-thin"]);
        if let Side::Far { mirror } = &self.tree.side {
            let own = crate::quote::alternate(&self.path("objects"));
            command = command
                .env("GIT_OBJECT_DIRECTORY", mirror.join("objects"))
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", os(&own));
        }
        let (process, pipes) = command.piped().await?;
        let store = self.tree.store.clone();
        let stdin = Some(pipes.stdin);
        Ok(Unpacking { process, stdin, _stdout: pipes.stdout, stderr: pipes.stderr, store })
    }
}

fn os(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}
