//! Objects that programs made in a git directory, on their way into the store, and back.
//!
//! The object folder of a git directory is not handed to git: its alternates could name any store, and links in it any
//! file. Loose objects and packs, and nothing else, are linked.

use std::io;

use crate::{Fault, Side, Store, names::is_oid, safe::Folder};

impl Store {
    /// Has the store hold the objects of the git directory.
    pub(crate) async fn take_made(&self) -> Result<(), Fault> {
        let (from, to) = (self.tree.git_dir.join("objects"), self.path("objects"));
        let linked = tokio::task::spawn_blocking(move || link(&from, &to, &[".pack"]));
        let packs = linked.await?.map_err(Fault::io("read the objects of", &self.tree.git_dir))?;
        for pack in packs {
            let path = self.path("objects/pack").join(&pack);
            if path.with_extension("idx").exists() {
                continue;
            }
            let listed = self.git(&["index-pack"]).arg(&path).run().await?;
            // One that git refuses counts for nothing.
            if listed.exit != forge_exec::Exit::Code(0) {
                crate::store::remove(&path).map_err(Fault::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Has a lent git directory hold the objects of the store: whoever takes it back looks nowhere else.
    pub(crate) async fn give_objects(&self) -> Result<(), Fault> {
        if self.tree.side != Side::Lent {
            return Ok(());
        }
        let (from, to) = (self.path("objects"), self.tree.git_dir.join("objects"));
        let linked = tokio::task::spawn_blocking(move || link(&from, &to, &[".idx", ".pack"]));
        linked.await?.map(drop).map_err(Fault::io("write the objects of", &self.tree.git_dir))
    }
}

/// Links loose objects and packs of one object folder into another one. Returns the names of all packs there are.
fn link(from: &std::path::Path, to: &std::path::Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let (Some(from), Some(to)) = (Folder::open(from)?, Folder::open(to)?) else { return Ok(Vec::new()) };
    let is_hex = |name: &[u8], lengths: &[usize]| {
        lengths.contains(&name.len()) && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    for part in from.entries()? {
        if !is_hex(&part.name, &[2]) {
            continue;
        }
        let Some(folder) = from.folder(&part.name)? else { continue };
        let target = to.make_folder(&part.name)?;
        for file in folder.entries()? {
            if is_hex(&file.name, &[38, 62]) {
                target.link(&folder, &file.name)?;
            }
        }
    }
    let Some(folder) = from.folder(b"pack")? else { return Ok(Vec::new()) };
    let target = to.make_folder(b"pack")?;
    let mut packs = Vec::new();
    let entries = folder.entries()?;
    for ending in endings {
        for file in &entries {
            let name = std::str::from_utf8(&file.name).unwrap_or_default();
            let is_of_pack =
                name.strip_prefix("pack-").and_then(|name| name.strip_suffix(ending)).is_some_and(is_oid);
            if !is_of_pack {
                continue;
            }
            // A pack that is there has its list; another one under the same name would not fit it.
            if !target.holds(&file.name) {
                target.link(&folder, &file.name)?;
            }
            if *ending == ".pack" {
                packs.push(name.to_owned());
            }
        }
    }
    Ok(packs)
}
