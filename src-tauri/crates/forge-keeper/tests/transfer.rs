//! Worktrees of tasks, sent to the keeper of a machine and fetched back, with real git.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Marker, Variables};
use forge_keeper::{BoxedStream, Connector, FarTree, Keeper, KeptRun, Limits, Place, Refusal, TransferError};
use forge_transfer::{Fault, Manner, Side, Tree};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

const LONG: Duration = Duration::from_secs(600);

/// A repository with a worktree, and the folder of a keeper.
struct Project {
    temp: TempDir,
    tree: Tree,
}

fn git_at(dir: &Path, args: &[&str]) -> (bool, String) {
    let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
    let mut command = Command::new("git");
    command.args(identity).args(args).current_dir(dir);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return (false, error.to_string()),
    };
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&printed).trim_end().to_owned())
}

fn git(dir: &Path, args: &[&str]) -> String {
    let (is_done, out) = git_at(dir, args);
    assert!(is_done, "git {args:?}: {out}");
    out
}

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn write(dir: &Path, name: &str, content: &str) {
    fs::write(dir.join(name), content).expect("a file");
}

fn variables() -> Arc<Variables> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Arc::new([("PATH".into(), path)].into())
}

impl Project {
    #[expect(clippy::expect_used, reason = "a helper of a test")]
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let base = temp.path().canonicalize().expect("a folder");
        let worktree = base.join("tree");
        fs::create_dir(&worktree).expect("a folder");
        git(&worktree, &["init", "-q", "-b", "main"]);
        write(&worktree, "a", "a\n");
        write(&worktree, "b", "b\n");
        git(&worktree, &["add", "-A"]);
        git(&worktree, &["commit", "-qm", "first"]);
        let tree = Tree {
            git_dir: worktree.join(".git"),
            objects: vec![worktree.join(".git/objects")],
            worktree,
            store: base.join("store"),
            program: "git".into(),
            environment: variables(),
            manner: Some(Manner::default()),
            side: Side::Lent,
        };
        Self { temp, tree }
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("keeper")
    }

    fn keeper(&self, epoch: u64) -> Keeper {
        Keeper::new(self.root(), Place::Program(env!("CARGO_BIN_EXE_forge-keeper").into()), epoch, LONG)
    }

    fn within(&self) -> Keeper {
        Keeper::new(self.root(), Place::Within, 1, LONG)
    }

    fn here(&self) -> &Path {
        &self.tree.worktree
    }
}

fn far(keeper: &Keeper) -> FarTree {
    keeper.far_tree("task-1", "project", &variables())
}

#[tokio::test]
async fn look_brings_what_stands_there_and_is_no_transfer() {
    let project = Project::new();
    let keeper = project.within();
    let tree = far(&keeper);
    let there = tree.stand().await.unwrap().path;
    tree.send(&project.tree).await.unwrap();
    let (sent, held) = (project.tree.last_held(), tree.stand().await.unwrap().holds);
    let folder = project.temp.path().canonicalize().unwrap().join("view");
    let view = project.tree.clone().viewed_in(&folder);
    write(&there, "made", "made\n");
    git(&there, &["add", "-A"]);
    git(&there, &["commit", "-qm", "there"]);
    write(&there, "a", "changed\n");
    fs::remove_file(there.join("b")).unwrap();
    let looked = tree.look(&view, sent.clone()).await.unwrap();
    assert!(looked.is_news() && looked.bytes > 0);
    looked.apply().await.unwrap();
    let seen = |name: &str| fs::read_to_string(folder.join("tree").join(name)).ok();
    assert_eq!((seen("made"), seen("a"), seen("b")), (Some("made\n".into()), Some("changed\n".into()), None));
    let in_view = ["--git-dir=../git", "--work-tree=.", "log", "--format=%s"];
    assert_eq!(git(&folder.join("tree"), &in_view), "there\nfirst");
    // What somebody does in the view goes with the next look, also when nothing else is new.
    write(&folder.join("tree"), "a", "mine\n");
    write(&folder.join("tree"), "other", "mine\n");
    let looked = tree.look(&view, sent.clone()).await.unwrap();
    assert!(!looked.is_news() && looked.bytes == 0);
    looked.apply().await.unwrap();
    assert_eq!((seen("a"), seen("other")), (Some("changed\n".into()), None));
    assert_eq!((project.tree.last_held(), tree.stand().await.unwrap().holds), (sent, held));
    assert_eq!(fs::read_to_string(project.here().join("a")).unwrap(), "a\n", "the worktree is as it was");
    let fetched = tree.fetch(&project.tree, false).await.unwrap();
    assert!(fetched.changed);
    assert_eq!(fs::read_to_string(project.here().join("a")).unwrap(), "changed\n");
}

