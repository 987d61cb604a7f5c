//! Programs of relative settings are those of the user's own checkout.

use std::fs;

use super::*;
use crate::testing::{Sandbox, program_at};
use crate::worktrees::NewWorktree;

#[test]
fn relative_paths_of_a_line_lead_into_the_users_checkout_and_nothing_else_changes() {
    let (root, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(root.path().join("strip.py"), "").unwrap();
    fs::write(root.path().join("clean"), "").unwrap();
    fs::create_dir(tree.path().join("tools")).unwrap();
    fs::write(tree.path().join("tools/new.py"), "").unwrap();
    let top = root.path().to_str().unwrap();
    let of = |form, value: &str| {
        absolute(form, value, root.path(), tree.path()).map(|made| made.replace(top, "TOP"))
    };
    for (value, made) in [
        ("./tools/clean.sh %f", "TOP/tools/clean.sh %f"),
        ("tools/clean", "TOP/tools/clean"),
        ("\"./my tools/clean\" -x", "'TOP/my tools/clean' -x"),
        ("A=1 ./x | ../y", "A=1 TOP/x | TOP/../y"),
        ("sh -c './x %A'", "sh -c 'TOP/x %A'"),
        ("sh -e clean", "sh -e TOP/clean"),
        ("python3 strip.py", "python3 TOP/strip.py"),
        ("python3 tools/new.py %O", "python3 TOP/tools/new.py %O"),
    ] {
        assert_eq!(of(Form::Line, value).as_deref(), Some(made), "{value}");
    }
    for value in ["cat", "git-lfs clean -- %f", "/usr/bin/x a", "sed s/a/b/", "$HOME/x", "~/x", "ssh://x/y"] {
        assert_eq!(of(Form::Line, value), None, "{value}");
    }
    assert_eq!(of(Form::Program, "bin/my gpg").as_deref(), Some("TOP/bin/my gpg"));
    assert_eq!(of(Form::Program, "gpg"), None);
    assert_eq!(of(Form::Helper, "!./helper get").as_deref(), Some("!TOP/helper get"));
    assert_eq!(of(Form::Helper, "store"), None);
}

#[tokio::test]
async fn filters_and_merge_drivers_by_relative_paths_are_those_of_the_users_checkout() {
    let sandbox = Sandbox::new().await;
    let ran = sandbox.dir().join("ran");
    let says = |who: &str, rest: &str| format!("echo {who} >> {}\n{rest}", ran.display());
    for (name, rest) in [("clean", "cat"), ("smudge", "cat"), ("merge", "exit 0"), ("conv", "cat \"$1\"")] {
        program_at(&sandbox.path(&format!("tools/{name}.sh")), &says("mine", rest));
    }
    sandbox.git(&["config", "filter.f.clean", "./tools/clean.sh %f"]);
    sandbox.git(&["config", "filter.f.smudge", "tools/smudge.sh"]);
    sandbox.git(&["config", "merge.f.driver", "sh ./tools/merge.sh %A %O %B"]);
    sandbox.git(&["config", "diff.f.textconv", "tools/conv.sh"]);
    sandbox.commit("tools", &[(".gitattributes", "*.f filter=f merge=f diff=f\n"), ("x.f", "one\n")]);
    let repo = sandbox.repo().await;
    let tree = sandbox.dir().join("tree");
    let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
    repo.create_worktree(&spec).await.unwrap();
    repo.accept(repo.fingerprint().await.unwrap());
    for (name, rest) in [("clean", "cat"), ("smudge", "cat"), ("merge", "exit 0"), ("conv", "cat \"$1\"")] {
        program_at(&tree.join(format!("tools/{name}.sh")), &says("planted", rest));
    }
    sandbox.commit("theirs", &[("x.f", "theirs\n")]);
    fs::remove_file(&ran).unwrap();
    fs::write(tree.join("x.f"), "ours\n").unwrap();
    repo.worktree_at(&tree).status().await.unwrap();
    repo.worktree_at(&tree).commit_all("work", None).await.unwrap().unwrap();
    repo.worktree_at(&tree)
        .command(crate::command::Kind::Read)
        .args(["log", "-p", "--textconv", "-1"])
        .ok()
        .await
        .unwrap();
    repo.worktree_at(&tree).begin_merge("main", None).await.unwrap();
    repo.worktree_at(&tree).commit_all("merged", None).await.unwrap();
    let ran = fs::read_to_string(&ran).unwrap();
    assert!(ran.contains("mine") && !ran.contains("planted"), "{ran}");
}
