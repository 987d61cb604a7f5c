//! Lent worktrees on their way to another machine, which is another folder here, and back.

use forge_transfer::{Fault, Side, Snapshot, Tree};

use super::*;

/// Both ends.
pub(super) struct Far {
    here: Tree,
    pub(super) there: Tree,
}

impl Far {
    /// Sends a lent worktree.
    pub(super) async fn send(lent: &Lent) -> Far {
        let store = lent.sandbox.dir().join("store");
        let here = lent.worktree().transferable(&lent.folder, &store).await.unwrap().unwrap();
        let base = lent.sandbox.dir().join("far");
        let there = Tree {
            worktree: base.join("tree"),
            git_dir: base.join("tree/.git"),
            store: base.join("store"),
            objects: Vec::new(),
            side: Side::Far { mirror: base.join("mirror.git") },
            ..here.clone()
        };
        let far = Far { here, there };
        transfer(&far.here, &far.there).await;
        far
    }

    /// Sends it again, after it was taken back and lent anew.
    pub(super) async fn again(&self, lent: &Lent) {
        let here = lent.worktree().transferable(&lent.folder, &self.here.store).await.unwrap().unwrap();
        transfer(&here, &self.there).await;
    }

    /// Brings back what was done there.
    pub(super) async fn fetch(&self) -> Snapshot {
        assert!(!self.here.local_changes().await.unwrap(), "nobody wrote here meanwhile");
        transfer(&self.there, &self.here).await
    }
}

async fn transfer(from: &Tree, to: &Tree) -> Snapshot {
    let source = from.open().await.unwrap();
    let snapshot = source.snapshot().await.unwrap();
    let target = to.open().await.unwrap();
    if target.held().as_ref() != Some(&snapshot.id) {
        let mut haves = target.haves().await.unwrap();
        haves.extend(target.tips().unwrap());
        let mut packing = source.pack(&snapshot, &haves).await.unwrap();
        let mut unpacking = target.unpack().await.unwrap();
        while let Some(chunk) = packing.chunk().await.unwrap() {
            unpacking.write(&chunk).await.unwrap();
        }
        unpacking.finish().await.unwrap();
        target.apply(&snapshot.id).await.unwrap();
        target.remember_tips(&snapshot.roots).await.unwrap();
    }
    source.hold(&snapshot).unwrap();
    snapshot
}

#[tokio::test]
async fn commits_stashes_and_branches_of_another_machine_are_taken_back() {
    let lent = Lent::new().await;
    lent.lend().await;
    let far = Far::send(&lent).await;
    let there = &far.there.worktree;
    fs::write(there.join("made"), "made\n").unwrap();
    let git = |args: &[&str]| lent.sandbox.git_at(there, args);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "made there"]);
    git(&["branch", "side"]);
    fs::write(there.join("made"), "stashed\n").unwrap();
    git(&["stash", "-q"]);
    fs::write(there.join("made"), "staged\n").unwrap();
    git(&["add", "-A"]);
    fs::write(there.join("made"), "in the file\n").unwrap();
    let head = git(&["rev-parse", "HEAD"]);
    far.fetch().await;
    let back = lent.take_back().await;
    assert_eq!(
        (back.head.as_deref(), back.left_out, back.refused_refs),
        (Some(head.as_str()), vec![], vec![])
    );
    assert_eq!(back.kept_refs.len(), 2, "branch and stash: {:?}", back.kept_refs);
    assert_eq!(lent.value("refs/heads/forge/7"), Some(head));
    assert_eq!(lent.git(&["show", ":made"]), "staged");
    assert_eq!(fs::read_to_string(lent.tree.join("made")).unwrap(), "in the file\n");
    lent.assert_whole();
}

#[tokio::test]
async fn content_that_only_travelled_is_whole_when_it_is_committed_there() {
    let lent = Lent::new().await;
    lent.write("untracked", "came as it was\n");
    lent.lend().await;
    let far = Far::send(&lent).await;
    lent.sandbox.git_at(&far.there.worktree, &["add", "-A"]);
    lent.sandbox.git_at(&far.there.worktree, &["commit", "-qm", "committed there"]);
    far.fetch().await;
    let back = lent.take_back().await;
    assert!(back.head.is_some());
    lent.assert_whole();
}

#[tokio::test]
async fn settings_that_travel_name_no_program_and_no_secret() {
    let lent = Lent::new().await;
    for (name, value) in [
        ("user.name", "Somebody"),
        ("core.autocrlf", "input"),
        ("merge.conflictStyle", "zdiff3"),
        ("merge.own.driver", "run %A"),
        ("merge.tool", "vim"),
        ("diff.external", "run"),
        ("http.extraHeader", "Authorization: secret"),
        ("credential.helper", "store"),
        ("url.x.insteadOf", "y"),
        ("core.sshCommand", "run"),
        ("commit.gpgSign", "true"),
        ("alias.x", "!run"),
    ] {
        lent.sandbox.git(&["config", name, value]);
    }
    let ignored = lent.sandbox.dir().join("home/git");
    fs::create_dir_all(&ignored).unwrap();
    fs::write(ignored.join("ignore"), "*.swp\n").unwrap();
    lent.lend().await;
    let tree = lent.worktree().transferable(&lent.folder, Path::new("/store")).await.unwrap().unwrap();
    let manner = tree.manner.unwrap();
    let names: Vec<&str> = manner.settings.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["user.name", "core.autocrlf", "merge.conflictstyle"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    for name in &names {
        let parts = ["user.", "core.", "merge.conflictstyle"];
        assert!(parts.iter().any(|part| name.starts_with(part)), "{name} travels");
        assert_ne!(*name, "core.sshcommand");
    }
    assert!(manner.converts);
    assert_eq!(manner.excludes, b"*.swp\n");
    assert!(!tree.environment.keys().any(|name| name == "GIT_DIR"));
}

#[tokio::test]
async fn worktrees_with_filters_or_submodules_are_refused() {
    let lent = Lent::new().await;
    let asked = async || lent.worktree().transferable(&lent.folder, Path::new("/store")).await.unwrap();
    lent.sandbox.git(&["config", "filter.lfs.smudge", "git-lfs smudge -- %f"]);
    assert!(asked().await.is_ok(), "a filter that no file uses");
    lent.write(".gitattributes", "a filter=lfs\n");
    assert_eq!(asked().await.unwrap_err(), Fault::Filter { name: "lfs".into() });
    fs::remove_file(lent.tree.join(".gitattributes")).unwrap();
    let link = format!("160000,{},sub", lent.git(&["rev-parse", "HEAD"]));
    lent.git(&["update-index", "--add", "--cacheinfo", &link]);
    assert!(asked().await.is_ok(), "one that is not checked out");
    lent.write("sub/.git", "gitdir: elsewhere\n");
    assert_eq!(asked().await.unwrap_err(), Fault::Submodule { path: "sub".into() });
}