#[tokio::test]
async fn worktree_is_sent_worked_on_and_fetched() {
    let project = Project::new();
    for (keeper, made) in [(project.keeper(1), "one\n"), (project.within(), "two\n")] {
        let tree = far(&keeper);
        let standing = tree.stand().await.unwrap();
        assert_eq!(tree.path(), Some(standing.path.as_path()));
        write(project.here(), "new", "new\n");
        let sent = tree.send(&project.tree).await.unwrap();
        assert!(sent.changed && sent.bytes > 0, "{sent:?}");
        let sent = tree.send(&project.tree).await.unwrap();
        assert!(!sent.changed && sent.bytes == 0, "{sent:?}");
        let there = standing.path;
        assert_eq!(fs::read_to_string(there.join("new")).unwrap(), "new\n");
        write(&there, "made", made);
        git(&there, &["add", "-A"]);
        git(&there, &["commit", "-qm", "there"]);
        let fetched = tree.fetch(&project.tree, false).await.unwrap();
        assert!(fetched.changed && fetched.left_out.is_empty());
        assert_eq!(git(project.here(), &["log", "-1", "--format=%s"]), "there");
        let fetched = tree.fetch(&project.tree, false).await.unwrap();
        assert!(!fetched.changed && fetched.bytes == 0, "{fetched:?}");
        let trees = keeper.far_trees(true).await.unwrap();
        assert_eq!(
            (trees.len(), trees[0].task.as_str(), trees[0].project.as_str()),
            (1, "task-1", "project")
        );
        assert!(trees[0].bytes.unwrap() > 1000);
        fs::create_dir(there.join("read-only")).unwrap();
        write(&there.join("read-only"), "x", "x");
        fs::set_permissions(there.join("read-only"), std::os::unix::fs::PermissionsExt::from_mode(0o555))
            .unwrap();
        tree.remove().await.unwrap();
        tree.remove().await.unwrap();
        assert_eq!(keeper.far_trees(false).await.unwrap(), []);
        assert!(!there.exists());
        let refused = tree.fetch(&project.tree, false).await.unwrap_err();
        assert!(matches!(refused, TransferError::Refused(Refusal::Transfer(Fault::NoTree))), "{refused:?}");
        drop(keeper);
        fs::remove_dir_all(project.root()).unwrap();
    }
}

#[tokio::test]
async fn second_task_of_a_project_sends_what_the_mirror_lacks() {
    let project = Project::new();
    let noise: String = (0..200_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string()).collect();
    write(project.here(), "large", &noise);
    git(project.here(), &["add", "-A"]);
    git(project.here(), &["commit", "-qm", "large"]);
    let keeper = project.keeper(1);
    let first = far(&keeper).send(&project.tree).await.unwrap();
    assert!(first.bytes > 100_000, "{first:?}");
    let other = Tree { store: project.temp.path().join("other-store"), ..project.tree.clone() };
    let tree = keeper.far_tree("task-2", "project", &variables());
    let second = tree.send(&other).await.unwrap();
    assert!(second.bytes < 20_000, "{second:?}");
    assert_eq!(fs::read_to_string(tree.path().unwrap().join("large")).unwrap(), noise);
}

