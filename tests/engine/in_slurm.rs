//! Tasks whose programs run in jobs of a real cluster of Slurm: where they run, why they wait, how jobs end, and that
//! nothing of a job is left.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::EngineConfig;
use forge_machines_testkit::Cluster;
use forge_testkit::Sandbox;
use serde_json::{Value, json};

use crate::{on_machines::eventually, ssh_server::configuring};

/// The machine of the board.
const CLUSTER: &str = "cluster";

/// A board with a cluster, in whose jobs the project's tasks run.
struct OnCluster {
    // Ends before the cluster does.
    board: Sandbox,
    cluster: Cluster,
}

impl OnCluster {
    /// None where no cluster may be made, which is told.
    async fn new(settings: Value) -> Result<Option<Self>> {
        let Some(on) = Self::without_machine(settings).await? else { return Ok(None) };
        let new = json!({ "name": CLUSTER, "slurm": small(), "root": on.cluster.root() });
        on.board.call("machine_create", new).await?;
        Ok(Some(on))
    }

    async fn without_machine(settings: Value) -> Result<Option<Self>> {
        let Some(cluster) = tokio::task::block_in_place(Cluster::start) else { return Ok(None) };
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("data"))?;
        fs::write(dir.path().join("data/keeper-owner"), cluster.owner())?;
        let mut all = json!({ "machines": [CLUSTER], "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &settings);
        let configure = with_slurm(dir.path(), &cluster)?;
        let board = Sandbox::in_folder(dir, all, configure).await?;
        Ok(Some(Self { board, cluster }))
    }

    /// A task of an agent that runs a script of shell, started.
    async fn begin(&mut self, script: &str, extra: Value) -> Result<Value> {
        let config = json!({ "command": script });
        let agent = json!({ "name": "writer", "adapter": "shell", "config": config, "max_concurrent": 8 });
        let agent = self.board.call("agent_create", agent).await?;
        self.board.agent = agent["id"].as_str().context("no id")?.to_owned();
        let task = self.board.task("Write", &[], extra).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        let runs = self.board.call("task_executions", json!({ "task_id": task["id"] })).await?;
        runs["items"].as_array().cloned().context("no runs")
    }

    /// A file that this computer and the nodes see.
    fn shared(&self, name: &str) -> PathBuf {
        self.cluster.folder.path().join(name)
    }

    async fn until_there(&self, name: &str) -> Result<()> {
        eventually(&format!("{name} is there"), || Ok(self.shared(name).exists())).await
    }

    fn on_main(&self, file: &str) -> Result<String> {
        self.board.repo.git(&["show", &format!("main:{file}")])
    }

    /// The numbers of all jobs that the cluster knows, with their states.
    fn all_jobs(&self) -> Result<Vec<(u64, String)>> {
        let told = self.cluster.slurm(&["squeue", "--noheader", "--states=all", "--format=%A %T"])?;
        let read = |line: &str| {
            let (job, state) = line.trim().split_once(' ')?;
            Some((job.parse().ok()?, state.to_owned()))
        };
        Ok(told.lines().filter_map(read).collect())
    }

    /// The number of the node that the only job runs on.
    fn node(&self) -> Result<u32> {
        let on = self.cluster.slurm(&["squeue", "--noheader", "--states=running", "--format=%N"])?;
        Ok(if on.trim() == self.cluster.node(1) { 1 } else { 2 })
    }

    /// The content of a file in the backups of a task; empty while there is none.
    fn backed_up(&self, task: &Value, file: &str) -> Result<String> {
        let backups = format!("refs/forge/backup/{}", task["id"].as_str().context("an id")?);
        let refs = self.board.repo.git(&["for-each-ref", "--format=%(refname)", &backups])?;
        let found =
            refs.lines().find_map(|kept| self.board.repo.git(&["show", &format!("{kept}:{file}")]).ok());
        Ok(found.unwrap_or_default())
    }

    /// Waits until no job goes on, and no folder of one is there.
    async fn until_nothing_is_left(&self) -> Result<()> {
        let keepers = Path::new(&self.cluster.root()).join("keepers");
        let folders = || fs::read_dir(&keepers).into_iter().flatten().flatten().count();
        eventually("nothing of a job is left", || Ok(self.cluster.jobs()?.is_empty() && folders() == 0)).await
    }

    /// Waits until nothing is left, and takes the cluster away.
    async fn close(self) -> Result<()> {
        self.until_nothing_is_left().await?;
        let Self { board, cluster } = self;
        drop(board);
        cluster.close()
    }
}

/// A job that leaves room for others.
fn small() -> Value {
    json!({ "cpus": 1, "memory_mb": 256 })
}

/// What makes an engine one of a user whose Slurm is that of the test, with a keeper that outlives it.
fn with_slurm(folder: &Path, cluster: &Cluster) -> Result<impl FnOnce(&mut EngineConfig) + use<>> {
    let configure = configuring(folder)?;
    let bin = cluster.programs();
    Ok(move |config: &mut EngineConfig| {
        configure(config);
        let mut variables: BTreeMap<OsString, OsString> = (*config.environment).clone();
        let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
        variables.insert("PATH".into(), path.unwrap_or_default());
        config.environment = Arc::new(variables);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn task_runs_in_one_job_which_is_released_with_its_worktree() -> Result<()> {
    let settings = json!({
        "setup": ["hostname > /dev/shm/forge-set-up-$SLURM_JOB_ID; echo set-up > set-up.log; echo set-up.log >> .gitignore"],
        "review_config": { "ci_steps": ["test -e work.txt && test -e set-up.log && rm /dev/shm/forge-set-up-$SLURM_JOB_ID"] },
    });
    let Some(mut on) = OnCluster::new(settings).await? else { return Ok(()) };
    let test = on.board.call("machine_test", json!({ "machine_id": CLUSTER })).await?;
    assert_eq!(test["ok"], true, "{test:#}");
    let script = "hostname > work.txt; echo \"${FORGE_REPO_PATH-none}\" > repository.txt; \
                  env | grep -c FORGE_TEST_OWN > own.txt; cat \"$FORGE_PROMPT_FILE\" > prompt.txt";
    let task = on.begin(script, json!({})).await?;
    on.board.reach(&task, "done").await?;
    let node = on.on_main("work.txt")?;
    ensure!([1, 2].map(|number| on.cluster.node(number)).contains(&node), "{node}");
    assert_eq!(on.on_main("repository.txt")?, "none", "the user's repository is not there");
    assert_eq!(on.on_main("own.txt")?, "0", "nothing of the environment here reaches a job");
    ensure!(on.on_main("prompt.txt")?.contains("Write"), "the prompt is there");
    on.until_nothing_is_left().await?;
    let jobs = on.all_jobs()?;
    assert_eq!(jobs.len(), 2, "one of the test and one of the task: {jobs:?}");
    on.board.call("machine_delete", json!({ "machine_id": CLUSTER })).await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_whose_job_has_no_place_says_why_and_begins_when_there_is_one() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    let fill = ["sbatch", "--parsable", "--exclusive", "--output=/dev/null", "--wrap=sleep 600"];
    let others = [on.cluster.slurm(&fill)?, on.cluster.slurm(&fill)?];
    eventually("the nodes are taken", || {
        Ok(on.cluster.jobs()?.iter().filter(|(_, state)| state == "RUNNING").count() == 2)
    })
    .await?;
    let task = on.begin("echo work > work.txt", json!({})).await?;
    let waits = on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "job_pending").await?;
    let told = waits["waiting"]["message"].as_str().context("a message")?;
    ensure!(told.starts_with("waits for cluster: ") && told.contains("not free"), "{told}");
    let verbs: Vec<&str> =
        waits["offers"].as_array().into_iter().flatten().filter_map(|offer| offer["verb"].as_str()).collect();
    ensure!(verbs.contains(&"give_up_machine"), "{verbs:?}");
    assert_eq!(on.cluster.jobs()?.len(), 3, "it is submitted once");
    for other in &others {
        on.cluster.slurm(&["scancel", other.trim()])?;
    }
    let done = on.board.reach(&task, "done").await?;
    assert_eq!(done["waiting"], Value::Null);
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_that_is_cancelled_while_its_job_waits_leaves_none() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    on.cluster.slurm(&["scontrol", "update", "PartitionName=main", "State=DOWN"])?;
    let task = on.begin("echo work > work.txt", json!({})).await?;
    let waits = on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "job_pending").await?;
    let told = waits["waiting"]["message"].as_str().context("a message")?;
    ensure!(told.contains("partition is down"), "{told}");
    let refused = on.board.call("machine_delete", json!({ "machine_id": CLUSTER })).await;
    ensure!(refused.is_err(), "a job is there");
    on.board.act(&task, "cancel", json!({ "reason": "so" })).await?;
    on.board.call("workspace_remove", json!({ "task_id": task["id"] })).await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_that_comes_back_goes_on_with_the_run_in_its_job() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    let (there, go) = (on.shared("there"), on.shared("go"));
    let script = format!(
        "echo once >> work.txt; touch {}; until [ -e {} ]; do sleep 0.05; done",
        there.display(),
        go.display()
    );
    let task = on.begin(&script, json!({})).await?;
    on.until_there("there").await?;
    on.board.api.engine().leave().await;
    fs::write(&go, "")?;
    let configure = with_slurm(on.board.dir.path(), &on.cluster)?;
    on.board.restart_with(configure).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(on.on_main("work.txt")?, "once");
    on.until_nothing_is_left().await?;
    assert_eq!(on.all_jobs()?.len(), 1);
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_somebody_cancels_fails_the_run_and_what_it_wrote_is_a_backup() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    let there = on.shared("there");
    let script = format!("echo late > late.txt; touch {}; sleep 1000", there.display());
    let once = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
    let task = on.begin(&script, once).await?;
    on.until_there("there").await?;
    let job = on.cluster.jobs()?.first().context("a job")?.0;
    on.cluster.slurm(&["scancel", &job.to_string()])?;
    on.board.wait(&task, "blocked", |now| now["status"] == "blocked").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!((&runs[0]["status"], &runs[0]["error"]["code"]), (&json!("failed"), &json!("job_cancelled")));
    let told = runs[0]["error"]["message"].as_str().context("a message")?;
    ensure!(told.contains("somebody cancelled it"), "{told}");
    eventually("what it wrote is kept", || Ok(on.backed_up(&task, "late.txt")? == "late")).await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn run_ends_once_when_its_node_failed_and_another_job_is_never_beside_it() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    let copies = on.shared("copies");
    // The first one goes on without end; the second one does the work.
    let script = format!(
        "echo $SLURM_JOB_ID >> {copies}; if [ $(wc -l < {copies}) = 1 ]; then echo late > late.txt; sleep 1000; fi; echo work > work.txt",
        copies = copies.display()
    );
    let task = on.begin(&script, json!({})).await?;
    on.until_there("copies").await?;
    let number = on.node()?;
    on.cluster.kill_slurmd(number)?;
    on.cluster.until_nodes("down*", 1)?;
    on.cluster.kill_clients();
    let is_told = |now: &Value| {
        now["waiting"]["reason"] == "machine_unreachable"
            && now["waiting"]["message"].as_str().is_some_and(|told| told.contains("cannot tell"))
    };
    on.board.wait(&task, "waiting", is_told).await?;
    let is_one = fs::read_to_string(&copies)?.lines().count() == 1;
    ensure!(is_one && on.runs(&task).await?.len() == 1, "nothing begins beside what may go on");
    on.cluster.start_slurmd(number)?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    let codes: Vec<&str> = runs.iter().filter_map(|run| run["error"]["code"].as_str()).collect();
    assert_eq!(codes, ["node_failed"], "{runs:#?}");
    eventually("what it wrote is kept", || Ok(on.backed_up(&task, "late.txt")? == "late")).await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn controller_that_is_down_ends_nothing_and_the_job_is_released_when_it_is_back() -> Result<()> {
    let Some(mut on) = OnCluster::new(json!({})).await? else { return Ok(()) };
    let (there, go) = (on.shared("there"), on.shared("go"));
    let script = format!(
        "echo before; touch {}; until [ -e {} ]; do sleep 0.05; done; echo after; echo work > work.txt",
        there.display(),
        go.display()
    );
    let task = on.begin(&script, json!({})).await?;
    on.until_there("there").await?;
    on.cluster.kill_controller()?;
    ensure!(on.cluster.kill_clients() > 0, "nobody was connected");
    let is_told = |now: &Value| {
        now["waiting"]["reason"] == "machine_unreachable"
            && now["waiting"]["message"].as_str().is_some_and(|told| told.contains("controller"))
    };
    on.board.wait(&task, "waiting", is_told).await?;
    fs::write(&go, "")?;
    on.cluster.start_controller()?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    let log = on.board.call("execution_logs", json!({ "execution_id": runs[0]["id"] })).await?;
    let text = log.to_string();
    ensure!(text.contains("before") && text.contains("after"), "its log is whole: {text}");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_submitted_on_a_login_node_which_keeps_its_name_and_cannot_be_removed() -> Result<()> {
    let Some(mut on) = OnCluster::without_machine(json!({})).await? else { return Ok(()) };
    let login = on.cluster.login();
    let ssh = json!({
        "host": login.ssh.host, "user": login.ssh.user, "identity_file": login.ssh.identity_file,
        "options": login.ssh.options,
    });
    let slurm = |via: &str| json!({ "cpus": 1, "memory_mb": 256, "via": via });
    let root = on.cluster.root();
    let unknown = json!({ "name": CLUSTER, "slurm": slurm("gate"), "root": root });
    let refused = on.board.call("machine_create", unknown.clone()).await;
    ensure!(refused.is_err_and(|error| error.to_string().contains("gate")), "no machine has that name");
    on.board.call("machine_create", json!({ "name": "gate", "ssh": ssh, "root": root })).await?;
    on.board.call("machine_create", unknown).await?;
    on.board.call("machine_update", json!({ "machine_id": "gate", "name": "login" })).await?;
    let cluster = on.board.call("machine_get", json!({ "machine_id": CLUSTER })).await?;
    assert_eq!(cluster["slurm"]["via"], "login");
    let refused = on.board.call("machine_delete", json!({ "machine_id": "login" })).await;
    ensure!(refused.is_err_and(|error| error.to_string().contains(CLUSTER)), "jobs are submitted on it");
    let task = on.begin("hostname > work.txt", json!({})).await?;
    on.board.reach(&task, "done").await?;
    let node = on.on_main("work.txt")?;
    ensure!([1, 2].map(|number| on.cluster.node(number)).contains(&node), "{node}");
    eventually("no job is left", || Ok(on.cluster.jobs()?.is_empty())).await?;
    let OnCluster { board, cluster } = on;
    drop(board);
    cluster.close()
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_is_over_in_a_check_blocks_the_task_instead_of_beginning_again() -> Result<()> {
    let there = format!("/tmp/forge-check-{}", std::process::id());
    let check = format!("touch {there}; sleep 1000");
    let settings = json!({ "review_config": { "ci_steps": [check] } });
    let Some(mut on) = OnCluster::new(settings).await? else { return Ok(()) };
    let task = on.begin("echo work > work.txt", json!({})).await?;
    eventually("the check runs", || Ok(Path::new(&there).exists())).await?;
    fs::remove_file(&there)?;
    let job = on.cluster.jobs()?.first().context("a job")?.0;
    on.cluster.slurm(&["scancel", &job.to_string()])?;
    let blocked = on.board.wait(&task, "blocked", |now| now["status"] == "blocked").await?;
    ensure!(blocked.to_string().contains("somebody cancelled it"), "{blocked:#}");
    on.board.act(&task, "cancel", json!({ "reason": "so" })).await?;
    on.close().await
}
