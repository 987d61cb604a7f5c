//! The command line that a profile comes to.

use std::path::PathBuf;

use forge_keeper::{Keeper, Place};
use forge_model::{
    agent::{PermissionMode, ProgramConfig},
    execution::ExecutionRole,
};
use serde_json::Value;

use crate::{AgentError, CostLimit, CostScope, Launch, Limits, LogWriter, SessionRequest, claude::arguments};

fn launch(log: LogWriter, permissions: PermissionMode, session: SessionRequest) -> Launch {
    let limit = CostLimit { left_micro_usd: 1_500_000, limit_micro_usd: 2_000_000, of: CostScope::Task };
    Launch {
        execution_id: "e".to_owned(),
        task_id: "t".to_owned(),
        keeper: Keeper::new(PathBuf::new(), Place::Within, 1, std::time::Duration::ZERO),
        process: 1,
        kept: 0,
        memo: Vec::new(),
        log,
        config: Value::Null,
        model: Some("opus".to_owned()),
        prompt: String::new(),
        prompt_file: PathBuf::new(),
        worktree: PathBuf::from("/w"),
        given: None,
        base: forge_exec::variables_of(std::env::vars_os()),
        env: Vec::new(),
        shell: Vec::new(),
        sandbox: None,
        limits: Limits { turns: Some(9), cost: Some(limit), ..Limits::default() },
        grace: std::time::Duration::ZERO,
        session,
        carry: None,
        role: ExecutionRole::Coder,
        permissions,
        mcp: None,
        started: Box::new(|_| {}),
    }
}

#[test]
fn arguments_follow_the_profile() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let log = LogWriter::open(folder.path(), "log", "e", 1024 * 1024, Default::default())?;
    let config = ProgramConfig { effort: Some("high".to_owned()), ..ProgramConfig::default() };
    let all: Vec<_> = PermissionMode::ALL
        .iter()
        .zip([
            SessionRequest::New,
            SessionRequest::Resume("old".to_owned()),
            SessionRequest::Fork("old".to_owned()),
            SessionRequest::New,
        ])
        .map(|(mode, session)| arguments::of(&launch(log.clone(), *mode, session), &config, "new"))
        .collect::<Result<_, _>>()?;
    insta::assert_json_snapshot!(all);
    for (mode, allowed) in [
        (PermissionMode::Ask, "--allowedTools=Read(//data/files/**)"),
        (PermissionMode::Unattended, "--allowedTools=Bash,Read(//data/files/**)"),
    ] {
        let given = Some(PathBuf::from("/data/files"));
        let launch = Launch { given, ..launch(log.clone(), mode, SessionRequest::New) };
        let args = arguments::of(&launch, &config, "new")?;
        assert!(args.iter().any(|it| it == allowed), "{args:?}");
    }
    for args in &all {
        assert!(!args.iter().any(|it| it.contains("bypass") || it.contains("dangerously")), "{args:?}");
    }
    for (args, env) in [
        (vec!["--dangerously-skip-permissions"], vec![]),
        (vec!["--permission-mode", "bypassPermissions"], vec![]),
        (vec![], vec![("IS_SANDBOX", "1")]),
    ] {
        let config = ProgramConfig {
            args: Some(args.into_iter().map(str::to_owned).collect()),
            env: Some(env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()),
            ..ProgramConfig::default()
        };
        let launch = launch(log.clone(), PermissionMode::Edit, SessionRequest::New);
        let refused = arguments::of(&launch, &config, "new");
        assert!(matches!(refused, Err(AgentError::Unavailable { .. })), "{refused:?}");
    }
    Ok(())
}
