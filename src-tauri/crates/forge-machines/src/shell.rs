//! What is run there by the shell: it is written to its input, so that the user's own shell need not be a POSIX one, and
//! nothing of it stands in an argument.
//!
//! Each script is one compound command. A shell reads all of it before it does anything, so that what follows on its
//! input is left to the programs that it starts.

use std::path::Path;

use crate::{KeeperProgram, quote};

/// Begins each line that is meant for here. Profiles print, too.
pub(crate) const MARK: &str = "forge: ";

/// Sets `r` to the folder there that holds everything of Forge.
pub(crate) fn root(root: &str) -> String {
    format!(
        "r={}\ncase $r in '~') r=$HOME;; '~/'*) r=$HOME/${{r#'~/'}};; /*) ;; *) r=$HOME/$r;; esac\n",
        quote(root)
    )
}

/// Puts the keeper there when it is missing or not whole, and becomes the relay.
pub(crate) fn begin(root_there: &str, owner: &str, keepers: &[KeeperProgram]) -> String {
    let (put, owner) = (put(root_there, keepers), quote(owner));
    format!("{{\n{put}exec \"$k\" relay \"$r/keepers/\"{owner}\n}}\n")
}

/// Puts the keeper there when it is missing or not whole: sets `k`, beside `r`.
///
/// It says `need HASH` when it waits for the program, `failed WHY`, `other KIND` when there is none for this kind of
/// machine, and `damaged` when what arrived is not what was sent.
pub(crate) fn put(root_there: &str, keepers: &[KeeperProgram]) -> String {
    let mut known = String::new();
    for keeper in keepers {
        let (kind, hash, size) = (keeper.architecture(), keeper.hash(), keeper.size());
        known.push_str(&format!("Linux-{kind}) h={hash}; n={size};;\n"));
    }
    let root = root(root_there);
    format!(
        r#"{root}umask 077
fail() {{ printf '{MARK}failed %s\n' "$(printf '%s' "$*" | tr '\n' ' ')"; exit 3; }}
whole() {{
[ -f "$1" ] || return 1
if command -v sha256sum >/dev/null 2>&1; then s=$(sha256sum <"$1"); [ "${{s%% *}}" = "$h" ]
else [ "$(wc -c <"$1")" -eq "$n" ]; fi
}}
case $(uname -s)-$(uname -m) in
{known}*) printf '{MARK}other %s\n' "$(uname -s -m)"; exit 3;;
esac
d=$r/bin/$h
k=$d/forge-keeper
if ! whole "$k"; then
e=$(mkdir -p "$d" 2>&1) || fail "$e"
t=$d/.new.$$
printf '{MARK}need %s\n' "$h"
e=$({{ head -c "$n" >"$t"; }} 2>&1) || {{ rm -f "$t"; fail "$e"; }}
whole "$t" || {{ rm -f "$t"; printf '{MARK}damaged\n'; exit 3; }}
e=$(chmod 700 "$t" 2>&1 && mv -f "$t" "$k" 2>&1) || {{ rm -f "$t"; fail "$e"; }}
fi
[ -x "$k" ] || fail "no program may run from this folder"
"#
    )
}

/// Which keeper of a folder that is seen there runs on this kind of machine: sets `k`.
fn seen(keepers: &[KeeperProgram], folder: &Path, name: &str) -> String {
    let folder = folder.display();
    // The image was looked at: there is one for its kind. One for another kind does not run.
    keepers.iter().fold(String::new(), |text, keeper| {
        let at = format!("{folder}/{}/{name}", keeper.hash());
        text + &format!("[ -n \"$k\" ] || {{ k={at}; \"$k\" environment >/dev/null 2>&1 || k=; }}\n")
    })
}

/// Becomes the relay, where the keeper's program is seen in a folder. No other program is needed for that.
pub(crate) fn begin_seen(
    root_there: &str,
    owner: &str,
    keepers: &[KeeperProgram],
    folder: &Path,
    name: &str,
) -> String {
    let owner = quote(owner);
    let (root, seen) = (root(root_there), seen(keepers, folder, name));
    format!(
        r#"{{
{root}umask 077
k=
{seen}[ -n "$k" ] || {{ printf '{MARK}failed the program of the keeper cannot be run there\n'; exit 3; }}
exec "$k" relay "$r/keepers/"{owner}
}}
"#
    )
}

