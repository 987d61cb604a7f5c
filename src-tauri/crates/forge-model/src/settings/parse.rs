//! Settings as they are read: what is refused when they are saved, and what is taken of those that are stored.

use serde_json::Value;

use super::{Author, MAX_POOL_SIZE, ProjectSettings};
use crate::{
    environment::findings_of_names,
    inner_loop,
    machine::required,
    pull_request::HostConfig,
    redact::findings_of_patterns,
    service::{self, service_findings},
    usage::MAX_FIGURE,
    workflow::{Finding, key_path, nul_findings, shape_findings},
};

/// Reads settings that are to be stored; what is absent takes its default.
///
/// # Errors
/// Every finding with the path of its field.
pub fn parse_settings(value: &Value) -> Result<ProjectSettings, Vec<Finding>> {
    // Deserialisation alone takes a list for an object whose fields have that order.
    let findings = shape_findings::<ProjectSettings>(value, "");
    if !findings.is_empty() {
        return Err(findings);
    }
    let settings = parse_stored_settings(value)?;
    let mut findings = nul_findings(value, "");
    findings.extend(settings.merge_config.findings("merge_config"));
    findings.extend(figure_findings(&settings));
    findings.extend(settings.author.iter().flat_map(Author::findings));
    if findings.is_empty() { Ok(settings) } else { Err(findings) }
}

/// Sums of money that not every reader of JSON holds exactly.
fn figure_findings(settings: &ProjectSettings) -> Vec<Finding> {
    let limits = &settings.cost_limits;
    let mut figures = vec![
        ("cost_limits.execution_micro_usd".to_owned(), limits.execution_micro_usd),
        ("cost_limits.task_micro_usd".to_owned(), limits.task_micro_usd),
        ("cost_limits.day_micro_usd".to_owned(), limits.day_micro_usd),
    ];
    for (model, price) in &settings.model_prices {
        let path = key_path("model_prices", model);
        let prices = [
            ("input", Some(price.input)),
            ("cache_read", price.cache_read),
            ("cache_write", price.cache_write),
            ("output", Some(price.output)),
        ];
        figures.extend(prices.map(|(name, figure)| (format!("{path}.{name}"), figure)));
    }
    let too_large =
        figures.into_iter().filter(|(_, figure)| figure.is_some_and(|figure| figure > MAX_FIGURE));
    too_large.map(|(path, _)| Finding::new(path, "must be below 2^53")).collect()
}

/// Settings without the blanks around names that are compared with those of git; to be stored like this.
pub fn tidy_settings(settings: &mut Value) {
    let target = settings.get_mut("merge_config").and_then(|merge| merge.get_mut("target_branch"));
    if let Some(Value::String(target)) = target {
        *target = target.trim().to_owned();
    }
}

