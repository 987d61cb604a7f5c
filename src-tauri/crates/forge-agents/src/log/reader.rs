//! Reading a log at any place, by its index, also while it is being written.

use std::{
    fs::File,
    io::{self, SeekFrom},
    path::{Path, PathBuf},
    time::SystemTime,
};

use forge_model::log::{EntryKind, LogEntry, LogPage};
use serde_json::json;

use super::{
    LogError, Paths,
    index::{self, Offsets},
    io as io_error,
    packed::{Text, open_text, read_apart, written_at},
    raw,
};

/// The most text of one page; a page of long entries has fewer of them, but at least one.
const MAX_PAGE_BYTES: u64 = 2 * 1024 * 1024;
/// How many entries are heard at a time.
const PAGE: usize = 500;

/// Reads logs. Blocks on the disk for as long as a page takes to read.
#[derive(Debug)]
pub struct LogReader;

impl LogReader {
    /// A stretch of at most `limit` entries:
    ///
    /// - `after` alone: those that follow it, from its side;
    /// - `before` alone: those that precede it, up to its side;
    /// - both: those between, from the side of `after`;
    /// - neither: the end of the log.
    ///
    /// # Errors
    /// When there is no such log, or it cannot be read.
    pub fn page(
        dir: &Path,
        log_id: &str,
        after: Option<u64>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<LogPage, LogError> {
        let paths = Paths::new(dir, log_id)?;
        let log = Open::new(&paths, log_id)?;
        log.page(after, before, limit as u64)
    }

    /// Hears a whole log from its beginning, entry by entry, texts that were kept apart included. Only a page of
    /// it is in memory at a time.
    ///
    /// # Errors
    /// When there is no such log, or it cannot be read.
    pub fn each(dir: &Path, log_id: &str, mut hear: impl FnMut(&LogEntry)) -> Result<(), LogError> {
        let mut after = 0;
        loop {
            let page = Self::page(dir, log_id, Some(after), None, PAGE)?;
            for mut entry in page.entries {
                if entry.body.get("text_bytes").is_some() {
                    entry.body = json!({ "text": Self::blob(dir, log_id, entry.seq)? });
                }
                hear(&entry);
            }
            if page.last_seq <= after || page.last_seq >= page.total {
                return Ok(());
            }
            after = page.last_seq;
        }
    }

    /// When a log was written last; none when there is no such log.
    ///
    /// # Errors
    /// When that cannot be looked up.
    pub fn written_at(dir: &Path, log_id: &str) -> Result<Option<SystemTime>, LogError> {
        let path = Paths::new(dir, log_id)?.lines;
        written_at(&path).map_err(io_error("look up", &path))
    }

    /// The text that was kept apart from entry `seq`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn blob(dir: &Path, log_id: &str, seq: u64) -> Result<String, LogError> {
        let path = Paths::new(dir, log_id)?.blob(seq);
        let Some(text) = read_apart(&path).map_err(io_error("read", &path))? else {
            return Err(LogError::NoBlob { log_id: log_id.to_owned(), seq });
        };
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Raw bytes from `offset` on, at most `limit`; empty beyond the end.
    ///
    /// # Errors
    /// When there is no such log, or it cannot be read.
    pub fn raw(dir: &Path, log_id: &str, offset: u64, limit: usize) -> Result<Vec<u8>, LogError> {
        let path = Paths::new(dir, log_id)?.raw;
        let file = open(&path)?.ok_or_else(|| LogError::NotFound(log_id.to_owned()))?;
        raw::read(&file, offset, limit).map_err(io_error("read", &path))
    }
}

/// A file of a log; none when it does not exist.
fn open(path: &Path) -> Result<Option<File>, LogError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("open", path)(error)),
    }
}

struct Open {
    path: PathBuf,
    text: Box<dyn Text>,
    index: Option<File>,
    offsets: Offsets,
}

impl Open {
    fn new(paths: &Paths, log_id: &str) -> Result<Self, LogError> {
        let text = open_text(&paths.lines).map_err(io_error("open", &paths.lines))?;
        let mut text = text.ok_or_else(|| LogError::NotFound(log_id.to_owned()))?;
        // The index can always be made from the text.
        let index = open(&paths.index)?;
        let path = paths.lines.clone();
        let offsets = index::survey(&mut *text, index.as_ref()).map_err(io_error("read", &path))?;
        Ok(Self { path, text, index, offsets })
    }

