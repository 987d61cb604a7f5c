//! Tasks whose programs run in Jobs of Kubernetes: where they run, why they wait, how Jobs end, and that nothing of a Job is
//! left. The server is one that gives the answers of a real one; no real cluster was tried.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::EngineConfig;
use forge_machines_testkit::{Answers, FakeKubernetes, NAMESPACE, PodEnd, Pods};
use forge_testkit::Sandbox;
use serde_json::{Value, json};

use crate::{on_machines::eventually, ssh_server::configuring};

/// The machine of the board.
const CLUSTER: &str = "pods";

/// A board with a namespace of Kubernetes, in whose Jobs the project's tasks run.
struct InKubernetes {
    // Ends before the server does.
    board: Sandbox,
    cluster: FakeKubernetes,
}

impl InKubernetes {
    /// None where no pods may be made, which is told.
    async fn new(settings: Value) -> Result<Option<Self>> {
        let Some(cluster) = FakeKubernetes::start() else { return Ok(None) };
        let dir = tempfile::tempdir()?;
        let mut all = json!({ "machines": [CLUSTER], "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &settings);
        let configure = with_kubectl(dir.path(), &cluster)?;
        let board = Sandbox::in_folder(dir, all, configure).await?;
        let kubernetes = json!({
            "context": "here", "kubeconfig": cluster.kubeconfig(), "namespace": NAMESPACE,
            "image": "registry.example/agent:1", "resources": { "cpu": "500m", "memory": "1Gi" },
        });
        let new = json!({ "name": CLUSTER, "kubernetes": kubernetes, "root": cluster.root() });
        board.call("machine_create", new).await?;
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

    /// A file that this computer and the pods see.
    fn shared(&self, name: &str) -> PathBuf {
        self.cluster.folder.path().join(name)
    }

    async fn until_there(&self, name: &str) -> Result<()> {
        eventually(&format!("{name} is there"), || Ok(self.shared(name).exists())).await
    }

    fn on_main(&self, file: &str) -> Result<String> {
        self.board.repo.git(&["show", &format!("main:{file}")])
    }

    /// Waits until nothing is left, and takes the server away.
    async fn close(self) -> Result<()> {
        eventually("no Job is left", || Ok(self.cluster.jobs().is_empty())).await?;
        let Self { board, cluster } = self;
        drop(board);
        cluster.close()
    }
}

/// What makes an engine one of a user whose `kubectl` is that of the test, with a keeper that can be sent.
fn with_kubectl(folder: &Path, cluster: &FakeKubernetes) -> Result<impl FnOnce(&mut EngineConfig) + use<>> {
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
async fn task_runs_in_one_job_which_is_deleted_with_its_worktree() -> Result<()> {
    let settings = json!({
        "setup": ["echo set-up > set-up.log; echo set-up.log >> .gitignore"],
        "review_config": { "ci_steps": ["test -e work.txt && test -e set-up.log && hostname | grep forge-"] },
    });
    let Some(mut on) = InKubernetes::new(settings).await? else { return Ok(()) };
    let test = on.board.call("machine_test", json!({ "machine_id": CLUSTER })).await?;
    assert_eq!(test["ok"], true, "{test:#}");
    let script = "hostname > work.txt; echo \"${FORGE_REPO_PATH-none}\" > repository.txt; \
                  cat \"$FORGE_PROMPT_FILE\" > prompt.txt";
    let task = on.begin(script, json!({})).await?;
    on.board.reach(&task, "done").await?;
    ensure!(on.on_main("work.txt")?.starts_with("forge-"), "it ran in a pod");
    assert_eq!(on.on_main("repository.txt")?, "none", "the user's repository is not there");
    ensure!(on.on_main("prompt.txt")?.contains("Write"), "the prompt is there");
    eventually("no Job is left", || Ok(on.cluster.jobs().is_empty())).await?;
    assert_eq!(on.cluster.created(), 2, "one of the test and one of the task");
    let sent = on.cluster.sent();
    ensure!(sent.contains(task["id"].as_str().context("an id")?), "the Job says whose it is");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_whose_job_no_node_takes_says_why_and_leaves_none_when_it_is_cancelled() -> Result<()> {
    let Some(mut on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    let message = "0/2 nodes are available: 2 node(s) had untolerated taint {gpu: yes}. preemption: none";
    let condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
    on.cluster.pods(Pods::Wait(json!({ "phase": "Pending", "conditions": [condition] })))?;
    let task = on.begin("echo work > work.txt", json!({})).await?;
    let waits = on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "job_pending").await?;
    let told = waits["waiting"]["message"].as_str().context("a message")?;
    ensure!(
        told.starts_with("waits for pods: ") && told.contains("taints that it does not tolerate"),
        "{told}"
    );
    let refused = on.board.call("machine_delete", json!({ "machine_id": CLUSTER })).await;
    ensure!(refused.is_err_and(|error| error.to_string().contains("forge-")), "a Job is there");
    let elsewhere = json!({ "namespace": "other", "image": "a:1" });
    let elsewhere = json!({ "machine_id": CLUSTER, "kubernetes": elsewhere });
    ensure!(on.board.call("machine_update", elsewhere).await.is_err(), "nobody would delete it there");
    assert_eq!(on.cluster.created(), 1, "it is created once");
    on.board.act(&task, "cancel", json!({ "reason": "so" })).await?;
    on.board.call("workspace_remove", json!({ "task_id": task["id"] })).await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_that_takes_too_much_memory_blocks_the_task_and_the_next_run_begins_in_another_job() -> Result<()>
{
    let Some(mut on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    let there = on.shared("there");
    // The first one goes on without end; the second one does the work.
    let script = format!(
        "if [ ! -e {there} ]; then touch {there}; sleep 1000; fi; hostname > work.txt",
        there = there.display()
    );
    let task = on.begin(&script, json!({})).await?;
    on.until_there("there").await?;
    let terminated = json!({ "terminated": { "reason": "OOMKilled", "exitCode": 137 } });
    let status = json!({ "containerStatuses": [{ "name": "forge", "state": terminated }] });
    on.cluster.end_pods(&PodEnd::Failed(status));
    on.board.wait(&task, "blocked", |now| now["status"] == "blocked").await?;
    on.board.act(&task, "retry", json!({})).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    let codes: Vec<&str> = runs.iter().filter_map(|run| run["error"]["code"].as_str()).collect();
    assert_eq!((runs.len(), codes), (2, vec!["out_of_memory"]), "{runs:#?}");
    let told = runs.iter().find_map(|run| run["error"]["message"].as_str()).context("a message")?;
    ensure!(told.contains("killed at its memory limit of 1Gi"), "{told}");
    eventually("no Job is left", || Ok(on.cluster.jobs().is_empty())).await?;
    assert_eq!(on.cluster.created(), 2);
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_down_ends_nothing_and_the_job_is_deleted_when_it_is_back() -> Result<()> {
    let Some(mut on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    let (there, go) = (on.shared("there"), on.shared("go"));
    let script = format!(
        "echo before; touch {}; until [ -e {} ]; do sleep 0.05; done; echo after; echo work > work.txt",
        there.display(),
        go.display()
    );
    let task = on.begin(&script, json!({})).await?;
    on.until_there("there").await?;
    on.cluster.down();
    let is_told = |now: &Value| {
        now["waiting"]["reason"] == "machine_unreachable"
            && now["waiting"]["message"].as_str().is_some_and(|told| told.contains("API server"))
    };
    on.board.wait(&task, "waiting", is_told).await?;
    fs::write(&go, "")?;
    on.cluster.up()?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!((runs.len(), on.cluster.created()), (1, 1), "{runs:#?}");
    let log = on.board.call("execution_logs", json!({ "execution_id": runs[0]["id"] })).await?;
    let text = log.to_string();
    ensure!(text.contains("before") && text.contains("after"), "its log is whole: {text}");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_that_ended_before_it_heard_of_its_job_goes_on_in_that_one() -> Result<()> {
    let Some(mut on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    on.cluster.answer(Answers::Mute);
    let task = on.begin("hostname >> work.txt", json!({})).await?;
    eventually("the Job is created", || Ok(on.cluster.created() == 1)).await?;
    on.board.api.engine().leave().await;
    on.cluster.answer(Answers::Well);
    let configure = with_kubectl(on.board.dir.path(), &on.cluster)?;
    on.board.restart_with(configure).await?;
    on.board.reach(&task, "done").await?;
    assert_eq!((on.cluster.created(), on.runs(&task).await?.len()), (1, 1));
    assert_eq!(on.on_main("work.txt")?.lines().count(), 1);
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_that_is_gone_is_removed_with_its_jobs_named_when_they_are_abandoned() -> Result<()> {
    let Some(mut on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    on.cluster.pods(Pods::Wait(json!({ "phase": "Pending" })))?;
    let task = on.begin("echo work > work.txt", json!({})).await?;
    on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "job_pending").await?;
    on.cluster.down();
    let local = json!({ "project_id": on.board.project, "machines": [] });
    on.board.call("project_settings_update", local).await?;
    on.board.act(&task, "give_up_machine", json!({})).await?;
    on.board.reach(&task, "done").await?;
    let refused = on.board.call("machine_delete", json!({ "machine_id": CLUSTER })).await;
    ensure!(refused.is_err_and(|error| error.to_string().contains("forge-")), "a Job is there");
    let left = json!({ "machine_id": CLUSTER, "abandon_jobs": true });
    let removed = on.board.call("machine_delete", left).await?;
    assert_eq!(removed["jobs_left"], json!(on.cluster.jobs()));
    on.cluster.up()?;
    assert_eq!(on.cluster.jobs().len(), 1, "it is let be");
    on.cluster.delete_jobs();
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_without_a_context_gets_the_current_one_and_is_refused_where_there_is_none() -> Result<()> {
    let Some(on) = InKubernetes::new(json!({})).await? else { return Ok(()) };
    let file = on.cluster.kubeconfig();
    let kubernetes = json!({ "kubeconfig": file, "namespace": NAMESPACE, "image": "a:1" });
    let new = json!({ "name": "second", "kubernetes": kubernetes, "root": on.cluster.root() });
    let made = on.board.call("machine_create", new).await?;
    assert_eq!(made["kubernetes"]["context"], "other");
    let without = fs::read_to_string(&file)?.replace("current-context: other\n", "");
    fs::write(&file, without)?;
    let new = json!({ "name": "third", "kubernetes": kubernetes, "root": on.cluster.root() });
    let refused = on.board.call("machine_create", new).await.err().context("it was not refused")?;
    ensure!(refused.to_string().contains("kubernetes.context"), "{refused}");
    on.close().await
}