#[tokio::test]
async fn copy_is_fetched_without_what_the_repository_has_and_is_told_from_one_that_changed() {
    let project = Project::new();
    let noise: String = (0..200_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string()).collect();
    write(project.here(), "large", &noise);
    git(project.here(), &["add", "-A"]);
    git(project.here(), &["commit", "-qm", "large"]);
    git(project.here(), &["rm", "-q", "large"]);
    git(project.here(), &["commit", "-qm", "small again"]);
    let keeper = project.keeper(1);
    let tree = far(&keeper);
    tree.send(&project.tree).await.unwrap();
    let last = forge_keeper::last_held(&project.tree.store).unwrap();
    assert!(tree.is_still(&last).await.unwrap());
    write(tree.path().unwrap(), "made", "made\n");
    assert!(!tree.is_still(&last).await.unwrap());
    assert!(!tree.is_still(&last).await.unwrap(), "a look is no transfer");
    let folder = project.temp.path().join("copy");
    fs::create_dir(&folder).unwrap();
    let copy = Tree {
        worktree: folder.join("tree"),
        git_dir: folder.join("tree/.git"),
        store: folder.join("store"),
        side: Side::Far { mirror: folder.join("mirror.git") },
        ..project.tree.clone()
    };
    let known = vec![git(project.here(), &["rev-parse", "main"]), "f".repeat(40)];
    let fetched = tree.fetch_copy(&copy, known).await.unwrap();
    assert!(fetched.bytes < 20_000, "the history came again: {fetched:?}");
    assert_eq!(fs::read_to_string(folder.join("tree/made")).unwrap(), "made\n");
    assert_eq!(git(&folder.join("tree"), &["log", "-1", "--format=%s"]), "small again");
}

#[tokio::test]
async fn files_changed_here_are_replaced_only_on_demand() {
    let project = Project::new();
    let keeper = project.within();
    let tree = far(&keeper);
    tree.send(&project.tree).await.unwrap();
    write(project.here(), "a", "edited here\n");
    let refused = tree.fetch(&project.tree, false).await.unwrap_err();
    assert!(matches!(refused, TransferError::LocalChanges), "{refused:?}");
    assert_eq!(fs::read_to_string(project.here().join("a")).unwrap(), "edited here\n");
    tree.fetch(&project.tree, true).await.unwrap();
    assert_eq!(fs::read_to_string(project.here().join("a")).unwrap(), "a\n");
}

#[tokio::test]
async fn earlier_engine_is_refused_also_by_a_later_keeper() {
    let project = Project::new();
    far(&project.keeper(7)).send(&project.tree).await.unwrap();
    for keeper in [project.keeper(6), Keeper::new(project.root(), Place::Within, 6, LONG)] {
        write(project.here(), "a", "older\n");
        for refused in [
            far(&keeper).send(&project.tree).await.map(drop),
            far(&keeper).fetch(&project.tree, true).await.map(drop),
            far(&keeper).remove().await,
        ] {
            assert!(matches!(refused, Err(TransferError::Refused(Refusal::OldEpoch))), "{refused:?}");
        }
    }
    far(&project.keeper(8)).send(&project.tree).await.unwrap();
}

