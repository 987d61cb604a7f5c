//! Values and paths as git's files have them.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// A value in quotes, as git's configuration and its lists have it.
#[must_use]
pub fn quoted(value: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in value {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            b'\t' => quoted.extend(b"\\t"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    quoted
}

/// The path of an object store as a list of them has it, in a file or in a variable.
#[must_use]
pub fn alternate(store: &Path) -> Vec<u8> {
    let raw = store.as_os_str().as_bytes();
    let is_odd = raw.iter().any(|byte| matches!(byte, b'\n' | b':' | b'"' | b'\\'));
    if is_odd || raw.starts_with(b"#") { quoted(raw) } else { raw.to_vec() }
}

/// The content of `objects/info/alternates`.
#[must_use]
pub fn alternates(stores: &[PathBuf]) -> Vec<u8> {
    stores.iter().flat_map(|store| [alternate(store), b"\n".to_vec()].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_read_as_something_else_is_in_quotes() {
        let list = |path: &str| String::from_utf8(alternates(&[path.into()])).unwrap();
        assert_eq!(list("/a b/objects"), "/a b/objects\n");
        for (path, listed) in
            [("/a:b", r#""/a:b""#), ("#a", r##""#a""##), ("/a\nb", r#""/a\nb""#), ("/\"", r#""/\"""#)]
        {
            assert_eq!(list(path), format!("{listed}\n"));
        }
    }
}