/// Reads settings as they were stored, by this version or an earlier one that refused less.
///
/// # Errors
/// Every finding with the path of its field.
pub fn parse_stored_settings(value: &Value) -> Result<ProjectSettings, Vec<Finding>> {
    let settings: ProjectSettings = serde_path_to_error::deserialize(value).map_err(|error| {
        // The walk finds everything at once; deserialisation stops at the first and may see more in it.
        let mut findings = shape_findings::<ProjectSettings>(value, "");
        if findings.is_empty() {
            findings.push(Finding::new(error.path().to_string(), error.inner().to_string()));
        }
        findings
    })?;
    let mut findings = settings.review_config.findings("review_config");
    findings.extend(settings.lifecycle_hooks.findings("lifecycle_hooks"));
    findings.extend(findings_of_names(&settings.environment.pass, "environment.pass"));
    findings.extend(settings.sandbox.findings());
    findings.extend(required::findings(&settings.machines, "machines"));
    findings.extend(findings_of_patterns(&settings.redact, "redact"));
    findings.extend(settings.inner_loop.findings(inner_loop::KEY));
    findings.extend(service_findings(&settings.services, service::KEY));
    findings.extend(settings.issues.findings());
    findings.extend(settings.code_host.iter().flat_map(HostConfig::findings));
    let mut add = |path: &str, message: &str| {
        findings.push(Finding { path: path.to_owned(), message: message.to_owned() });
    };
    if settings.max_concurrent == 0 {
        add("max_concurrent", "must be at least 1");
    }
    if settings.shell.first().is_none_or(|program| program.trim().is_empty()) {
        add("shell", "must name a program, such as [\"bash\", \"-lc\"]");
    }
    for (index, command) in settings.setup.iter().enumerate() {
        if command.trim().is_empty() {
            add(&format!("setup[{index}]"), "must be a shell command, not blank");
        }
    }
    for (index, rule) in settings.copy_files.iter().enumerate() {
        if let Some(fault) = rule.fault() {
            add(&format!("copy_files[{index}].pattern"), fault);
        }
    }
    if settings.workspace_pool_size > MAX_POOL_SIZE {
        add("workspace_pool_size", "must be at most 20");
    }
    if settings.workspace_disk_cap_mib == Some(0) {
        add("workspace_disk_cap_mib", "must be at least 1; null for no warning");
    }
    if findings.is_empty() { Ok(settings) } else { Err(findings) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::merge_patch::merge_patch;

    #[test]
    fn a_patch_merges_objects_replaces_lists_and_null_returns_to_the_default() {
        let mut stored =
            json!({ "review_config": { "ci_steps": ["a"], "allow_changes": true }, "auto_approve": true });
        merge_patch(&mut stored, &json!({ "review_config": { "ci_steps": ["b"] }, "auto_approve": null }));
        assert_eq!(stored, json!({ "review_config": { "ci_steps": ["b"], "allow_changes": true } }));
        assert!(!parse_settings(&stored).unwrap().auto_approve);
    }

    #[test]
    fn findings_name_the_field() {
        let path = |value: Value| parse_settings(&value).unwrap_err().remove(0).path;
        assert_eq!(path(json!({ "max_concurrent": 0 })), "max_concurrent");
        assert_eq!(
            path(json!({ "review_config": { "ci_steps": ["ok", " "] } })),
            "review_config.ci_steps[1]"
        );
        assert_eq!(path(json!({ "review_config": { "ci_steps": "npm test" } })), "review_config.ci_steps");
        assert_eq!(path(json!({ "colour": 1 })), "colour");
        let large = MAX_FIGURE + 1;
        assert_eq!(path(json!({ "cost_limits": { "task_micro_usd": large } })), "cost_limits.task_micro_usd");
        let prices = json!({ "m": { "input": 1, "output": large } });
        assert_eq!(path(json!({ "model_prices": prices })), "model_prices.m.output");
    }

    #[test]
    fn a_list_in_the_place_of_an_object_is_refused() {
        for (settings, path) in [
            (json!({ "innerLoop": { "competitive": [true, 3, 60] } }), "innerLoop.competitive"),
            (json!({ "innerLoop": [] }), "innerLoop"),
            (json!({ "innerLoop": { "reviewer": [true] } }), "innerLoop.reviewer"),
            (json!({ "merge_config": ["main"] }), "merge_config"),
            (json!({ "review_config": [] }), "review_config"),
            (json!({ "author": ["A", "a@b"] }), "author"),
            (json!({ "copy_files": [[".env"]] }), "copy_files[0]"),
            (json!({ "notifications": [true] }), "notifications"),
            (json!({ "cost_limits": [1] }), "cost_limits"),
            (json!({ "mcp": [true] }), "mcp"),
            (json!({ "sandbox": ["files"] }), "sandbox"),
            (json!({ "model_prices": { "m": [1, 2, 3, 4] } }), "model_prices.m"),
            (json!({ "lifecycle_hooks": [[]] }), "lifecycle_hooks"),
            (
                json!({ "lifecycle_hooks": { "before_work": [["script", "x"]] } }),
                "lifecycle_hooks.before_work[0]",
            ),
            (json!([]), ""),
        ] {
            let findings = parse_settings(&settings).expect_err(&settings.to_string());
            assert_eq!(findings[0].path, path, "{settings}");
            assert!(findings[0].message.contains("not a list"), "{settings}: {findings:?}");
        }
    }

    #[test]
    fn complete_settings_are_accepted_as_they_are_written() {
        let mut all = serde_json::to_value(ProjectSettings::default()).unwrap();
        parse_settings(&all).unwrap();
        all["author"] = json!({ "name": "A", "email": "a@b" });
        all["copy_files"] = json!([{ "pattern": ".env" }, { "pattern": "a", "mode": "symlink" }]);
        all["code_host"] =
            json!({ "kind": "gitea", "base_url": "https://git.example", "owner": "a", "repo": "b" });
        all["model_prices"] = json!({ "m": { "input": 1, "output": 2 } });
        all["cost_limits"] = json!({ "task_micro_usd": 5 });
        all["lifecycle_hooks"]["before_work"] = json!([{ "type": "script", "command": "x" }]);
        all["services"] = json!([{ "name": "web", "command": "x", "ready": { "port": true } }]);
        all["innerLoop"]["competitive"]["strategies"] = json!([{ "name": "a", "agent_id": "x" }]);
        all["review_config"] = json!({ "ci_steps": ["a"], "validate": { "files": ["b"] } });
        let settings = parse_settings(&all).unwrap();
        let again = parse_settings(&serde_json::to_value(&settings).unwrap());
        assert_eq!(again, Ok(settings));
    }

    #[test]
    fn a_target_branch_is_trimmed_and_must_be_a_name_that_git_takes() {
        let mut settings = json!({ "merge_config": { "target_branch": " release/2 \n" } });
        tidy_settings(&mut settings);
        assert_eq!(settings["merge_config"]["target_branch"], "release/2");
        assert!(parse_settings(&settings).is_ok());
        for wrong in ["a b", "", "-x", "a..b", "refs/heads/", "a.lock"] {
            let findings =
                parse_settings(&json!({ "merge_config": { "target_branch": wrong } })).unwrap_err();
            assert_eq!(findings[0].path, "merge_config.target_branch", "{wrong:?}");
        }
        let stored = json!({ "merge_config": { "target_branch": "a b" } });
        assert!(parse_stored_settings(&stored).is_ok(), "a project stays usable whatever was stored once");
    }

    #[test]
    fn what_git_and_programs_would_refuse_later_is_refused_when_it_is_saved() {
        for (settings, path) in [
            (json!({ "author": { "name": " ", "email": "a@b" } }), "author.name"),
            (json!({ "author": { "name": "A", "email": "a@b>\n" } }), "author.email"),
            (json!({ "merge_config": { "message_template": " \n" } }), "merge_config.message_template"),
            (json!({ "shell": ["ba\0sh"] }), "shell[0]"),
            (json!({ "setup": ["a", "b\0"] }), "setup[1]"),
            (
                json!({ "lifecycle_hooks": { "before_work": [{ "type": "script", "command": "a\0" }] } }),
                "lifecycle_hooks.before_work[0].command",
            ),
        ] {
            let findings = parse_settings(&settings).expect_err(&settings.to_string());
            assert_eq!(findings[0].path, path, "{settings}");
            assert!(
                parse_stored_settings(&settings).is_ok(),
                "a project stays usable whatever was stored once"
            );
        }
    }

    #[test]
    fn findings_come_all_at_once() {
        let bad = json!({
            "colour": 1,
            "max_concurrent": "many",
            "lifecycle_hooks": { "before_work": [{ "type": "script", "comand": "x" }], "before_dinner": [] },
            "copy_files": [{ "pattern": ".env", "mode": "steal" }]
        });
        let mut paths: Vec<String> = parse_settings(&bad).unwrap_err().into_iter().map(|f| f.path).collect();
        paths.sort();
        for path in [
            "colour",
            "copy_files[0].mode",
            "lifecycle_hooks.before_dinner",
            "lifecycle_hooks.before_work[0].comand",
            "max_concurrent",
        ] {
            assert!(paths.iter().any(|found| found == path), "{path} in {paths:?}");
        }
    }
}
