//! Folders of the engine's computer: a window on another computer cannot show them by itself.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use forge_model::actor::Actor;

use super::{answer, input};
use crate::{Api, ApiError};

/// How many folders are listed at most.
const MOST: usize = 1000;
/// How many entries of a folder are looked at for that.
const LOOKED_AT: usize = 20_000;

input! {
    /// A folder of the computer on which the engine runs.
    pub struct ListFolders {
        /// Its full path; a likely place of the user's repositories when absent.
        #[serde(default)]
        pub path: Option<String>,
    }
}

answer! {
    /// The folders in a folder, without hidden ones.
    pub struct FolderListing {
        /// Full path of the folder.
        pub path: String,
        /// Full path of the folder that it is in; none for the root.
        pub parent: Option<String>,
        /// Whether the folder is a git repository.
        pub is_repository: bool,
        /// The folders in it, by name.
        pub folders: Vec<FolderEntry>,
        /// Whether there are more folders than listed.
        pub truncated: bool,
    }

    /// A folder in a folder.
    pub struct FolderEntry {
        /// Its name.
        pub name: String,
        /// Its full path.
        pub path: String,
        /// Whether it is a git repository.
        pub is_repository: bool,
    }
}

pub(crate) async fn list(api: Api, _: Actor, asked: ListFolders) -> Result<FolderListing, ApiError> {
    let folder = match asked.path {
        Some(path) if Path::new(&path).is_absolute() => PathBuf::from(path),
        Some(_) => return Err(ApiError::invalid("path", "must be a full path")),
        None => likely(api.engine().data_dir()),
    };
    let listed = tokio::task::spawn_blocking(move || read(&folder).map_err(|error| (folder, error))).await;
    let listed = listed.map_err(|error| ApiError::new(500, "internal", error.to_string()))?;
    listed.map_err(|(folder, error)| match error.kind() {
        io::ErrorKind::NotFound => ApiError::not_found(format!("no folder {}", folder.display())),
        _ => {
            let message = format!("Could not list {}: {error}", folder.display());
            ApiError::new(403, "folder_unreadable", message)
        }
    })
}

/// Where repositories are likely: the user's home, which has the data folder in a hidden one of its own.
fn likely(data_dir: &Path) -> PathBuf {
    let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hidden = data_dir.ancestors().find(|folder| is_hidden(&name(folder)));
    hidden.unwrap_or(data_dir).parent().unwrap_or(Path::new("/")).to_owned()
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

fn read(folder: &Path) -> io::Result<FolderListing> {
    let mut folders = Vec::new();
    let mut looked_at = 0;
    for entry in fs::read_dir(folder)? {
        looked_at += 1;
        if looked_at > LOOKED_AT {
            break;
        }
        let Ok(entry) = entry else { continue };
        // The contract is text: what is none cannot be named.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        if is_hidden(&name) || !path.is_dir() {
            continue;
        }
        let Some(text) = path.to_str().map(str::to_owned) else { continue };
        folders.push(FolderEntry { name, path: text, is_repository: is_repository(&path) });
    }
    folders.sort_by_cached_key(|it| (it.name.to_lowercase(), it.name.clone()));
    let truncated = looked_at > LOOKED_AT || folders.len() > MOST;
    folders.truncate(MOST);
    Ok(FolderListing {
        path: folder.to_string_lossy().into_owned(),
        parent: folder.parent().map(|parent| parent.to_string_lossy().into_owned()),
        is_repository: is_repository(folder),
        folders,
        truncated,
    })
}

fn is_repository(folder: &Path) -> bool {
    folder.join(".git").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_listed_by_name_without_hidden_ones_and_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["beta", "Alpha/.git", ".hidden"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("file"), "").unwrap();
        let listing = read(folder.path()).unwrap();
        let names: Vec<_> = listing.folders.iter().map(|it| (it.name.as_str(), it.is_repository)).collect();
        assert_eq!(names, [("Alpha", true), ("beta", false)]);
        assert!(!listing.truncated && !listing.is_repository);
        assert_eq!(listing.parent.as_deref(), folder.path().parent().and_then(Path::to_str));
        assert!(read(&folder.path().join("file")).is_err());
    }

    #[test]
    fn home_is_found_by_the_data_folder() {
        assert_eq!(likely(Path::new("/home/me/.local/share/forge")), Path::new("/home/me"));
        assert_eq!(likely(Path::new("/tmp/.x/me/.local/share/forge")), Path::new("/tmp/.x/me"));
        assert_eq!(likely(Path::new("/srv/forge")), Path::new("/srv"));
    }
}
