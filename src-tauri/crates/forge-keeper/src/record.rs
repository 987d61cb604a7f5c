//! Records of a spool: what a program printed at once, and limits that it reached.
//!
//! A record is `[kind u8][length u32][at u64][bytes]`, all numbers little-endian.

use std::io;

use forge_exec::Stream;

use crate::LimitHit;

/// Bytes before the content of a record.
pub(crate) const HEADER_BYTES: usize = 13;

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const LIMIT: u8 = 3;

/// What a spool holds at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'b> {
    /// When it came, in Unix milliseconds.
    pub(crate) at_ms: i64,
    /// What it is.
    pub(crate) content: Content<'b>,
}

/// What a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content<'b> {
    /// Bytes that the program printed, as they were read.
    Output(Stream, &'b [u8]),
    /// A limit that the program reached.
    Limit(LimitHit),
}

impl Record<'_> {
    pub(crate) fn header(&self) -> io::Result<[u8; HEADER_BYTES]> {
        let (kind, length) = match self.content {
            Content::Output(Stream::Stdout, bytes) => (STDOUT, bytes.len()),
            Content::Output(Stream::Stderr, bytes) => (STDERR, bytes.len()),
            Content::Limit(_) => (LIMIT, 1),
        };
        let mut header = [0; HEADER_BYTES];
        let length = u32::try_from(length).map_err(io::Error::other)?;
        for (to, from) in header
            .iter_mut()
            .zip([kind].into_iter().chain(length.to_le_bytes()).chain(self.at_ms.to_le_bytes()))
        {
            *to = from;
        }
        Ok(header)
    }

    /// What follows the header.
    pub(crate) const fn bytes(&self) -> &[u8] {
        match self.content {
            Content::Output(_, bytes) => bytes,
            Content::Limit(LimitHit::Silence) => &[0],
            Content::Limit(LimitHit::WallClock) => &[1],
            Content::Limit(LimitHit::Output) => &[2],
        }
    }
}

/// The first record of some bytes and how long it is; none while it is not whole.
///
/// # Errors
/// When the bytes are no record.
pub(crate) fn first_of(bytes: &[u8]) -> io::Result<Option<(Record<'_>, usize)>> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Ok(None) };
    let [kind, length @ .., _, _, _, _, _, _, _, _] = header else { return Ok(None) };
    let length = <[u8; 4]>::try_from(length).map_err(io::Error::other)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    let at = header.last_chunk().copied().unwrap_or_default();
    let Some(content) = rest.get(..length) else { return Ok(None) };
    let content = match (*kind, content) {
        (STDOUT, bytes) => Content::Output(Stream::Stdout, bytes),
        (STDERR, bytes) => Content::Output(Stream::Stderr, bytes),
        (LIMIT, [0]) => Content::Limit(LimitHit::Silence),
        (LIMIT, [1]) => Content::Limit(LimitHit::WallClock),
        (LIMIT, [2]) => Content::Limit(LimitHit::Output),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "a spool holds an unknown record")),
    };
    Ok(Some((Record { at_ms: i64::from_le_bytes(at), content }, HEADER_BYTES + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_reads_back_and_a_torn_one_waits() {
        let all = [
            Content::Output(Stream::Stdout, b"out\n"),
            Content::Output(Stream::Stderr, b""),
            Content::Limit(LimitHit::Silence),
            Content::Limit(LimitHit::WallClock),
            Content::Limit(LimitHit::Output),
        ];
        for content in all {
            let record = Record { at_ms: -5, content };
            let mut bytes = record.header().unwrap().to_vec();
            bytes.extend_from_slice(record.bytes());
            assert_eq!(first_of(&bytes).unwrap(), Some((record, bytes.len())));
            assert_eq!(first_of(&bytes[..bytes.len() - 1]).unwrap().is_none(), !bytes.is_empty());
        }
        assert!(first_of(&[9; HEADER_BYTES + 9]).is_ok_and(|record| record.is_none()));
        let mut unknown = [0; HEADER_BYTES];
        unknown[0] = 9;
        assert!(first_of(&unknown).is_err());
    }
}
