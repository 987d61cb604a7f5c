//! The log of the engine itself: what it does and what fails, as lines in files of the data folder that do not grow without
//! bound. One process has one, since it has one engine that lasts.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Mutex,
};

use file_rotate::{ContentLimit, FileRotate, compression::Compression, suffix::AppendCount};

use crate::core::sync::locked;

/// The newest file. Older ones have a number behind their name, 1 being the youngest.
const NAME: &str = "forge.log";
/// A file that has more is set aside.
const MOST_BYTES: usize = 4 << 20;
/// How many files are kept beside the newest one.
const OLDER: usize = 3;
/// Only the owner reads them: they name folders, branches and programs.
const MODE: u32 = 0o600;
/// How much is kept of what is written before the data folder is known.
const MOST_WAITING_BYTES: usize = 64 << 10;

static LOG: Mutex<Log> = Mutex::new(Log::Waiting(Vec::new()));

/// Where lines go.
enum Log {
    /// No folder is known yet.
    Waiting(Vec<u8>),
    Open(FileRotate<AppendCount>),
}

/// Where the lines of this process are written.
#[derive(Debug, Clone, Copy)]
pub struct EngineLog;

impl EngineLog {
    /// From now on lines go to the files of a data folder, after those that were written before. For whoever has the
    /// folder.
    ///
    /// # Errors
    /// When the file cannot be opened; nothing is lost by that, and the next call may succeed.
    pub fn open(data_dir: &Path) -> io::Result<()> {
        let path = data_dir.join(NAME);
        let mut how = File::options();
        how.read(true).create(true).append(true).mode(MODE);
        // The library tells nobody that the file cannot be opened.
        how.open(&path)?;
        let limit = ContentLimit::BytesSurpassed(MOST_BYTES);
        let mut file = FileRotate::new(path, AppendCount::new(OLDER), limit, Compression::None, Some(how));
        let mut log = locked(&LOG);
        if let Log::Waiting(lines) = &*log {
            file.write_all(lines)?;
        }
        *log = Log::Open(file);
        Ok(())
    }

    /// The last whole lines that the files of a data folder hold, at most so many bytes.
    ///
    /// # Errors
    /// When there is a file that cannot be read.
    pub fn last_lines(data_dir: &Path, bytes: u64) -> io::Result<String> {
        let text = tail(&data_dir.join(NAME), bytes)?;
        let before = bytes.saturating_sub(text.len() as u64);
        Ok(tail(&data_dir.join(format!("{NAME}.1")), before)? + &text)
    }
}

impl Write for EngineLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *locked(&LOG) {
            Log::Waiting(lines) => {
                if lines.len() + bytes.len() <= MOST_WAITING_BYTES {
                    lines.extend_from_slice(bytes);
                }
                Ok(bytes.len())
            }
            Log::Open(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *locked(&LOG) {
            Log::Waiting(_) => Ok(()),
            Log::Open(file) => file.flush(),
        }
    }
}

/// The last whole lines of a file; none when it is not there.
fn tail(path: &Path, bytes: u64) -> io::Result<String> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(bytes);
    file.seek(SeekFrom::Start(from))?;
    let mut read = Vec::new();
    file.take(bytes).read_to_end(&mut read)?;
    let text = String::from_utf8_lossy(&read);
    let first = if from == 0 { 0 } else { text.find('\n').map_or(text.len(), |end| end + 1) };
    Ok(text[first..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_up_to_a_bound_after_those_from_before_the_folder_was_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = EngineLog;
        writeln!(log, "early").unwrap();
        EngineLog::open(folder.path()).unwrap();
        assert_eq!(EngineLog::last_lines(folder.path(), 100).unwrap(), "early\n");

        let line = "x".repeat(1000);
        for number in 0..30_000 {
            writeln!(log, "{number} {line}").unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap();
        let sizes: Vec<u64> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert_eq!(sizes.len(), 1 + OLDER, "{sizes:?}");
        assert!(sizes.iter().all(|size| *size <= MOST_BYTES as u64 + 2000), "{sizes:?}");
        let last = EngineLog::last_lines(folder.path(), 10_000).unwrap();
        assert!(last.starts_with("2999") && last.ends_with(&format!("29999 {line}\n")), "{}", &last[..20]);
        assert!(last.len() <= 10_000);
        let more = EngineLog::last_lines(folder.path(), 6 << 20).unwrap();
        assert!(more.len() > MOST_BYTES, "lines of the file before are told, too: {}", more.len());
        assert_eq!(EngineLog::last_lines(&folder.path().join("none"), 10).unwrap(), "");
    }
}
