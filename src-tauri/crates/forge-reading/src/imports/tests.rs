use super::*;

fn read(file: &str, text: &str) -> Imported {
    import(file, text).unwrap()
}

fn patterns(imported: &Imported) -> Vec<&str> {
    assert!(imported.copy_files.iter().all(|file| file.mode == CopyMode::Copy));
    imported.copy_files.iter().map(|file| file.pattern.as_str()).collect()
}

fn format_paths(file: &str, text: &str) -> Vec<String> {
    match import(file, text).unwrap_err() {
        ImportError::Format { findings, .. } => findings.into_iter().map(|finding| finding.path).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn worktreeinclude_lists_patterns_as_gitignore_does() {
    let text = "\u{feff}# local\r\n.env\r\n\r\n/config/*.local.json\n**/.claude/settings.local.json  \n.env\n\
                \\#odd\nname\\ \n!.env.example\n../outside\nC:\\secrets\n";
    let imported = read(".worktreeinclude", text);
    assert_eq!(imported.source, ".worktreeinclude");
    assert_eq!(
        patterns(&imported),
        [".env", "/config/*.local.json", "**/.claude/settings.local.json", "\\#odd", "name\\ "]
    );
    assert_eq!(imported.setup, Vec::<String>::new());
    assert_eq!(imported.notes.len(), 3);
    assert!(imported.notes[0].starts_with("line 9: skipped the exception `!.env.example`"), "{imported:?}");
    assert!(imported.notes[1].starts_with("line 10: skipped `../outside`"), "{imported:?}");
    assert!(imported.notes[2].starts_with("line 11: skipped `C:\\secrets`"), "{imported:?}");
}

#[test]
fn cursor_commands_are_taken_and_the_unix_ones_go_first() {
    let imported = read(
        ".cursor/worktrees.json",
        r#"{ "setup-worktree": ["npm ci"], "setup-worktree-windows": ["copy .env"],
             "setup-worktree-unix": ["npm ci", "cp \"$ROOT_WORKTREE_PATH/.env\" .env", "echo ${ROOT_WORKTREE_PATH}x"],
             "scripts": { "postCreate": "yarn" } }"#,
    );
    assert_eq!(imported.setup, ["npm ci", "cp \"$FORGE_REPO_PATH/.env\" .env", "echo ${FORGE_REPO_PATH}x"]);
    insta::assert_snapshot!(imported.notes.join("\n"), @r"
    replaced `ROOT_WORKTREE_PATH` with `FORGE_REPO_PATH`
    skipped `setup-worktree`: `setup-worktree-unix` takes precedence
    skipped `setup-worktree-windows` (copy .env): it is for Windows only
    skipped `scripts`: Cursor has no such key
    ");
}

#[test]
fn a_script_of_cursors_is_run_from_where_it_stands() {
    let one = |path: &str| {
        import(".cursor/worktrees.json", &format!(r#"{{ "setup-worktree": {} }}"#, Value::from(path)))
    };
    let set = "export ROOT_WORKTREE_PATH=\"$FORGE_REPO_PATH\"; ";
    assert_eq!(one("setup.sh").unwrap().setup, [format!("{set}bash .cursor/setup.sh")]);
    assert_eq!(one("../scripts/my setup.sh").unwrap().setup, [format!("{set}bash 'scripts/my setup.sh'")]);
    for outside in ["../../x.sh", "/etc/x.sh", "~/x.sh", ""] {
        assert!(matches!(one(outside), Err(ImportError::Format { .. })), "{outside}");
    }
}

#[test]
fn conductor_scripts() {
    let imported = read(
        "conductor.json",
        r#"{ "$schema": "https://conductor.build/x", "scripts": {
               "setup": "npm install; cp $CONDUCTOR_ROOT_PATH/.env .env; echo $CONDUCTOR_DEFAULT_BRANCH $MY_CONDUCTOR_PORT",
               "run": "npm run dev --port $CONDUCTOR_PORT", "archive": "./script/archive.sh" },
             "runScriptMode": "concurrent", "enterpriseDataPrivacy": true }"#,
    );
    assert_eq!(
        imported.setup,
        ["npm install; cp $FORGE_REPO_PATH/.env .env; echo $CONDUCTOR_DEFAULT_BRANCH $MY_CONDUCTOR_PORT"]
    );
    assert!(imported.copy_files.is_empty());
    insta::assert_snapshot!(imported.notes.join("\n"), @r"
    replaced `CONDUCTOR_ROOT_PATH` with `FORGE_REPO_PATH`
    `npm install; cp $CONDUCTOR_ROOT_PATH/.env .env; echo $CONDUCTOR_DEFAULT_BRANCH $MY_CONDUCTOR_PORT` reads `CONDUCTOR_DEFAULT_BRANCH`, which Forge does not set
    `scripts.run` (npm run dev --port $CONDUCTOR_PORT) is suggested as a service
    skipped `scripts.archive` (./script/archive.sh): Forge runs nothing when it removes a worktree; use lifecycle hooks on on_task_done and on_task_cancel
    skipped `runScriptMode` (concurrent): services of different tasks run side by side
    skipped `enterpriseDataPrivacy` (true): Forge has no services to send data to
    Conductor runs scripts with zsh, Forge with the project's shell
    ");
}

#[test]
fn superset_commands_and_their_scripts() {
    let imported = read(
        ".superset/config.json",
        r#"{ "setup": ["bun install", "./.superset/setup.sh", " "], "teardown": [], "run": ["./run.sh"], "cwd": "x" }"#,
    );
    assert_eq!(
        imported.setup,
        [
            "bun install",
            "export SUPERSET_ROOT_PATH=\"$FORGE_REPO_PATH\" SUPERSET_WORKSPACE_PATH=\"$FORGE_WORKTREE_PATH\" \
             SUPERSET_WORKSPACE_NAME=\"$FORGE_TASK_ID\"; ./.superset/setup.sh"
        ]
    );
    insta::assert_snapshot!(imported.notes.join("\n"), @r"
    variables of Superset are set for its scripts
    `run` (./run.sh) is suggested as a service
    skipped `cwd`: Superset has no such key
    ");
}

#[test]
fn emdash_patterns_and_scripts() {
    let imported = read(
        ".emdash.json",
        r#"{ "preservePatterns": [".env", ".claude/**", ".emdash.json", "!x"], "shellSetup": "nvm use",
             "scripts": { "setup": "ln -sfn \"$EMDASH_ROOT_PATH/node_modules\" node_modules", "prepare": "make",
                          "run": "", "teardown": null } }"#,
    );
    assert_eq!(patterns(&imported), [".env", ".claude/**"]);
    assert_eq!(imported.setup, ["ln -sfn \"$FORGE_REPO_PATH/node_modules\" node_modules"]);
    insta::assert_snapshot!(imported.notes.join("\n"), @r"
    preservePatterns[3]: skipped the exception `!x`; the list of files to copy has no exceptions. Make the other patterns narrower
    skipped `scripts.prepare` (make): it prepares the repository, which is up to you
    replaced `EMDASH_ROOT_PATH` with `FORGE_REPO_PATH`
    skipped `shellSetup` (nvm use): it applies to every shell; set the project's shell instead
    ");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    assert!(matches!(import("Makefile", ""), Err(ImportError::UnknownFile { .. })));
    match import("conductor.json", "{\n  \"scripts\": {,}\n}").unwrap_err() {
        ImportError::Syntax { line, column, .. } => assert_eq!((line, column), (2, 15)),
        other => panic!("{other}"),
    }
    assert_eq!(format_paths("conductor.json", "[]"), [""]);
    assert_eq!(format_paths("conductor.json", r#"{ "scripts": "x" }"#), ["scripts"]);
    assert_eq!(format_paths("conductor.json", r#"{ "scripts": { "setup": 1 } }"#), ["scripts.setup"]);
    assert_eq!(
        format_paths(".superset/config.json", r#"{ "setup": ["a", 1, null] }"#),
        ["setup[1]", "setup[2]"]
    );
    assert_eq!(format_paths(".superset/config.json", r#"{ "setup": [], "setup": ["x"] }"#), ["setup"]);
    let error = import(".emdash.json", r#"{ "preservePatterns": {} }"#).unwrap_err();
    assert_eq!(error.to_string(), "import .emdash.json: preservePatterns: must be text or a list of texts");
}

/// Every variable is renamed whole, wherever it stands, and nothing else.
#[test]
fn words_are_renamed_whole() {
    for (text, wanted) in [
        ("$A/b", "$B/b"),
        ("${A:-x} A", "${B:-x} B"),
        ("$AA $A_ $xA A", "$AA $A_ $xA B"),
        ("AA", "AA"),
        ("A", "B"),
        ("é$A", "é$B"),
        ("", ""),
    ] {
        assert_eq!(rename_word(text, "A", "B"), wanted, "{text}");
    }
}

#[test]
fn any_known_file_of_any_text_is_read_or_refused() {
    use proptest::prelude::*;
    let text = prop_oneof![
        any::<String>(),
        r#"[{}\[\]",:a-z \n$/!#.]{0,60}"#,
        prop::sample::subsequence(
            vec!["\"scripts\"", "\"setup\"", "\"setup-worktree\"", "\"preservePatterns\"", "\"run\""],
            0..=5
        )
        .prop_map(|keys| format!(
            "{{{}}}",
            keys.iter().map(|k| format!("{k}: \"./a/b.sh $X\"")).collect::<Vec<_>>().join(",")
        )),
    ];
    proptest!(|(text in text, file in 0..FILES.len())| {
        if let Ok(imported) = import(FILES[file], &text) {
            prop_assert_eq!(imported.source.as_str(), FILES[file]);
            prop_assert!(imported.setup.iter().all(|command| !command.trim().is_empty()));
            prop_assert!(imported.copy_files.iter().all(|file| !file.pattern.is_empty()));
        }
    });
}
