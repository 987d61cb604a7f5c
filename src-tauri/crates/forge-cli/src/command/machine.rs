//! `forge machine`.

use forge_api::{
    operations::{
        MachineCreate, MachineDelete, MachineGet, MachineHosts, MachineList, MachineTest, MachineUpdate,
        TaskExecutions, WorkspaceList,
    },
    ops::{
        Empty, TaskPath,
        machines::{CreateMachine, DeleteMachine, MachinePath, UpdateMachine},
    },
};
use forge_model::{
    execution::Execution,
    machine::{
        self, MachineCaps, MachineContact, MachineQuota, SshConfig, SshHost,
        container::{ContainerConfig, ContainerEngine, ContainerNetwork},
        kubernetes::KubernetesConfig,
        slurm::SlurmConfig,
    },
    words::{counted, dollars},
};

use crate::{
    answer::Answer,
    args::{EditMachine, Machine},
    at::At,
    error::CliError,
    shown::table,
};

pub(crate) async fn run(at: &At, command: Machine) -> Result<Answer, CliError> {
    let path = |name: String| MachinePath { machine_id: name.into() };
    match command {
        Machine::Add {
            name,
            host,
            user,
            port,
            identity_file,
            option,
            container,
            slurm,
            kubernetes,
            root,
            label,
            max_runs,
            max_runs_per_day,
            max_cost_per_day,
        } => {
            let slurm = slurm.into_config(&container)?;
            let kubernetes = kubernetes.into_config(container.image.as_deref())?;
            let container = match &kubernetes {
                Some(_) => None,
                None => container.into_config(user.clone())?,
            };
            let host = host.unwrap_or_else(|| name.clone());
            let ssh = SshConfig { host, user, port, identity_file, options: option };
            let new = CreateMachine {
                name,
                ssh: (container.is_none() && slurm.is_none() && kubernetes.is_none()).then_some(ssh),
                container,
                slurm,
                kubernetes,
                root,
                labels: Some(label),
                caps: Some(MachineCaps { runs: max_runs }),
                quota: Some(MachineQuota {
                    runs_per_day: max_runs_per_day,
                    micro_usd_per_day: max_cost_per_day,
                }),
            };
            let added = at.call(MachineCreate, new).await?;
            let text = format!("Added {}. Test it with `forge machine test {}`.", added.name, added.name);
            Ok(Answer::new(added.json, text))
        }
        Machine::Edit(change) => edit(at, change).await,
        Machine::List => {
            let page = at.call(MachineList, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = if rows.is_empty() {
                "No machines. Add one with `forge machine add NAME`.".to_owned()
            } else {
                table(&["NAME", "REACHED BY", "LABELS", "RUNS", "CONTACT"], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
        Machine::Hosts => {
            let page = at.call(MachineHosts, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(host_row).collect();
            let text = if rows.is_empty() {
                "The SSH configuration lists no hosts.".to_owned()
            } else {
                table(&["HOST", "LEADS TO", ""], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
        Machine::Show { name } => {
            let machine = at.call(MachineGet, path(name)).await?;
            let lines = present(at, &machine).await?;
            let text = [vec![shown(&machine)], lines].concat().join("\n");
            Ok(Answer::new(machine.json, text))
        }
        Machine::Test { name } => {
            let test = at.call(MachineTest, path(name)).await?;
            let text = steps(&test);
            Ok(Answer { good: test.ok, ..Answer::new(test.json, text) })
        }
        Machine::Drain { name, undo } => {
            let change = UpdateMachine {
                machine_id: name.into(),
                name: None,
                ssh: None,
                container: None,
                slurm: None,
                kubernetes: None,
                root: None,
                labels: None,
                caps: None,
                quota: None,
                draining: Some(!undo),
            };
            let machine = at.call(MachineUpdate, change).await?;
            let text = drained(&machine);
            Ok(Answer::new(machine.json, text))
        }
        Machine::Remove { name, abandon_jobs } => {
            let input =
                DeleteMachine { machine_id: name.clone().into(), abandon_jobs: abandon_jobs.then_some(true) };
            let removed = at.call(MachineDelete, input).await?;
            let text = shown_removed(&name, &removed.jobs_left);
            Ok(Answer::new(removed.json, text))
        }
    }
}

fn shown_removed(name: &str, jobs_left: &[String]) -> String {
    match jobs_left {
        [] => format!("Removed {name}. What is on it stays."),
        left => {
            format!("Removed {name}. Jobs are left on its cluster, delete them there: {}", left.join(", "))
        }
    }
}

/// Changes what is given, and nothing where nothing is.
async fn edit(at: &At, change: EditMachine) -> Result<Answer, CliError> {
    let EditMachine { machine, name, label, no_labels, root, max_runs, max_runs_per_day, max_cost_per_day } =
        change;
    let labels = (no_labels || !label.is_empty()).then_some(label);
    let has_quota = max_runs_per_day.is_some() || max_cost_per_day.is_some();
    if name.is_none() && labels.is_none() && root.is_none() && max_runs.is_none() && !has_quota {
        return Err(CliError::Usage {
            message: "no change was given".to_owned(),
            hint: "`forge machine edit --help` lists what can be changed.",
        });
    }
    let now = at.call(MachineGet, MachinePath { machine_id: machine.into() }).await?.value;
    let quota = MachineQuota {
        runs_per_day: max_runs_per_day.map_or(now.quota.runs_per_day, |limit| limit.0),
        micro_usd_per_day: max_cost_per_day.map_or(now.quota.micro_usd_per_day, |limit| limit.0),
    };
    let change = UpdateMachine {
        machine_id: now.id,
        name,
        ssh: None,
        container: None,
        slurm: None,
        kubernetes: None,
        root,
        labels,
        caps: max_runs.map(|limit| MachineCaps { runs: limit.0 }),
        quota: has_quota.then_some(quota),
        draining: None,
    };
    let changed = at.call(MachineUpdate, change).await?;
    let text = shown(&changed);
    Ok(Answer::new(changed.json, text))
}

fn row(machine: &machine::Machine) -> Vec<String> {
    let labels = machine.labels.join(", ");
    vec![machine.name.clone(), way(machine), labels, load(machine), contact(machine)]
}

fn host_row(host: &SshHost) -> Vec<String> {
    let known = host.machine_id.as_ref().map_or("", |_| "added");
    vec![host.alias.clone(), host.target.clone(), known.to_owned()]
}

/// How a machine is reached.
fn way(machine: &machine::Machine) -> String {
    match (&machine.ssh, &machine.container, &machine.kubernetes) {
        (Some(ssh), _, _) => format!("ssh {}", ssh.destination()),
        (None, Some(container), _) => made_from(container),
        (None, None, Some(kubernetes)) => created_in(kubernetes),
        (None, None, None) => submitted(machine),
    }
}

/// What containers are made by and from.
fn made_from(container: &ContainerConfig) -> String {
    let ContainerConfig { engine, image, containerfile, devcontainer, .. } = container;
    let engine = match engine {
        ContainerEngine::Auto => "container",
        engine => engine.as_str(),
    };
    let from = image.as_ref().or(containerfile.as_ref()).or(devcontainer.as_ref());
    format!("{engine} {}", from.map_or("", String::as_str))
}

/// Where Jobs are created, and with which image.
fn created_in(kubernetes: &KubernetesConfig) -> String {
    let context = kubernetes.context.as_ref().map(|context| format!(" of {context}")).unwrap_or_default();
    format!("kubernetes {}{context}, {}", kubernetes.namespace, kubernetes.image)
}

/// What pods ask for; nothing where nothing is said.
fn pods_ask(kubernetes: &KubernetesConfig) -> Vec<String> {
    let resources = kubernetes.resources.iter().map(|(name, amount)| format!("{name} {amount}"));
    let resources: Vec<String> = resources.collect();
    let line = |title: &str, text: String| format!("{title:<10}{text}");
    let lines = [
        kubernetes.kubeconfig.as_ref().map(|file| line("kubectl", file.clone())),
        kubernetes.service_account.as_ref().map(|account| line("account", account.clone())),
        (!resources.is_empty()).then(|| line("pods", resources.join(", "))),
        (!kubernetes.tolerations.is_empty()).then(|| line("tolerate", kubernetes.tolerations.join(", "))),
    ];
    lines.into_iter().flatten().collect()
}

/// Where jobs are submitted.
fn submitted(machine: &machine::Machine) -> String {
    let via = machine.slurm.as_ref().and_then(|slurm| slurm.via.as_ref());
    via.map_or_else(|| machine.kind.to_string(), |via| format!("{} via {via}", machine.kind))
}

/// What jobs ask for; nothing where nothing is said.
fn asks(slurm: &SlurmConfig) -> Vec<String> {
    let SlurmConfig { partition, account, time_minutes, cpus, memory_mb, gres, via: _ } = slurm;
    let asks = [
        partition.as_ref().map(|name| format!("partition {name}")),
        account.as_ref().map(|name| format!("account {name}")),
        time_minutes.map(|minutes| counted(minutes.into(), "minute", "minutes")),
        cpus.map(|cpus| counted(cpus.into(), "processor", "processors")),
        memory_mb.map(|mb| format!("{mb} MiB of memory")),
        gres.clone(),
    ];
    let asks: Vec<String> = asks.into_iter().flatten().collect();
    (!asks.is_empty()).then(|| format!("jobs      {}", asks.join(", "))).into_iter().collect()
}

/// What containers may use and reach; nothing where nothing is said.
fn limits(container: &ContainerConfig) -> Vec<String> {
    let mut lines = Vec::new();
    if container.network != ContainerNetwork::Default {
        lines.push(format!("network   {}", container.network));
    }
    let limits = [
        container.memory_mb.map(|mb| format!("{mb} MiB of memory")),
        container.cpus.map(|cpus| format!("{cpus} processors")),
        container.pids.map(|pids| format!("{pids} processes")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        lines.push(format!("limits    {}", limits.join(", ")));
    }
    lines.extend(container.mounts.iter().map(|mount| {
        let read_only = if mount.read_only { " (read-only)" } else { "" };
        format!("mount     {} at {}{read_only}", mount.source, mount.target)
    }));
    lines.extend(container.user.iter().map(|user| format!("user      {user}")));
    lines
}

fn contact(machine: &machine::Machine) -> String {
    match (machine.contact, &machine.contact_error) {
        (MachineContact::Unreachable, Some(fault)) => format!("unreachable: {}", fault.message),
        (contact, _) => contact.to_string(),
    }
}

fn shown(machine: &machine::Machine) -> String {
    let mut lines = vec![
        format!("name      {}", machine.name),
        format!("by        {}", way(machine)),
        format!("folder    {}", machine.root),
        format!("contact   {}", contact(machine)),
    ];
    lines.extend(machine.container.iter().flat_map(limits));
    lines.extend(machine.slurm.iter().flat_map(asks));
    lines.extend(machine.kubernetes.iter().flat_map(pods_ask));
    if !machine.labels.is_empty() {
        lines.push(format!("labels    {}", machine.labels.join(", ")));
    }
    lines.push(format!("runs      {}", load(machine)));
    lines.extend(quota(machine).map(|quota| format!("a day     {quota}")));
    lines.push(format!("tasks     {}", machine.tasks));
    lines.join("\n")
}

/// How much runs on a machine, of what may.
fn load(machine: &machine::Machine) -> String {
    let cap = machine.caps.runs.map(|cap| format!(" of {cap}")).unwrap_or_default();
    let draining = if machine.draining { " (draining)" } else { "" };
    format!("{}{cap}{draining}", machine.runs)
}

/// What may run on a machine on one day.
fn quota(machine: &machine::Machine) -> Option<String> {
    let MachineQuota { runs_per_day, micro_usd_per_day } = &machine.quota;
    let runs = runs_per_day.map(|most| counted(most.into(), "run", "runs"));
    let cost = micro_usd_per_day.map(|most| format!("{} before the next run waits", dollars(most)));
    let quota: Vec<String> = runs.into_iter().chain(cost).collect();
    (!quota.is_empty()).then(|| format!("at most {}", quota.join(", and ")))
}

fn drained(machine: &machine::Machine) -> String {
    let name = &machine.name;
    if machine.draining {
        let runs = counted(machine.runs.into(), "run", "runs");
        format!("Nothing new starts on {name}. {runs} and {} are there.", tasks(machine))
    } else {
        format!("Tasks may start on {name} again.")
    }
}

fn tasks(machine: &machine::Machine) -> String {
    counted(machine.tasks.into(), "task", "tasks")
}

/// The tasks whose worktree is on a machine, each with the runs that are open there.
async fn present(at: &At, machine: &machine::Machine) -> Result<Vec<String>, CliError> {
    if machine.tasks == 0 {
        return Ok(Vec::new());
    }
    let all = at.call(WorkspaceList, Empty {}).await?;
    let mut lines = Vec::new();
    for space in all.items.iter().filter(|it| it.workspace.machine_id.as_ref() == Some(&machine.id)) {
        lines.push(format!("task      #{} {} ({})", space.task_number, space.task_title, space.task_status));
        let path = TaskPath { task_id: space.workspace.task_id.clone() };
        let runs = at.call(TaskExecutions, path).await?;
        let open = |it: &&Execution| it.machine_id.as_ref() == Some(&machine.id) && it.finished_at.is_none();
        let line = |it: &Execution| format!("run       {} ({}), since {}", it.id, it.role, it.started_at);
        lines.extend(runs.items.iter().filter(open).map(line));
    }
    Ok(lines)
}

fn steps(test: &machine::MachineTest) -> String {
    let line = |step: &machine::MachineTestStep| {
        let mark = if step.ok { "ok  " } else { "BAD " };
        let remedy = step.remedy.as_ref().map(|remedy| format!("\n     {remedy}")).unwrap_or_default();
        format!("{mark} {}: {}{remedy}", step.name, step.message)
    };
    test.steps.iter().map(line).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    #[test]
    fn load_is_told_with_its_cap_and_draining() {
        assert_eq!(load(&sample::machine(json!({ "runs": 2 }))), "2");
        let busy = sample::machine(json!({ "runs": 2, "tasks": 1, "caps": { "runs": 4 }, "draining": true }));
        assert_eq!(load(&busy), "2 of 4 (draining)");
        assert_eq!(drained(&busy), "Nothing new starts on box. 2 runs and 1 task are there.");
        assert_eq!(drained(&sample::machine(json!({}))), "Tasks may start on box again.");
    }

    #[test]
    fn jobs_that_are_left_are_named() {
        assert_eq!(shown_removed("pods", &[]), "Removed pods. What is on it stays.");
        let told = shown_removed("pods", &["forge-a".to_owned(), "forge-b".to_owned()]);
        assert_eq!(told, "Removed pods. Jobs are left on its cluster, delete them there: forge-a, forge-b");
    }

    #[test]
    fn quota_of_a_day_is_told_where_there_is_one() {
        assert_eq!(quota(&sample::machine(json!({}))), None);
        let both = json!({ "quota": { "runs_per_day": 1, "micro_usd_per_day": 12_500_000 } });
        let told = quota(&sample::machine(both));
        assert_eq!(told.as_deref(), Some("at most 1 run, and $12.50 before the next run waits"));
    }

    #[test]
    fn machine_of_containers_is_told_with_its_image_and_limits() {
        let container = json!({ "image": "debian:12", "engine": "podman", "network": "none", "memory_mb": 512,
            "mounts": [{ "source": "/a", "target": "/b" }] });
        let machine = sample::machine(json!({ "kind": "container", "ssh": null, "container": container }));
        assert_eq!(way(&machine), "podman debian:12");
        let shown = shown(&machine);
        for line in ["network   none", "limits    512 MiB of memory", "mount     /a at /b (read-only)"] {
            assert!(shown.contains(line), "{shown}");
        }
        assert_eq!(way(&sample::machine(json!({}))), "ssh box.example");
    }

    #[test]
    fn cluster_is_told_with_its_login_node_and_what_jobs_ask_for() {
        let slurm =
            json!({ "via": "login", "partition": "gpu", "time_minutes": 90, "cpus": 1, "gres": "gpu:1" });
        let machine = sample::machine(json!({ "kind": "slurm", "ssh": null, "slurm": slurm }));
        assert_eq!(way(&machine), "slurm via login");
        let shown = shown(&machine);
        assert!(shown.contains("jobs      partition gpu, 90 minutes, 1 processor, gpu:1"), "{shown}");
    }

    #[test]
    fn namespace_is_told_with_its_context_and_what_pods_ask_for() {
        let kubernetes = json!({ "namespace": "agents", "image": "agent:1", "context": "prod",
            "resources": { "memory": "2Gi", "cpu": "500m" }, "tolerations": ["gpu:NoSchedule"] });
        let machine = sample::machine(json!({ "kind": "kubernetes", "ssh": null, "kubernetes": kubernetes }));
        assert_eq!(way(&machine), "kubernetes agents of prod, agent:1");
        let shown = shown(&machine);
        for line in ["pods      cpu 500m, memory 2Gi", "tolerate  gpu:NoSchedule"] {
            assert!(shown.contains(line), "{shown}");
        }
    }

    #[test]
    fn a_step_that_fails_tells_its_remedy() {
        let test = serde_json::from_value(json!({ "ok": false, "steps": [
            { "name": "reach", "ok": true, "message": "box answers", "remedy": null },
            { "name": "git", "ok": false, "message": "git is missing", "remedy": "Install git there." },
        ] }));
        assert_eq!(
            steps(&test.unwrap()),
            "ok   reach: box answers\nBAD  git: git is missing\n     Install git there."
        );
    }
}