#[tokio::test]
async fn machine_without_git_and_odd_names_are_refused_with_the_reason() {
    let project = Project::new();
    let keeper = project.within();
    let empty = Arc::new([("PATH".into(), "/nowhere".into())].into());
    let refused = keeper.far_tree("t", "p", &empty).send(&project.tree).await.unwrap_err();
    assert!(matches!(refused, TransferError::Refused(Refusal::Transfer(Fault::NoGit))), "{refused:?}");
    assert!(refused.to_string().contains("Install git 2.30 or newer"), "{refused}");
    for name in ["", "../t", "a/b", ".hidden"] {
        let refused = keeper.far_tree(name, "p", &variables()).stand().await.unwrap_err();
        assert!(matches!(refused, TransferError::Refused(Refusal::Misunderstood(_))), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn worktree_in_which_programs_run_is_not_overwritten() {
    let project = Project::new();
    let keeper = project.within();
    let tree = far(&keeper);
    tree.send(&project.tree).await.unwrap();
    let marker = Marker(format!("busy-{}", project.temp.path().display()));
    let command = forge_exec::Command::new("sleep", tree.path().unwrap(), marker).arg("600");
    let run = KeptRun {
        id: "r".to_owned(),
        task: "task-1".to_owned(),
        command: command.base(variables()).grace(Duration::from_millis(100)),
        limits: Limits::default(),
        memo: Vec::new(),
        goes_on: false,
        tools: None,
    };
    let session = keeper.open(run).await.unwrap();
    write(project.here(), "a", "changed\n");
    for refused in [tree.send(&project.tree).await.map(drop), tree.remove().await] {
        assert!(
            matches!(refused, Err(TransferError::Refused(Refusal::Transfer(Fault::Busy)))),
            "{refused:?}"
        );
    }
    drop(session);
    keeper.forget("r").await.unwrap();
    tree.send(&project.tree).await.unwrap();
    assert_eq!(fs::read_to_string(tree.path().unwrap().join("a")).unwrap(), "changed\n");
}

/// A way to a keeper on which every connection breaks after so many bytes.
#[derive(Debug)]
struct Cutting {
    socket: PathBuf,
    budget: AtomicUsize,
}

#[async_trait]
impl Connector for Cutting {
    async fn connect(&self) -> io::Result<BoxedStream> {
        let keeper = UnixStream::connect(&self.socket).await?;
        let (ours, theirs) = UnixStream::pair()?;
        let budget = self.budget.load(Ordering::Relaxed);
        tokio::spawn(async move {
            let (from_engine, mut to_engine) = theirs.into_split();
            let (from_keeper, mut to_keeper) = keeper.into_split();
            let limit = budget as u64;
            let (mut up, mut down) = (from_engine.take(limit), from_keeper.take(limit));
            tokio::select! {
                _ = tokio::io::copy(&mut up, &mut to_keeper) => {}
                _ = tokio::io::copy(&mut down, &mut to_engine) => {}
            }
            let _gone = (to_keeper.shutdown().await, to_engine.shutdown().await);
        });
        Ok(Box::new(ours))
    }

    async fn reachable(&self) {}
}

#[tokio::test]
async fn transfers_over_connections_that_break_anywhere_are_repeated() {
    let project = Project::new();
    // The keeper, and the engine that keeps it there.
    let near = project.keeper(1);
    near.far_trees(false).await.unwrap();
    let near_tree = far(&near);
    let path = near_tree.stand().await.unwrap().path;
    let way = Arc::new(Cutting { socket: project.root().join("socket"), budget: AtomicUsize::new(0) });
    let connector: Arc<dyn Connector> = Arc::clone(&way) as _;
    let mut broken = 0;
    for round in 0..30_usize {
        let keeper = Keeper::new(PathBuf::new(), Place::Far(Arc::clone(&connector)), 1, LONG);
        let tree = far(&keeper);
        write(project.here(), "a", &format!("here {round}\n").repeat(40));
        way.budget.store(30 + round * 55, Ordering::Relaxed);
        let sent = tree.send(&project.tree).await;
        if let Err(error) = &sent {
            assert!(matches!(error, TransferError::Unreachable(_)), "{error:?}");
            broken += 1;
        }
        near_tree.send(&project.tree).await.unwrap();
        assert_eq!(git(&path, &["status", "--porcelain"]), git(project.here(), &["status", "--porcelain"]));
        write(&path, "b", &format!("there {round}\n").repeat(40));
        git(&path, &["commit", "-qam", "there"]);
        let fetched = tree.fetch(&project.tree, false).await;
        if let Err(error) = &fetched {
            assert!(matches!(error, TransferError::Unreachable(_)), "{error:?}");
            broken += 1;
        }
        near_tree.fetch(&project.tree, false).await.unwrap();
        assert_eq!(git(&path, &["rev-parse", "HEAD"]), git(project.here(), &["rev-parse", "HEAD"]));
        assert_eq!(fs::read(path.join("b")).unwrap(), fs::read(project.here().join("b")).unwrap());
    }
    assert!(broken > 10, "only {broken} were cut");
}
