//! Programs that an agent plants for git never run when Forge uses git: neither from the repository's configuration
//! nor from a repository inside the worktree.

use std::path::{Path, PathBuf};

use anyhow::Result;
use forge_testkit::{
    Board,
    board::{is, text},
    script,
};
use serde_json::{Value, json};

/// Git configuration lines; `EVIL` stands for the planted program.
const CONFIGURATION: &str = r#"
[core]
	fsmonitor = EVIL
	pager = EVIL
	editor = EVIL
	sshCommand = EVIL
	askPass = EVIL
	alternateRefsCommand = EVIL
[filter "evil"]
	clean = EVIL
	smudge = EVIL
	process = EVIL
[diff]
	external = EVIL
[diff "evil"]
	textconv = EVIL
	command = EVIL
[merge "evil"]
	driver = EVIL
[credential]
	helper = !EVIL
[gpg]
	program = EVIL
[remote "evil"]
	url = .
	promisor = true
	uploadpack = EVIL
	receivepack = EVIL
[protocol "file"]
	allow = always
[extensions]
	worktreeConfig = true
[alias]
	status = !EVIL
	add = !EVIL
	commit = !EVIL
[includeIf "gitdir:/"]
	path = INCLUDED
"#;
const HOOKS: &str = "pre-commit commit-msg post-commit post-checkout post-merge pre-merge-commit post-index-change \
                     post-rewrite reference-transaction";

struct PlantedFixture {
    board: Board,
    folder: PathBuf,
}

impl PlantedFixture {
    /// A board, and a script that plants its program into a git directory.
    async fn new() -> Result<Self> {
        // A confined agent cannot plant anything: these guards are for those that are not.
        let settings = json!({ "auto_approve": false, "sandbox": { "mode": "off" } });
        let board = Board::new(settings).await?;
        let folder = board.folder.dir.path().join("planting");
        std::fs::create_dir(&folder)?;
        let evil = folder.join("evil");
        let included = folder.join("included");
        let configuration = CONFIGURATION
            .replace("EVIL", &evil.display().to_string())
            .replace("INCLUDED", &included.display().to_string());
        std::fs::write(folder.join("configuration"), configuration)?;
        std::fs::write(&included, format!("[core]\n\thooksPath = {}\n", folder.display()))?;
        std::fs::write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", folder.join("ran").display()))?;
        let plant = format!(
            "set -e\nchmod +x '{evil}'\nmkdir -p \"$1/hooks\" \"$1/info\" \"$1/objects/info\"\n\
             for hook in {HOOKS}; do cp '{evil}' \"$1/hooks/$hook\"; cp '{evil}' '{folder}'/$hook; done\n\
             echo '* filter=evil diff=evil merge=evil' > \"$1/info/attributes\"\n\
             echo '{folder}' > \"$1/objects/info/alternates\"\n\
             cat '{folder}/configuration' >> \"$1/config\"\n\
             cat '{folder}/configuration' >> \"$1/config.worktree\"\n",
            evil = evil.display(),
            folder = folder.display(),
        );
        std::fs::write(folder.join("plant.sh"), plant)?;
        Ok(Self { board, folder })
    }

    /// The agent directive that plants into a git directory.
    fn plant_into(&self, git_dir: &str) -> String {
        format!("run sh '{}' \"{git_dir}\"", self.folder.join("plant.sh").display())
    }

    fn assert_nothing_ran(&self) {
        let ran = std::fs::read_to_string(self.folder.join("ran")).unwrap_or_default();
        assert_eq!(ran, "", "planted programs ran");
    }

