//! Lending and taking back, cut short at every step and repeated.

use super::*;

const STEPS: [Step; 9] = [
    Step::Objects,
    Step::Kept,
    Step::Log,
    Step::Branch,
    Step::Head,
    Step::Index,
    Step::Operation,
    Step::DotGit,
    Step::Folder,
];

#[tokio::test]
async fn taking_back_that_is_cut_short_anywhere_is_completed_by_a_repetition() {
    for step in STEPS {
        let lent = Lent::new().await;
        lent.sandbox.commit("theirs", &[("a", "theirs\n")]);
        lent.lend().await;
        lent.write("a", "ours\n");
        lent.git(&["commit", "-qam", "ours"]);
        lent.git(&["branch", "side"]);
        lent.git(&["switch", "-qc", "feature"]);
        lent.write("b", "more\n");
        lent.git(&["add", "b"]);
        lent.git(&["commit", "-qm", "more"]);
        assert!(!lent.sandbox.try_git_at(&lent.tree, &["merge", "-q", "main"]).0);
        lent.write("c", "staged\n");
        lent.git(&["add", "c"]);
        let status = lent.git(&["status"]);
        let (head, staged) = (lent.git(&["rev-parse", "HEAD"]), lent.git(&["ls-files", "--stage"]));
        let ours = lent.git(&["rev-parse", "forge/7"]);
        lent.worktree().take_back_until(&lent.folder, KEY, step).await.unwrap();
        let back = lent.take_back().await;
        assert_eq!(back.was_lent, step < Step::Folder, "{step:?}");
        if back.was_lent {
            assert_eq!(back.kept_refs, [format!("{PREFIX}/heads/side")], "{step:?}");
            assert_eq!((back.refused_refs, back.left_out), (vec![], vec![]), "{step:?}");
        }
        assert_eq!(lent.git(&["status"]), status, "{step:?}");
        assert_eq!(lent.git(&["rev-parse", "HEAD"]), head, "{step:?}");
        assert_eq!(lent.git(&["ls-files", "--stage"]), staged, "{step:?}");
        assert_eq!(lent.value("refs/heads/forge/7"), Some(ours), "{step:?}");
        lent.assert_whole();
    }
}

#[tokio::test]
async fn lending_that_was_cut_short_is_completed_by_a_repetition() {
    let lent = Lent::new().await;
    lent.lend().await;
    let beside = |ending: &str| PathBuf::from(format!("{}{ending}", lent.folder.display()));
    let leads_to_repository = || super::super::places::lead(&lent.tree, &lent.admin()).unwrap();
    // Before `.git` leads there: all is made.
    leads_to_repository();
    lent.lend().await;
    assert_eq!(lent.git(&["rev-parse", "--absolute-git-dir"]), lent.folder.to_str().unwrap());
    // Before it is handed out: what changed since then is lent.
    leads_to_repository();
    fs::remove_file(beside(".was").join("handed")).unwrap();
    lent.write("new", "new\n");
    lent.git(&["add", "new"]);
    lent.lend().await;
    assert_eq!(lent.git(&["status", "--porcelain"]), "A  new");
    // Before the folder came to its place.
    leads_to_repository();
    fs::remove_file(beside(".was").join("handed")).unwrap();
    fs::rename(&lent.folder, beside(".making")).unwrap();
    assert!(!lent.worktree().take_back(&lent.folder, KEY).await.unwrap().was_lent);
    lent.assert_over();
    assert_eq!(lent.git(&["status", "--porcelain"]), "A  new");
    lent.lend().await;
    assert!(lent.take_back().await.was_lent);
}
