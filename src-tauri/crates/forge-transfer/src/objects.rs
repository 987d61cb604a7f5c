//! Contents of objects, all read by one git.

use forge_exec::Piped;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use crate::{Fault, Store};

/// git that waits for names of objects. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Objects {
    _process: Piped,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
    store: std::path::PathBuf,
}

impl Store {
    /// Begins to read objects.
    pub(crate) async fn objects(&self) -> Result<Objects, Fault> {
        let (process, pipes) = self.git(&["cat-file", "--batch"]).piped().await?;
        Ok(Objects {
            _process: process,
            stdin: pipes.stdin,
            stdout: BufReader::new(pipes.stdout),
            stderr: pipes.stderr,
            store: self.tree.store.clone(),
        })
    }
}

impl Objects {
    /// The content of an object; none when it is not there. The name is a full one.
    pub(crate) async fn read(&mut self, oid: &str) -> Result<Option<Vec<u8>>, Fault> {
        let system = |error| Fault::io("read objects of", &self.store)(error);
        // One that ended tells why.
        let _ = self.stdin.write_all(format!("{oid}\n").as_bytes()).await;
        let mut head = String::new();
        self.stdout.read_line(&mut head).await.map_err(system)?;
        if head.is_empty() {
            let mut said = Vec::new();
            self.stderr.read_to_end(&mut said).await.map_err(system)?;
            return Err(Fault::git("cat-file", &said, &self.store));
        }
        let size = head.trim_end().rsplit(' ').next().and_then(|word| word.parse::<usize>().ok());
        let Some(size) = size else { return Ok(None) };
        let mut content = vec![0; size];
        self.stdout.read_exact(&mut content).await.map_err(system)?;
        // A line break follows.
        self.stdout.read_u8().await.map_err(system)?;
        Ok(Some(content))
    }
}
