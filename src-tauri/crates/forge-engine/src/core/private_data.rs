//! Access to the data folder: files 0600, folders 0700, also where an earlier version, a copy or another program
//! left them open to others.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
};

use tokio::{fs::OpenOptions, io::AsyncWriteExt as _};

/// Folders of the data folder whose whole content is Forge's own. Worktrees are not: what is in them keeps its modes.
const OWN: [&str; 6] = ["attachments", "backups", "kept", "logs", "set-aside", "trials"];

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// Makes a folder that only its owner can enter; one that is there stays as it is.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(FOLDER))
}

/// Writes a file that only its owner can read, in place of what was there.
pub(crate) async fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(FILE).open(path).await?;
    // One that was there keeps its mode.
    file.set_permissions(Permissions::from_mode(FILE)).await?;
    file.write_all(content.as_ref()).await?;
    file.flush().await
}

/// Takes every right of others from the data folder and from what Forge keeps in it. What cannot be changed is told and
/// left: the folder itself keeps others out.
pub(crate) fn tighten(data_dir: &Path) {
    tighten_one(data_dir);
    let Ok(entries) = fs::read_dir(data_dir) else { return };
    for entry in entries.flatten() {
        tighten_one(&entry.path());
    }
    for folder in OWN {
        tighten_below(&data_dir.join(folder));
    }
}

fn tighten_below(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        tighten_one(&entry.path());
        // A link is no folder of ours.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            tighten_below(&entry.path());
        }
    }
}

fn tighten_one(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let mode = match (found.is_dir(), found.is_file()) {
        (true, _) => FOLDER,
        (_, true) => FILE,
        _ => return,
    };
    let now = found.permissions().mode() & 0o777;
    if now & !mode == 0 {
        return;
    }
    if let Err(error) = fs::set_permissions(path, Permissions::from_mode(now & mode)) {
        tracing::warn!(%error, path = %path.display(), "Could not take the rights of others from a file of Forge's.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn file_is_written_for_its_owner_alone_also_over_an_open_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("prompt.md");
        fs::write(&path, b"a longer text").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
        for name in ["prompt.md", "fresh.md"] {
            let path = dir.path().join(name);
            write(&path, "short").await.expect("written");
            assert_eq!((fs::read(&path).expect("read").as_slice(), mode(&path)), (&b"short"[..], FILE));
        }
    }

    #[test]
    fn open_data_folder_is_closed_with_everything_in_it_but_worktrees_and_links() {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("data");
        let files = ["forge.db", "forge.db-wal", "logs/p/t/log.jsonl", "kept/p/t/.git", "backups/a.db"];
        let tool = "workspaces/p/1-x/tree/tool.sh";
        for file in files.iter().chain([&tool]) {
            let path = data.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, b"x").expect("written");
            fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
        }
        let outside = dir.path().join("outside");
        fs::write(&outside, b"x").expect("written");
        fs::set_permissions(&outside, Permissions::from_mode(0o644)).expect("a mode");
        std::os::unix::fs::symlink(&outside, data.join("logs/p/link")).expect("a link");
        for folder in ["", "logs", "logs/p", "logs/p/t", "kept", "backups", "workspaces"] {
            fs::set_permissions(data.join(folder), Permissions::from_mode(0o755)).expect("a mode");
        }
        tighten(&data);
        for file in files {
            assert_eq!(mode(&data.join(file)), FILE, "{file}");
        }
        for folder in ["", "logs", "logs/p", "logs/p/t", "kept", "backups", "workspaces"] {
            assert_eq!(mode(&data.join(folder)), FOLDER, "{folder}");
        }
        assert_eq!(mode(&data.join(tool)), 0o755, "a file of a worktree");
        assert_eq!(mode(&outside), 0o644, "what a link leads to");
    }
}
