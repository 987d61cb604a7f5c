//! Contents that git LFS stored in a lent git directory.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use super::files;
use crate::error::GitError;
use crate::guard::open_folder;

/// Brings them into the repository's own store. One whose content does not have the name's checksum stays behind.
pub(super) fn take_back(lent: &Path, common_dir: &Path) -> Result<(), GitError> {
    let top = files::top(lent)?;
    let Some(objects) =
        top.and_then(|top| files::folder(&top, "lfs")).and_then(|lfs| files::folder(&lfs, "objects"))
    else {
        return Ok(());
    };
    let to = common_dir.join("lfs/objects");
    let take = || -> io::Result<()> {
        for first in files::names(&objects)? {
            let Ok(outer) = open_folder(&objects, &first) else { continue };
            for second in files::names(&outer)? {
                let Ok(inner) = open_folder(&outer, &second) else { continue };
                for name in files::names(&inner)? {
                    let Some(name) = name.to_str() else { continue };
                    let is_named = name.len() == 64
                        && files::is_oid(name)
                        && first.to_str() == name.get(..2)
                        && second.to_str() == name.get(2..4);
                    if is_named {
                        take_one(&inner, name, &to)?;
                    }
                }
            }
        }
        Ok(())
    };
    take().map_err(GitError::io("take large files into", &to))
}

fn take_one(dir: &Dir, name: &str, to: &Path) -> io::Result<()> {
    let folder = to.join(&name[..2]).join(&name[2..4]);
    let target = folder.join(name);
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    let Some(mut file) = files::open(dir, name.as_ref())? else { return Ok(()) };
    fs::create_dir_all(&folder)?;
    let fresh = folder.join(format!("{name}.forge"));
    let _absent = fs::remove_file(&fresh);
    let mut copy = files::create(&fresh)?;
    let (mut sum, mut chunk) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        sum.update(&chunk[..length]);
        copy.write_all(&chunk[..length])?;
    }
    let found: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == name { fs::rename(&fresh, &target) } else { fs::remove_file(&fresh) }
}
