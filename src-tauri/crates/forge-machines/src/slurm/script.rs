//! What a job and its steps run.

use crate::{KeeperProgram, quote, shell};

/// What a step runs first, as one argument: steps have no environment of a user, and then a shell that is told by its
/// input what to do.
pub(super) const STEP: &str = "PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}; u=$(id -u); \
    HOME=${HOME:-$(getent passwd $u | cut -d: -f6)}; SHELL=${SHELL:-$(getent passwd $u | cut -d: -f7)}; \
    USER=${USER:-$(id -un)}; LOGNAME=$USER; export PATH HOME SHELL USER LOGNAME; exec /bin/sh";

/// Sets `d` to the folder of a job's keeper and `j` to that of its pipes. `r` is set.
fn folders(keeper: &str) -> String {
    format!("d=$r/keepers/{}\nj=$d/job\n", quote(keeper))
}

/// The script of a job: it starts the keeper whenever a step asks for that, and is there for as long as nobody cancels
/// the job. A keeper that a step started would end with the step.
pub(super) fn job(root: &str, keeper: &str) -> String {
    let (root, folders) = (shell::root(root), folders(keeper));
    format!(
        r#"#!/bin/sh
[ -n "$HOME" ] || HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
export HOME
{root}umask 077
{folders}mkdir -p "$j" || exit 3
for p in begin ready; do
[ -p "$j/$p" ] || mkfifo "$j/$p" 2>/dev/null || [ -p "$j/$p" ] || exit 3
done
exec 3<>"$j/begin"
while read -r k <&3; do
( exec "$k" serve "$d" </dev/null >"$j/ready" 2>>"$d/keeper.log" 3<&- ) &
done
"#
    )
}

/// What the shell of a session does: it puts the keeper there, has the job start it, and becomes the relay.
pub(super) fn begin(root: &str, keeper: &str, keepers: &[KeeperProgram]) -> String {
    let (put, folders) = (shell::put(root, keepers), folders(keeper));
    // Each pipe may be made before the job itself has come so far.
    format!(
        r#"{{
{put}{folders}e=$(mkdir -p "$j" 2>&1) || fail "$e"
for p in begin ready; do
[ -p "$j/$p" ] || mkfifo "$j/$p" 2>/dev/null || [ -p "$j/$p" ] || fail "no named pipe can be made there"
done
exec 4<>"$j/begin"
printf '%s\n' "$k" >&4
read -r w <"$j/ready" || fail "the keeper does not start in the job"
exec 4>&-
exec "$k" attach "$d"
}}
"#
    )
}

/// Prints the environment of the user's login, without what describes the step that prints it.
pub(super) fn environment(fence: &str) -> String {
    let environment = shell::environment(fence);
    format!(
        r#"{{
for v in $(/usr/bin/env | sed -n 's/^\(SLURM[A-Z]*_[A-Za-z_]*\)=.*/\1/p'); do
case $v in SLURM_CONF|SLURM_JOB_ID|SLURM_CLUSTER_NAME) ;; *) unset "$v";; esac
done
{environment}}}
"#
    )
}

/// Tells how often the kernel killed something in the job for its memory: by cgroups of version 2, or 1.
pub(super) const MEMORY_KILLS: &str = r#"{
n=0
for b in /sys/fs/cgroup /sys/fs/cgroup/memory; do
for w in $(sed -n 's/^[0-9]*:\(memory\)\{0,1\}:\(.*\)/\2/p' /proc/self/cgroup); do
d=$b$w
while :; do case ${d##*/} in job_*) break;; '') d=; break;; esac; d=${d%/*}; done
[ -n "$d" ] && [ -d "$d" ] || continue
if [ -r "$d/memory.events" ]; then
x=$(sed -n 's/^oom_kill //p' "$d/memory.events"); n=$((n + ${x:-0}))
else
for f in $(find "$d" -name memory.oom_control); do
x=$(sed -n 's/^oom_kill //p' "$f" 2>/dev/null); n=$((n + ${x:-0}))
done
fi
printf 'forge: oom_kill %s\n' "$n"
exit 0
done
done
:
}
"#;

/// Tells whether a job's folder is there: `seen`, `gone`, or `hidden` with its path where the folder of all jobs is not seen
/// either.
pub(super) fn seen(root: &str, keeper: &str) -> String {
    let (root, folders) = (shell::root(root), folders(keeper));
    let mark = shell::MARK;
    format!(
        "{{\n{root}{folders}if [ -d \"$d\" ]; then printf '{mark}seen\\n'; elif [ -d \"$r/keepers\" ]; then printf '{mark}gone\\n'; \
         else printf '{mark}hidden %s\\n' \"$d\"; fi\n}}\n"
    )
}

/// Removes a job's folder, once nothing of it is needed.
pub(super) fn remove(root: &str, keeper: &str) -> String {
    let (root, folders) = (shell::root(root), folders(keeper));
    format!("{{\n{root}{folders}rm -rf \"$d\"\n}}\n")
}