/// Prints the environment that the container has, and that of the user's login in it, each between marks.
pub(crate) fn environment_seen(fence: &str, keepers: &[KeeperProgram], folder: &Path, name: &str) -> String {
    let seen = seen(keepers, folder, name);
    format!(
        r#"{{
k=
{seen}export FORGE_KEEPER_THERE="$k"
printf %s {fence}; (unset FORGE_KEEPER_THERE; exec "$k" environment); printf %s {fence}
"${{SHELL:-/bin/sh}}" -lc 'k=$FORGE_KEEPER_THERE; unset FORGE_KEEPER_THERE; printf %s {fence}; "$k" environment; printf %s {fence}' </dev/null
:
}}
"#
    )
}

/// Tells how often the kernel killed something for its memory: by cgroups of version 2, or 1.
pub(crate) const MEMORY_KILLS: &str = r#"{
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
[ -r "$f" ] || continue
while read -r name number; do
case $name in oom_kill) printf 'forge: oom_kill %s\n' "$number";; esac
done <"$f"
done
:
}
"#;

/// Looks at all that a test wants to know.
pub(crate) fn examine(root_there: &str, programs: &[&str]) -> String {
    let root = root(root_there);
    let programs: Vec<String> = programs.iter().map(|program| quote(program)).collect();
    let programs = programs.join(" ");
    format!(
        r#"{{
say() {{ n=$1; shift; printf '{MARK}%s' "$n"; for w; do printf '\t%s' "$w"; done; echo; }}
say clock "$(date +%s)"
{root}say git "$(git --version 2>/dev/null)"
say disk "$(df -Pk "$r" 2>/dev/null | tail -n 1 | tr -s ' ' '\t')"
k=$(busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager KillUserProcesses 2>/dev/null)
[ -n "$k" ] || k=$(cat /usr/lib/systemd/logind.conf.d/*.conf /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf /run/systemd/logind.conf.d/*.conf 2>/dev/null | sed -n 's/^[[:space:]]*KillUserProcesses[[:space:]]*=[[:space:]]*//p' | tail -n 1)
say kills "$k"
limit() {{ if command -v timeout >/dev/null 2>&1; then timeout 10 "$@"; else "$@"; fi; }}
p=$(limit "${{SHELL:-/bin/sh}}" -lc 'printf "\nforge-path:%s\n" "$PATH"' </dev/null 2>/dev/null | sed -n 's/^forge-path://p' | tail -n 1)
PATH=${{p:-$PATH}}
say login_git "$(git --version 2>/dev/null)"
for c in {programs}; do
w=$(command -v -- "$c") || {{ say program "$c"; continue; }}
say program "$c" "$w" "$(limit "$w" --version </dev/null 2>&1 | head -n 1)"
done
say end
}}
"#
    )
}

/// Prints the environment of the user's login, between marks.
pub(crate) fn environment(fence: &str) -> String {
    format!(
        r#"{{
s=${{SHELL:-/bin/sh}}
"$s" -lc 'printf %s {fence}; /usr/bin/env -0; printf %s {fence}' </dev/null
}}
"#
    )
}

/// Removes the programs of keepers of other versions that nobody runs, and what is left of transfers that were cut.
pub(crate) fn sweep(root_there: &str, keep: &[&str]) -> String {
    let root = root(root_there);
    let keep = keep.join("|");
    format!(
        r#"{{
{root}runs=$(ls -l /proc/[0-9]*/exe 2>/dev/null)
find "$r/bin" -name '.new.*' -mmin +60 -exec rm -f {{}} + 2>/dev/null
for d in "$r"/bin/*; do
case ${{d##*/}} in {keep}) continue;; esac
[ -d "$d" ] || continue
case $runs in *"$d/forge-keeper"*) continue;; esac
rm -rf "$d" && printf '{MARK}swept %s\n' "${{d##*/}}"
done
}}
"#
    )
}
