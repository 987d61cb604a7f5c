//! Paths and records in git's `-z` output, which are bytes and not text.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The NUL-terminated records of `output`.
pub(crate) fn records(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = output.strip_suffix(b"\0").unwrap_or(output);
    let empty = body.is_empty();
    body.split(|b| *b == 0).filter(move |_| !empty)
}

/// Text for people; what is not UTF-8 is replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The path these bytes name.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The path these bytes name, owned.
pub(crate) fn path_buf(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// The bytes of a path.
pub(crate) fn of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// One trimmed line.
pub(crate) fn line(bytes: &[u8]) -> String {
    text(bytes).trim_end_matches(['\n', '\r']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_at_nul() {
        let split = |s: &'static [u8]| records(s).map(text).collect::<Vec<_>>();
        assert_eq!(split(b""), Vec::<String>::new());
        assert_eq!(split(b"a\0"), ["a"]);
        assert_eq!(split(b"a\0b"), ["a", "b"]);
        assert_eq!(split(b"a\0\0b\0"), ["a", "", "b"]);
    }
}
