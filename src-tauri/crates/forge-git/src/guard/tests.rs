use super::*;
use std::fs;
use std::os::unix::fs::symlink;

use nix::fcntl::{RenameFlags, renameat2};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret"), "secret").unwrap();
        fs::write(root.join("sub/file"), "inside").unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink(dir.path().join("outside/secret"), root.join("secret")).unwrap();
        symlink("../outside/new", root.join("new")).unwrap();
        symlink("sub", root.join("in")).unwrap();
        symlink(root.join("sub"), root.join("in-absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../root/sub", root.join("round")).unwrap();
        Place { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root").canonicalize().unwrap()
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    let place = Place::new();
    let bad = [
        "",
        "/etc/passwd",
        "..",
        "../x",
        "sub/../../x",
        "sub/..",
        "a\0b",
        "C:\\x",
        "c:x",
        "\\\\host\\x",
        "a\\..\\b",
        "out",
        "out/secret",
        "out/fresh/file",
        "secret",
        "new",
        "loop",
    ];
    for path in bad {
        let found = resolve_inside(&place.root(), Path::new(path));
        assert!(matches!(found, Err(GuardError::Escape { .. })), "{path:?}: {found:?}");
        let root = Root::open(&place.root()).unwrap();
        if !["out", "secret", "new", "loop"].contains(&path) {
            let read = root.read(Path::new(path), 100);
            assert!(matches!(read, Err(GuardError::Escape { .. })), "read {path:?}: {read:?}");
            let wrote = root.write(Path::new(path), b"x", false);
            assert!(matches!(wrote, Err(GuardError::Escape { .. })), "write {path:?}: {wrote:?}");
        }
    }
    assert_eq!(fs::read_to_string(place.dir.path().join("outside/secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(place.dir.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn paths_inside_resolve() {
    let place = Place::new();
    let good = [
        ("sub/file", "sub/file"),
        ("in/file", "sub/file"),
        ("in-absolute/file", "sub/file"),
        ("round/file", "sub/file"),
        ("./sub/./file", "sub/file"),
        ("fresh/a/b", "fresh/a/b"),
        ("in/fresh/b", "sub/fresh/b"),
        ("..file", "..file"),
        ("ünï/☃", "ünï/☃"),
    ];
    for (path, expected) in good {
        let found = resolve_inside(&place.root(), Path::new(path)).unwrap();
        assert_eq!(found, place.root().join(expected), "{path}");
    }
}

#[test]
fn links_are_shown_and_replaced_not_followed() {
    let place = Place::new();
    let root = Root::open(&place.root()).unwrap();
    let link = root.read(Path::new("out"), 10).unwrap();
    assert_eq!(link, Some(Entry::Link("../outside".into())));
    root.write(Path::new("new"), b"mine", true).unwrap();
    assert!(!place.dir.path().join("outside/new").exists(), "written through the link");
    let read = root.read(Path::new("new"), 10).unwrap();
    assert_eq!(read, Some(Entry::File { content: b"mine".to_vec(), executable: true }));
    assert_eq!(root.read(Path::new("new"), 3).unwrap(), Some(Entry::Large { size: 4, executable: true }));
    assert_eq!(root.read(Path::new("nothing/here"), 3).unwrap(), None);
    assert_eq!(root.read(Path::new("sub"), 3).unwrap(), Some(Entry::Directory));
}

#[test]
fn removal_takes_the_empty_directories_along() {
    let place = Place::new();
    let root = Root::open(&place.root()).unwrap();
    root.write(Path::new("a/b/c"), b"", false).unwrap();
    root.link(Path::new("a/l"), Path::new("/etc")).unwrap();
    root.remove(Path::new("a/b/c")).unwrap();
    assert!(!place.root().join("a/b").exists() && place.root().join("a").exists());
    root.remove(Path::new("a/l")).unwrap();
    root.remove(Path::new("a/l")).unwrap();
    assert!(!place.root().join("a").exists());
    assert!(matches!(root.remove(Path::new("out/secret")), Err(GuardError::Escape { .. })));
}

#[test]
fn a_swap_between_check_and_use_never_leads_out() {
    let place = Place::new();
    let base = place.root();
    fs::create_dir(base.join("flip")).unwrap();
    fs::write(base.join("flip/secret"), "inside").unwrap();
    symlink("../outside", base.join("flop")).unwrap();
    let swapped = base.clone();
    let swapper = std::thread::spawn(move || {
        let (flip, flop) = (swapped.join("flip"), swapped.join("flop"));
        for _ in 0..20_000 {
            let exchange = RenameFlags::RENAME_EXCHANGE;
            renameat2(nix::fcntl::AT_FDCWD, &flip, nix::fcntl::AT_FDCWD, &flop, exchange).unwrap();
        }
    });
    let root = Root::open(&base).unwrap();
    let (mut inside, mut written) = (0, 0);
    while !swapper.is_finished() || written < 1000 {
        if let Ok(Some(Entry::File { content, .. })) = root.read(Path::new("flip/secret"), 100) {
            assert_eq!(content, b"inside", "read through a swapped link");
            inside += 1;
        }
        // What a write may do is fail; what it must not do is write outside.
        written += u32::from(root.write(Path::new("flip/planted"), b"x", false).is_ok());
        let _refused = root.link(Path::new("flip/link"), Path::new("x"));
    }
    swapper.join().unwrap();
    assert!(inside > 0, "never read at all");
    let outside = fs::read_dir(place.dir.path().join("outside")).unwrap();
    let outside: Vec<_> = outside.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret"], "wrote through a swapped link");
}

#[test]
fn names_as_long_as_they_get_and_in_any_script() {
    let place = Place::new();
    let root = Root::open(&place.root()).unwrap();
    let long = "n".repeat(255);
    let wide = format!("{}x", "ü".repeat(127));
    for name in [long.as_str(), wide.as_str(), "日本/語.txt", "a\nb", " leading", "e\u{301}"] {
        let path = Path::new("fresh").join(name);
        assert_eq!(resolve_inside(&place.root(), &path).unwrap(), place.root().join(&path), "{name:?}");
        root.write(&path, b"x", false).unwrap();
        let read = root.read(&path, 10).unwrap();
        assert_eq!(read, Some(Entry::File { content: b"x".to_vec(), executable: false }), "{name:?}");
        root.remove(&path).unwrap();
        assert_eq!(root.read(&path, 10).unwrap(), None);
    }
    // Not of UTF-8.
    let odd = Path::new(OsStr::from_bytes(b"\xff\xfe"));
    root.write(odd, b"x", false).unwrap();
    assert!(place.root().join(odd).exists());
    let too_long = root.write(Path::new(&"n".repeat(256)), b"x", false);
    assert!(matches!(too_long, Err(GuardError::Io { .. })), "{too_long:?}");
    assert!(matches!(resolve_inside(&place.root(), Path::new("in/../..")), Err(GuardError::Escape { .. })));
}

#[test]
fn a_folder_is_opened_by_its_plain_name_only() {
    let place = Place::new();
    let dir = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    assert!(open_folder(&dir, OsStr::new("sub")).unwrap().exists("file"));
    for name in ["..", ".", "out", "in", "sub/..", "/", "", "secret", "nothing"] {
        assert!(open_folder(&dir, OsStr::new(name)).is_err(), "{name:?}");
    }
}
