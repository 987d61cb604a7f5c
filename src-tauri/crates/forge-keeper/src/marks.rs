//! The marks of what this keeper runs, as names of files in a folder: a keeper that comes after one that was killed
//! ends what that one left, before it says of anything that it is lost.

use std::{fs, io, os::unix::fs::DirBuilderExt as _, path::PathBuf, time::Duration};

use forge_exec::{Marker, sweep};

/// From the gentle signal to the kill of what an earlier keeper left.
const GRACE: Duration = Duration::from_secs(2);

/// The folder of marks.
#[derive(Debug)]
pub(crate) struct Marks(PathBuf);

impl Marks {
    pub(crate) fn open(folder: PathBuf) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    /// Writes a mark down. Done before anything carries it.
    pub(crate) fn put(&self, marker: &Marker) -> io::Result<()> {
        fs::File::create(self.0.join(file_name(marker))).map(drop)
    }

    /// Nothing carries the mark any more.
    pub(crate) fn remove(&self, marker: &Marker) {
        if let Err(error) = fs::remove_file(self.0.join(file_name(marker)))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, marker = %marker.0, "failed to remove the mark of a program that ended");
        }
    }

    /// Ends everything that carries a mark of an earlier keeper.
    pub(crate) async fn sweep_left(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let Some(marker) = name.to_str().and_then(marker_of) else { continue };
            let ended = sweep(&marker, GRACE).await;
            if ended > 0 {
                tracing::warn!(marker = %marker.0, ended, "ended processes that an earlier keeper left running");
            }
            self.remove(&marker);
        }
        Ok(())
    }
}

/// A mark as the name of a file: what is no letter, digit or `-` stands there by its code.
fn file_name(marker: &Marker) -> String {
    let mut name = String::new();
    for byte in marker.0.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("_{byte:02x}"));
        }
    }
    name
}

fn marker_of(name: &str) -> Option<Marker> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'_' {
            let (code, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok().map(Marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_a_name_and_reads_back() {
        for text in ["execution-0199", "check/../x", "ä_b", ""] {
            let name = file_name(&Marker(text.to_owned()));
            assert!(!name.contains('/') && !name.contains('.'), "{name}");
            assert_eq!(marker_of(&name), Some(Marker(text.to_owned())));
        }
    }
}
