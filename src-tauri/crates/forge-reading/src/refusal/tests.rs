use proptest::prelude::*;

use super::*;

fn read(output: &[u8]) -> Refusals {
    let mut reader = RefusalReader::new();
    reader.push(output);
    reader.finish()
}

fn paths(output: &str) -> (u32, Vec<String>) {
    let Refusals { count, paths } = read(output.as_bytes());
    (count, paths)
}

#[test]
fn refusals_are_read_in_the_words_of_each_program() {
    for (line, path) in [
        ("sh: 1: cannot create /x/a b: Permission denied", Some("/x/a b")),
        ("/bin/sh: 1: cannot create /x: Permission denied", Some("/x")),
        ("bash: /x: Permission denied", Some("/x")),
        ("bash: line 3: /x/y-z: Permission denied", Some("/x/y-z")),
        ("zsh: permission denied: /x", Some("/x")),
        ("touch: cannot touch '/x': Permission denied", Some("/x")),
        ("mkdir: cannot create directory \u{2018}/x\u{2019}: Permission denied", Some("/x")),
        ("tar: /x: Cannot open: Permission denied", Some("/x")),
        ("PermissionError: [Errno 13] Permission denied: '/x'", Some("/x")),
        ("PermissionError: [Errno 13] Permission denied: '/x' -> '/y'", Some("/x")),
        ("Error: EACCES: permission denied, open '/x'", Some("/x")),
        ("Error: EPERM: operation not permitted, unlink '/x'", Some("/x")),
        ("[Error: EACCES: permission denied, mkdir '/x/y'] {", Some("/x/y")),
        ("error: could not lock config file /x/.gitconfig: Permission denied", Some("/x/.gitconfig")),
        ("fatal: Unable to create '/x.lock': Permission denied", Some("/x.lock")),
        ("Error: failed to write `/x`: Permission denied (os error 13)", Some("/x")),
        ("  Permission denied (os error 13)", None),
        ("Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }", None),
        ("open /x: permission denied", Some("/x")),
        ("java.io.FileNotFoundException: /x (Permission denied)", Some("/x")),
        ("Errno::EACCES: Permission denied @ rb_sysopen - /x", Some("/x")),
        ("\u{1b}[31mtouch: cannot touch '~/x': Permission denied\u{1b}[0m\r", Some("~/x")),
        ("sh: 1: cannot create x: Permission denied", None),
        ("touch: cannot touch 'a/x': Permission denied", None),
        ("failed with EACCES", None),
    ] {
        let path: Vec<String> = path.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(paths(line), (1, path.clone()), "{line}");
        let log =
            serde_json::json!({ "type": "result", "cwd": "/srv", "text": format!("begun\n{line}\nend\n") });
        assert_eq!(paths(&log.to_string()), (1, path.clone()), "{log}");
        let bare = serde_json::json!({ "type": "result", "cwd": "/srv", "text": line, "more": 1 });
        assert_eq!(paths(&bare.to_string()), (1, path.clone()), "{bare}");
        let nested = serde_json::json!({ "event": log.to_string() });
        assert_eq!(paths(&nested.to_string()), (1, path), "{nested}");
    }
}

#[test]
fn refusals_of_servers_and_talk_about_permissions_do_not_count() {
    for line in [
        "git@example.org: Permission denied (publickey).",
        "Permission denied, please try again.",
        "ERROR: permission denied for table users",
        "If you see \u{201c}Permission denied\u{201d}, ask.",
        "It says permission denied, so I stop here.",
        "  code: 'EACCES',",
        "npm error code EACCES",
        "{\"code\":\"EACCES\",\"x\":1}",
        "NEACCES and EACCES_OLD",
        "permissions denied",
        "",
    ] {
        assert_eq!(paths(line), (0, Vec::new()), "{line}");
    }
}

#[test]
fn error_of_node_counts_once() {
    let error = "node:fs:573\n    throw err;\n\nError: EACCES: permission denied, open '/x'\n    at a (b:1:2) {\n  \
                 errno: -13,\n  code: 'EACCES',\n  syscall: 'open',\n  path: '/x'\n}\n";
    assert_eq!(paths(error), (1, vec!["/x".to_owned()]));
}

#[test]
fn lines_count_each_and_paths_once() {
    assert_eq!(paths(&"bash: /x: Permission denied\n".repeat(3)), (3, vec!["/x".to_owned()]));
    let many: String = (0..50).map(|n| format!("bash: /{n}: Permission denied\n")).collect();
    let (count, paths_of_many) = paths(&many);
    let first: Vec<String> = (0..20).map(|n| format!("/{n}")).collect();
    assert_eq!((count, paths_of_many), (50, first));
    let twice = serde_json::json!({
        "content": "begun\nbash: /x: Permission denied\n", "stderr": "begun\nbash: /x: Permission denied\n",
    });
    assert_eq!(paths(&twice.to_string()).0, 1, "the same output in two fields");
    assert_eq!(paths(&format!("{twice}\n{twice}\n")).0, 2);
}

#[test]
fn refusal_at_any_place_of_a_long_line_counts() {
    for before in (WINDOW - AFTER - 60..WINDOW + 60).chain(3 * WINDOW - 60..3 * WINDOW + 60) {
        let line =
            format!("{} bash: /srv/x: Permission denied\"{}", "y".repeat(before), "z".repeat(2 * WINDOW));
        assert_eq!(paths(&line), (1, Vec::from(["/srv/x".to_owned()])), "after {before}");
    }
}

#[test]
fn memory_does_not_grow_with_the_output() {
    let mut reader = RefusalReader::new();
    let long = "bash: /x: Permission denied\\".repeat(100_000);
    for output in ["x".repeat(1 << 22), "\\".repeat(1 << 20), long] {
        reader.push(output.as_bytes());
        assert!(reader.line.capacity() <= 2 * WINDOW);
    }
    for number in 0..10_000 {
        reader.push(format!("bash: /{number}: Permission denied\\n").as_bytes());
    }
    assert_eq!((reader.told.len(), reader.found.paths.len()), (MAX_PATHS, MAX_PATHS));
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "bash: /x: Permission denied",
        "EACCES: permission denied, open '/y'",
        "Permission denied: '/z\u{e4}'",
        "(publickey)",
        "\n",
        "\\n",
        "\\\\n",
        "\"",
        "\\\"",
        " /",
        ": ",
        "EPERM",
    ]);
    let piece = prop_oneof![
        4 => known.prop_map(|it| it.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..8),
        1 => (0usize..2 * WINDOW).prop_map(|length| vec![b'x'; length]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn splits_change_nothing(output in output(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
        cuts.extend([0, output.len()]);
        cuts.sort_unstable();
        let mut reader = RefusalReader::new();
        for cut in cuts.windows(2) {
            reader.push(&output[cut[0]..cut[1]]);
            prop_assert!(reader.line.len() < WINDOW);
        }
        prop_assert_eq!(reader.finish(), read(&output));
    }
}
