//! Random histories: what is done in a lent worktree is, once taken back, what it is in an ordinary one.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::state::State;
use super::travel::Far;
use super::*;

/// Something that an agent does in its worktree.
#[derive(Debug, Clone)]
enum Act {
    /// Writes a file; contents of one size differ in one letter.
    Write(usize, char),
    Remove(usize),
    Git(&'static [&'static str]),
    /// Lends anew: taken back in between, where the ordinary worktree just stays.
    Again,
}

/// What git tells of the empty tree, which it does not always store when the index remembers it: what is taken back may
/// have it where the ordinary worktree has not, and the other way round.
const EMPTY_TREE: &str = "missing tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const FILES: [&str; 3] = ["a", "b", "dir/c"];

/// What a single lending sees.
const ANY: &[&[&str]] = &[
    &["add", "-A"],
    &["add", "-A"],
    &["add", "-N", "."],
    &["rm", "-q", "--cached", "a"],
    &["rm", "-qf", "b"],
    &["commit", "-qm", "work"],
    &["commit", "-qam", "all of it"],
    &["commit", "-qam", "all of it"],
    &["commit", "-q", "--amend", "-m", "amended"],
    &["reset", "-q", "--soft", "HEAD~1"],
    &["reset", "-q", "HEAD"],
    &["reset", "-q", "--hard"],
    &["merge", "-q", "main"],
    &["merge", "-q", "--abort"],
    &["rebase", "-q", "main"],
    &["rebase", "-q", "--continue"],
    &["rebase", "-q", "--abort"],
    &["rebase", "-q", "--skip"],
    &["cherry-pick", "main"],
    &["cherry-pick", "--abort"],
    &["revert", "--no-edit", "HEAD"],
    &["checkout", "-q", "--detach"],
    &["status"],
    // At the other end a file has not the times that the index knows. git looks at them again before it says whether a
    // file was changed, but not of one that it was told to take for unchanged.
    &["update-index", "-q", "--refresh", "--assume-unchanged", "a"],
    &["bisect", "start", "HEAD", "HEAD~1"],
    &["bisect", "reset"],
];
/// What leaves branches and stashes, which later lendings do not have under their names.
const ALONE: &[&[&str]] = &[
    &["stash", "-q"],
    &["stash", "-q", "-u"],
    &["stash", "pop", "-q"],
    &["branch", "side"],
    &["switch", "-q", "side"],
    &["switch", "-qc", "other"],
    &["switch", "-q", "forge/7"],
    &["merge", "-q", "side"],
];

fn acts(is_once: bool) -> impl Strategy<Value = Vec<Act>> {
    let gits: Vec<&'static [&'static str]> = if is_once { [ANY, ALONE].concat() } else { ANY.to_vec() };
    let write = (0..FILES.len(), proptest::char::range('p', 't')).prop_map(|(file, c)| Act::Write(file, c));
    let act = prop_oneof![
        5 => write,
        1 => (0..FILES.len()).prop_map(Act::Remove),
        9 => proptest::sample::select(gits).prop_map(Act::Git),
        2 => Just(if is_once { Act::Git(&["status"]) } else { Act::Again }),
    ];
    proptest::collection::vec(act, 1..16)
}

async fn worktree() -> Lent {
    let lent = Lent::new().await;
    lent.sandbox.commit("theirs", &[("a", "content z\n"), ("main", "main\n")]);
    lent
}

async fn run(acts: &[Act], is_far: bool) {
    let (lent, twin) = (worktree().await, worktree().await);
    lent.lend().await;
    let far = if is_far { Some(Far::send(&lent).await) } else { None };
    let tree = far.as_ref().map_or(&lent.tree, |far| &far.there.worktree);
    let places = [(&lent, tree), (&twin, &twin.tree)];
    for act in acts {
        match act {
            Act::Write(file, c) => {
                for (_, tree) in places {
                    let path = tree.join(FILES[*file]);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, format!("content {c}\n")).unwrap();
                }
            }
            Act::Remove(file) => {
                for (_, tree) in places {
                    let _absent = fs::remove_file(tree.join(FILES[*file]));
                }
            }
            Act::Git(args) => {
                let args = [&["-c", "core.editor=true"], *args].concat();
                let done = places.map(|(one, tree)| one.sandbox.try_git_at(tree, &args).0);
                assert_eq!(done[0], done[1], "{args:?} of {acts:?}");
            }
            Act::Again => {
                if let Some(far) = &far {
                    far.fetch().await;
                }
                let back = lent.take_back().await;
                assert_eq!((back.refused_refs, back.left_out), (vec![], vec![]), "{acts:?}");
                lent.lend().await;
                if let Some(far) = &far {
                    far.again(&lent).await;
                }
            }
        }
    }
    if let Some(far) = &far {
        far.fetch().await;
    }
    let back = lent.take_back().await;
    assert_eq!((back.refused_refs, back.left_out), (vec![], vec![]), "{acts:?}");
    for args in [
        &["rev-parse", "HEAD", "HEAD^{tree}"][..],
        &["ls-files", "--stage"],
        &["ls-files", "-v"],
        &["status", "--porcelain", "--branch"],
        &["status"],
        &["rev-parse", "refs/heads/forge/7"],
        &["for-each-ref", "refs/bisect"],
    ] {
        assert_eq!(lent.git(args), twin.git(args), "{args:?} after {acts:?}");
    }
    let state = |one: &Lent| State::read(&one.admin()).unwrap();
    assert_eq!(state(&lent), state(&twin), "after {acts:?}");
    // Objects that nothing leads to are not taken back.
    let faults = |one: &Lent| {
        let arguments = ["fsck", "--strict", "--connectivity-only", "--no-dangling"];
        let (_is_sound, told) = one.sandbox.try_git_at(one.repo.root(), &arguments);
        told.lines().filter(|line| *line != EMPTY_TREE).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(faults(&lent), faults(&twin), "after {acts:?}");
    let commit = async |one: &Lent| {
        let done = one.worktree().commit_all("the rest", None).await;
        (done.is_ok(), one.git(&["rev-parse", "HEAD^{tree}"]))
    };
    assert_eq!(commit(&lent).await, commit(&twin).await, "after {acts:?}");
}

fn histories(is_once: bool, is_far: bool) {
    let config = Config { cases: 24, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = TestRunner::new(config).run(&acts(is_once), |acts| {
        runtime.block_on(run(&acts, is_far));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn random_histories_in_one_lending_end_as_in_an_ordinary_worktree() {
    histories(true, false);
}

#[test]
fn random_histories_over_several_lendings_end_as_in_an_ordinary_worktree() {
    histories(false, false);
}

#[test]
fn random_histories_on_another_machine_end_as_in_an_ordinary_worktree() {
    histories(true, true);
}

#[test]
fn random_histories_over_several_transfers_end_as_in_an_ordinary_worktree() {
    histories(false, true);
}
