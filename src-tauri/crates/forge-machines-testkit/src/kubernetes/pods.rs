//! Pods: a first process with processes, mounts and a name of its own, which sees an empty folder where its volume is.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{ENDS_WITHIN, LOOKS_EVERY};

/// Starts the first process of a pod with the command of its container.
pub(super) fn start(folder: &Path, name: &str, spec: &Value) -> Result<Child> {
    let pod = folder.join("pods").join(name);
    let (volume, ready) = (pod.join("volume"), pod.join("ready"));
    fs::create_dir_all(&volume)?;
    let container = &spec["containers"][0];
    let at = container["volumeMounts"][0]["mountPath"].as_str().context("no volume")?;
    let command = container["command"].as_array().context("no command")?;
    let command: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
    // A folder of the test's own stands for that of the pod.
    ensure!(Path::new(at).starts_with(folder), "{at} is not in the folder of the test");
    let script = "hostname \"$1\" && mount --bind \"$2\" \"$3\" && touch \"$4\" && shift 4 && exec \"$@\"";
    let mut first = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--mount", "sh", "-c", script])
        .args(["forge-pod", name])
        .args([volume.as_path(), Path::new(at), ready.as_path()])
        .args(command)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Instant::now();
    while !ready.exists() {
        ensure!(
            first.try_wait()?.is_none() && begun.elapsed() < ENDS_WITHIN,
            "the pod {name} does not start"
        );
        std::thread::sleep(LOOKS_EVERY / 10);
    }
    fs::write(pod.join("pid"), first_of(&first)?.to_string())?;
    Ok(first)
}

/// The first process of a pod as this computer numbers it.
pub(super) fn first_of(outer: &Child) -> Result<u32> {
    let outer = outer.id();
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"))?;
    children.split_whitespace().next().and_then(|pid| pid.parse().ok()).context("no first process")
}

/// Ends everything in a pod at once.
pub(super) fn end(first: &mut Option<Child>) {
    if let Some(mut first) = first.take() {
        let _ = first.kill();
        let _ = first.wait();
    }
}
