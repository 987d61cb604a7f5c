//! `forge machine`.

use forge_api::{
    operations::{MachineCreate, MachineDelete, MachineGet, MachineHosts, MachineList, MachineTest},
    ops::{
        Empty,
        machines::{CreateMachine, MachinePath},
    },
};
use forge_model::machine::{self, MachineCaps, MachineContact, SshConfig, SshHost};

use crate::{answer::Answer, args::Machine, at::At, error::CliError, shown::table};

pub(crate) async fn run(at: &At, command: Machine) -> Result<Answer, CliError> {
    let path = |name: String| MachinePath { machine_id: name.into() };
    match command {
        Machine::Add { name, host, user, port, identity_file, option, root, label, max_runs } => {
            let host = host.unwrap_or_else(|| name.clone());
            let new = CreateMachine {
                name,
                ssh: SshConfig { host, user, port, identity_file, options: option },
                root,
                labels: Some(label),
                caps: Some(MachineCaps { runs: max_runs }),
            };
            let added = at.call(MachineCreate, new).await?;
            let text = format!("Added {}. Test it with `forge machine test {}`.", added.name, added.name);
            Ok(Answer::new(added.json, text))
        }
        Machine::List => {
            let page = at.call(MachineList, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = if rows.is_empty() {
                "No machines. Add one with `forge machine add NAME`.".to_owned()
            } else {
                table(&["NAME", "HOST", "LABELS", "CONTACT"], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
        Machine::Hosts => {
            let page = at.call(MachineHosts, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(host_row).collect();
            let text = if rows.is_empty() {
                "The SSH configuration names no hosts.".to_owned()
            } else {
                table(&["HOST", "LEADS TO", ""], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
        Machine::Show { name } => {
            let machine = at.call(MachineGet, path(name)).await?;
            let text = shown(&machine);
            Ok(Answer::new(machine.json, text))
        }
        Machine::Test { name } => {
            let test = at.call(MachineTest, path(name)).await?;
            let text = steps(&test);
            Ok(Answer { good: test.ok, ..Answer::new(test.json, text) })
        }
        Machine::Remove { name } => {
            let done = at.call(MachineDelete, path(name.clone())).await?;
            Ok(Answer::new(done.json, format!("Removed {name}. What is on it stays.")))
        }
    }
}

fn row(machine: &machine::Machine) -> Vec<String> {
    vec![machine.name.clone(), target(&machine.ssh), machine.labels.join(", "), contact(machine)]
}

fn host_row(host: &SshHost) -> Vec<String> {
    let known = host.machine_id.as_ref().map_or("", |_| "added");
    vec![host.alias.clone(), host.target.clone(), known.to_owned()]
}

fn target(ssh: &SshConfig) -> String {
    let user = ssh.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let port = ssh.port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{user}{}{port}", ssh.host)
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
        format!("ssh       {}", target(&machine.ssh)),
        format!("folder    {}", machine.root),
        format!("contact   {}", contact(machine)),
    ];
    if !machine.labels.is_empty() {
        lines.push(format!("labels    {}", machine.labels.join(", ")));
    }
    if let Some(runs) = machine.caps.runs {
        lines.push(format!("runs      {runs} at most"));
    }
    lines.join("\n")
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