    fn page(mut self, after: Option<u64>, before: Option<u64>, limit: u64) -> Result<LogPage, LogError> {
        match self.try_page(after, before, limit)? {
            Some(page) => Ok(page),
            None => {
                // The index was right at its end but wrong here: only the text is to be trusted.
                self.offsets = index::survey(&mut *self.text, None).map_err(io_error("read", &self.path))?;
                let page = self.try_page(after, before, limit)?;
                Ok(page.unwrap_or_else(|| self.to_page(Vec::new())))
            }
        }
    }

    /// None when the index does not agree with the text at this place.
    fn try_page(
        &mut self,
        after: Option<u64>,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Option<LogPage>, LogError> {
        let total = self.offsets.total();
        // Places count from 0: entry `seq` is at place `seq - 1`, so `after` is also the first place wanted.
        let low = after.unwrap_or(0).min(total);
        let high = before.map_or(total, |before| before.saturating_sub(1).min(total)).max(low);
        let from_front = after.is_some();
        let (from, to) = if from_front {
            (low, high.min(low.saturating_add(limit)))
        } else {
            (low.max(high.saturating_sub(limit)), high)
        };
        if from == to {
            return Ok(Some(self.to_page(Vec::new())));
        }
        let path = self.path.clone();
        let read_error = |error| io_error("read", &path)(error);
        let offsets = self.offsets.range(self.index.as_ref(), from, to).map_err(read_error)?;
        let (skipped, offsets) = within(&offsets, from_front);
        let (Some(begin), Some(finish)) = (offsets.first().copied(), offsets.last().copied()) else {
            return Ok(None);
        };
        let is_in_order = offsets.is_sorted() && finish <= self.offsets.end();
        if !is_in_order {
            return Ok(None);
        }
        let place_in = |at: u64| usize::try_from(at - begin).map_err(io::Error::other).map_err(read_error);
        let mut lines = vec![0; place_in(finish)?];
        self.text.seek(SeekFrom::Start(begin)).map_err(read_error)?;
        self.text.read_exact(&mut lines).map_err(read_error)?;
        let mut entries = Vec::with_capacity(offsets.len());
        for (place, bounds) in (from + skipped + 1..).zip(offsets.windows(2)) {
            let [start, end] = bounds else { continue };
            let line = lines.get(place_in(*start)?..place_in(*end)?).unwrap_or_default();
            match entry(line, place, matches!(self.offsets, Offsets::Rebuilt { .. })) {
                Some(entry) => entries.push(entry),
                None => return Ok(None),
            }
        }
        Ok(Some(self.to_page(entries)))
    }

    fn to_page(&self, entries: Vec<LogEntry>) -> LogPage {
        let seq = |entry: Option<&LogEntry>| entry.map_or(0, |entry| entry.seq);
        let (first_seq, last_seq) = (seq(entries.first()), seq(entries.last()));
        LogPage { entries, first_seq, last_seq, total: self.offsets.total() }
    }
}

/// The part of the offsets that fits a page, and how many entries were left out before it. Each entry is
/// bounded by two offsets.
fn within(offsets: &[u64], from_front: bool) -> (u64, &[u64]) {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return (0, offsets) };
    if from_front {
        let fit = offsets.iter().take_while(|offset| offset.saturating_sub(*first) <= MAX_PAGE_BYTES).count();
        (0, offsets.get(..fit.max(2)).unwrap_or(offsets))
    } else {
        let fit =
            offsets.iter().rev().take_while(|offset| last.saturating_sub(**offset) <= MAX_PAGE_BYTES).count();
        let skipped = offsets.len().saturating_sub(fit.max(2));
        (skipped as u64, offsets.get(skipped..).unwrap_or(offsets))
    }
}

/// The entry of a line. A line that is none, in a text that is all there is, is shown as it is.
fn entry(line: &[u8], place: u64, text_is_all: bool) -> Option<LogEntry> {
    match serde_json::from_slice::<LogEntry>(line) {
        Ok(entry) if entry.seq == place => Some(entry),
        Ok(_) | Err(_) if text_is_all => Some(LogEntry {
            seq: place,
            at: 0,
            execution_id: String::new(),
            turn: 0,
            id: format!("damaged-{place}"),
            parent_id: None,
            kind: EntryKind::Raw,
            status: None,
            body: json!({ "text": String::from_utf8_lossy(line).trim_end() }),
            raw_offset: 0,
        }),
        Ok(_) | Err(_) => None,
    }
}