    /// A claimed task. The agent does nothing in later runs, because its own git would run the planted program.
    async fn started_task(&self, lines: &[&str]) -> Result<Value> {
        let description = format!("{}\n```forge-script attempt=2\nsay nothing\n```", script(lines));
        let task = self.board.task(&[], json!({ "description": description })).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    /// Runs a task until it is blocked for `kind`, performs `verb`, and approves the work.
    async fn accepted_and_approved(&self, lines: &[&str], kind: &str, verb: &str) -> Result<Value> {
        let task = self.started_task(lines).await?;
        let stopped = |task: &Value| is("blocked")(task) || is("review")(task);
        let blocked = self.board.engine.until(&task, stopped).await?;
        assert_eq!(blocked["error_annotation"]["type"], kind, "{blocked:#}");
        self.assert_nothing_ran();
        self.board.act(&task, &format!("actions/{verb}?wait=none"), json!({})).await?;
        let reviewed = |task: &Value| task["review"]["status"] == "awaiting_human";
        self.board.engine.until(&task, reviewed).await?;
        let diff = self.board.engine.get(&format!("/tasks/{}/diff", text(&task, "id"))).await?;
        self.board.act(&task, "review/approve?wait=none", json!({})).await?;
        self.board.engine.until(&task, is("done")).await?;
        self.assert_nothing_ran();
        assert_eq!(self.main("work").as_deref(), Some("work"));
        Ok(diff)
    }

    fn main(&self, path: &str) -> Option<String> {
        self.board.folder.repo.show("main", path)
    }

    fn git_dir(&self) -> PathBuf {
        self.board.folder.repo.path().join(".git")
    }
}

fn holds(path: &Path, text: &str) -> Result<bool> {
    Ok(std::fs::read_to_string(path)?.contains(text))
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_that_an_agent_changed_is_undone_before_git_reads_it() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let plant = fixture.plant_into("$(git rev-parse --path-format=absolute --git-common-dir)");
    fixture
        .accepted_and_approved(
            &["edit work <<< \"work\\n\"", &plant],
            "repository_changed",
            "undo_repository",
        )
        .await?;
    assert!(!holds(&fixture.git_dir().join("config"), "evil")?);
    assert!(!fixture.git_dir().join("hooks/pre-commit").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_at_any_depth_are_ignored_or_added_as_files_without_their_programs() -> Result<()> {
    for verb in ["ignore_embedded", "add_embedded"] {
        let fixture = PlantedFixture::new().await?;
        let deep = [
            "edit work <<< \"work\\n\"",
            "run git init -q one/two/three && echo deep > one/two/three/file",
            "run git -C one/two/three add file && git -C one/two/three commit -qm deep",
            &fixture.plant_into("one/two/three/.git"),
        ];
        fixture.accepted_and_approved(&deep, "embedded_repository", verb).await?;
        let added = (verb == "add_embedded").then_some("deep");
        assert_eq!(fixture.main("one/two/three/file").as_deref(), added, "{verb}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_replacing_the_worktrees_git_file_is_not_used() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let own = "run rm .git && git init -q . && git add --all && git commit -qm own";
    let task = fixture.started_task(&["edit work <<< \"work\\n\"", own, &fixture.plant_into(".git")]).await?;
    let reviewed = |task: &Value| task["review"]["status"] == "awaiting_human";
    fixture.board.engine.until(&task, reviewed).await?;
    fixture.board.act(&task, "review/approve?wait=none", json!({})).await?;
    fixture.board.engine.until(&task, is("done")).await?;
    fixture.assert_nothing_ran();
    assert_eq!(fixture.main("work").as_deref(), Some("work"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rebase_that_would_run_a_program_is_rejected_and_not_continued() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let ran = fixture.folder.join("ran");
    let todo = format!(
        "printf 'exec touch {}\\n' > \"$(git rev-parse --git-path rebase-merge/git-rebase-todo)\"",
        ran.display()
    );
    let lines = [
        "edit work <<< \"work\\n\"",
        "run git checkout -q -b side HEAD && echo side > both && git add both && git commit -qm side",
        "run git checkout -q - && echo own > both && git add both && git commit -qm own",
        "run git rebase -q side || true",
        "run echo resolved > both && git add both",
        &format!("run {todo}"),
    ];
    let task = fixture.started_task(&lines).await?;
    let stopped = |task: &Value| is("blocked")(task) || task["review"]["status"] == "awaiting_human";
    let now = fixture.board.engine.until(&task, stopped).await?;
    assert_eq!(now["status"], "blocked", "{now:#}");
    assert!(now.to_string().contains("its to-do list contains `exec touch"), "{now:#}");
    fixture.assert_nothing_ran();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_repository_with_planted_programs_runs_none() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let other = fixture.folder.join("other");
    let plant = format!(
        "set -e; git init -q '{0}'; cd '{0}'; echo x > file.evil; git add -A; \
         git -c user.name=A -c user.email=a@b commit -qm first; sh '{1}' .git",
        other.display(),
        fixture.folder.join("plant.sh").display(),
    );
    let made =
        std::process::Command::new("sh").args(["-c", &plant]).envs(forge_testkit::HERMETIC_GIT).status()?;
    assert!(made.success());
    let new = json!({ "name": "Other", "repo_path": other });
    let project = text(&fixture.board.engine.post("/projects", new).await?, "id");
    fixture.board.engine.get(&format!("/projects/{project}")).await?;
    fixture.board.engine.get(&format!("/projects/{project}/trust")).await?;
    fixture.board.engine.get(&format!("/projects/{project}/repository")).await?;
    fixture.assert_nothing_ran();
    Ok(())
}

impl PlantedFixture {
    /// A task that is blocked because its agent changed the configuration harmlessly.
    async fn waiting(&self) -> Result<Value> {
        let lines = ["edit work <<< \"work\\n\"", "run git config alias.shown '!true'"];
        let task = self.started_task(&lines).await?;
        let now = self.board.engine.until(&task, is("blocked")).await?;
        assert_eq!(now["error_annotation"]["type"], "repository_changed", "{now:#}");
        Ok(task)
    }

    async fn assert_accepted(&self, task: &Value) -> Result<()> {
        let reviewed = |task: &Value| task["review"]["status"] == "awaiting_human";
        self.board.engine.until(task, reviewed).await?;
        assert!(holds(&self.git_dir().join("config"), "shown")?);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_configuration_is_accepted_over_http_as_shown() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let task = fixture.waiting().await?;
    let path = format!("/projects/{}/repository", fixture.board.project);
    let shown = fixture.board.engine.get(&path).await?["difference"].clone();
    assert!(
        shown["files"][0]["diff"].as_str().is_some_and(|diff| diff.contains("+alias.shown=!true")),
        "{shown:#}"
    );
    let accept = format!("{path}/accept");
    let (status, refusal) = fixture.board.refuse(&accept, json!({ "digest": "another" })).await?;
    assert_eq!((status, &refusal["code"]), (409, &json!("repository_changed")));
    fixture.board.engine.post(&accept, json!({ "digest": shown["digest"] })).await?;
    fixture.assert_accepted(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_configuration_is_accepted_on_the_command_line_as_shown() -> Result<()> {
    let fixture = PlantedFixture::new().await?;
    let task = fixture.waiting().await?;
    let sandbox = &fixture.board.folder;
    let project = fixture.board.project.as_str();
    fixture.board.engine.serve().await?;
    let shown = sandbox.run(&["project", "repository", project])?;
    assert!(shown.stdout.contains("+alias.shown=!true"), "{shown:?}");
    let path = format!("/projects/{project}/repository");
    let digest = text(&fixture.board.engine.get(&path).await?["difference"], "digest");
    let refused = sandbox.run(&["project", "repository", project, "--accept", "another"])?;
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let accepted = sandbox.run(&["project", "repository", project, "--accept", &digest])?;
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    fixture.assert_accepted(&task).await
}
