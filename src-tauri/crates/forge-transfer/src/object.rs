//! Small objects, written without git: to start it takes longer than all that it would do.
//!
//! An object is `<type> <length>\0<content>`, named by its hash, and stored compressed in a file of that name, as
//! gitformat-loose(5) says.

use std::{
    fmt::Write as _,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use flate2::{Compression, write::ZlibEncoder};
use sha1::Sha1;
use sha2::Sha256;

use crate::store;

/// An entry of a tree that is made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry<'n> {
    pub(crate) name: &'n str,
    /// Whether it is a tree, not a file.
    pub(crate) is_tree: bool,
    /// The name of its object.
    pub(crate) oid: &'n str,
}

/// Stores content as a blob in a folder of objects. Its name.
pub(crate) fn write_blob(objects: &Path, content: &[u8], is_sha256: bool) -> io::Result<String> {
    write(objects, "blob", content, is_sha256)
}

/// Stores a tree in a folder of objects. Its name.
pub(crate) fn write_tree(
    objects: &Path,
    mut entries: Vec<TreeEntry<'_>>,
    is_sha256: bool,
) -> io::Result<String> {
    // git compares names of folders as if they ended in `/`.
    let key = |entry: &TreeEntry<'_>| format!("{}{}", entry.name, if entry.is_tree { "/" } else { "" });
    entries.sort_by_cached_key(key);
    let mut content = Vec::new();
    for entry in entries {
        let mode = if entry.is_tree { "40000" } else { "100644" };
        content.extend(format!("{mode} {}\0", entry.name).bytes());
        content.extend(bytes_of(entry.oid).ok_or(io::ErrorKind::InvalidData)?);
    }
    write(objects, "tree", &content, is_sha256)
}

/// The entries of a tree, by name, from its content. Names of objects have `oid_len` letters. What is cut short is left out.
pub(crate) fn entries(mut content: &[u8], oid_len: usize) -> Vec<(Vec<u8>, String)> {
    let mut entries = Vec::new();
    let next = |content: &mut &[u8]| -> Option<(Vec<u8>, String)> {
        let rest = *content;
        let name_at = rest.iter().position(|byte| *byte == b' ')? + 1;
        let name_end = name_at + rest.get(name_at..)?.iter().position(|byte| *byte == 0)?;
        let (name, oid) = (rest.get(name_at..name_end)?, rest.get(name_end + 1..name_end + 1 + oid_len / 2)?);
        *content = rest.get(name_end + 1 + oid_len / 2..)?;
        Some((name.to_vec(), hex(oid)))
    };
    while let Some(entry) = next(&mut content) {
        entries.push(entry);
    }
    entries
}

fn write(objects: &Path, kind: &str, content: &[u8], is_sha256: bool) -> io::Result<String> {
    let head = format!("{kind} {}\0", content.len());
    let parts = [head.as_bytes(), content];
    let oid = if is_sha256 { hash::<Sha256>(parts) } else { hash::<Sha1>(parts) };
    let (folder, name) = oid.split_at(2);
    let folder = objects.join(folder);
    let path = folder.join(name);
    if path.exists() {
        return Ok(oid);
    }
    fs::create_dir_all(&folder)?;
    // git knows names that begin so for those of files that are being written.
    let fresh = folder.join(format!("tmp_obj_{name}"));
    // What a crash left cannot be written to any more.
    store::remove(&fresh)?;
    let mut file = ZlibEncoder::new(File::create(&fresh)?, Compression::fast());
    for part in parts {
        file.write_all(part)?;
    }
    let file = file.finish()?;
    file.set_permissions(Permissions::from_mode(0o444))?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    Ok(oid)
}

fn hash<H: sha2::Digest>(parts: [&[u8]; 2]) -> String {
    let mut hash = H::new();
    for part in parts {
        hash.update(part);
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of(oid: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(oid.get(at..at + 2)?, 16).ok();
    (0..oid.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    #[test]
    fn git_reads_what_is_written_and_names_it_alike() {
        for (format, is_sha256) in [("sha1", false), ("sha256", true)] {
            let folder = tempfile::tempdir().unwrap();
            git(folder.path(), &["init", "--quiet", "--object-format", format]);
            let objects = folder.path().join(".git/objects");
            let long = b"some content\n".repeat(10_000);
            fs::write(folder.path().join("long"), &long).unwrap();
            let blob = write_blob(&objects, &long, is_sha256).unwrap();
            assert_eq!(blob, git(folder.path(), &["hash-object", "--no-filters", "long"]));
            let empty = write_tree(&objects, Vec::new(), is_sha256).unwrap();
            let entry = |name, is_tree, oid| TreeEntry { name, is_tree, oid };
            let entries =
                vec![entry("a.b", false, &blob), entry("a", true, &empty), entry("Z", false, &blob)];
            let tree = write_tree(&objects, entries, is_sha256).unwrap();
            let listed = format!("100644 blob {blob}\tZ\n100644 blob {blob}\ta.b\n040000 tree {empty}\ta");
            assert_eq!(git(folder.path(), &["ls-tree", &tree]), listed);
            let content = Command::new("git")
                .args(["cat-file", "tree", &tree])
                .current_dir(folder.path())
                .output()
                .unwrap()
                .stdout;
            let named = |name: &str, oid: &str| (name.as_bytes().to_vec(), oid.to_owned());
            let all = vec![named("Z", &blob), named("a.b", &blob), named("a", &empty)];
            assert_eq!(super::entries(&content, tree.len()), all);
            let cut = content.get(..content.len() - 1).unwrap();
            assert_eq!(super::entries(cut, tree.len()), all.get(..2).unwrap());
            git(folder.path(), &["fsck", "--strict", "--no-dangling"]);
        }
    }
}
