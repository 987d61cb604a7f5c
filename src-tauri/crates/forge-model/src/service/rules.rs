//! What a project may name as services, and which of two files says so.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::{KEY, ServiceDefinition, ServiceReady};
use crate::workflow::{Finding, key_path, nul_findings, parse_json, shape_findings};

/// The most services of a project: as many as a task has ports.
pub const MAX_SERVICES: usize = 10;
const MAX_NAME: usize = 40;
/// A week.
const MAX_MINUTES: u32 = 7 * 24 * 60;
const MAX_READY_SECONDS: u32 = 60 * 60;
/// What Forge gives each service itself.
const OWN_VARIABLES: [&str; 1] = ["PORT"];

/// What is wrong with the services of a project; paths begin with `prefix`.
#[must_use]
pub fn service_findings(services: &[ServiceDefinition], prefix: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if services.len() > MAX_SERVICES {
        findings.push(Finding::new(prefix, format!("must be at most {MAX_SERVICES} services")));
    }
    let mut seen = BTreeSet::new();
    for (index, service) in services.iter().enumerate() {
        let path = format!("{prefix}[{index}]");
        if is_name(&service.name) && !seen.insert(service.name.as_str()) {
            findings.push(Finding::new(format!("{path}.name"), format!("`{}` is used twice", service.name)));
        }
        findings.extend(findings_of(service, &path));
    }
    findings
}

fn findings_of(service: &ServiceDefinition, path: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |key: &str, message: String| findings.push(Finding::new(format!("{path}.{key}"), message));
    if !is_name(&service.name) {
        add("name", format!("must be 1 to {MAX_NAME} letters, digits, `.`, `_` or `-`, such as `web`"));
    }
    if service.command.trim().is_empty() {
        add("command", "must be a shell command, not blank".to_owned());
    }
    if service.cwd.as_deref().is_some_and(|cwd| !is_inside(cwd)) {
        add("cwd", "must be a folder in the repository, such as `frontend`".to_owned());
    }
    if service.open.as_deref().is_some_and(|open| !is_url_path(open)) {
        add("open", "must be a path that begins with `/`, without blanks".to_owned());
    }
    if !(1..=MAX_MINUTES).contains(&service.idle_minutes()) {
        add("stop_after_minutes", format!("must be 1 to {MAX_MINUTES}; null for the default"));
    }
    if !(1..=MAX_READY_SECONDS).contains(&service.ready_seconds()) {
        add("ready_within_seconds", format!("must be 1 to {MAX_READY_SECONDS}; null for the default"));
    }
    for (name, value) in &service.env {
        let key = key_path(&format!("{path}.env"), name);
        if let Some(message) = fault_of_variable(name, value) {
            findings.push(Finding::new(key, message));
        }
    }
    if let Some(ready) = &service.ready {
        findings.extend(findings_of_ready(ready, &format!("{path}.ready")));
    }
    findings
}

fn findings_of_ready(ready: &ServiceReady, path: &str) -> Vec<Finding> {
    let given = [ready.http.is_some(), ready.port, ready.pattern.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        let message = r#"must be one of `{"http": "/path"}`, `{"port": true}` and `{"pattern": "regex"}`"#;
        return vec![Finding::new(path, message)];
    }
    let mut findings = Vec::new();
    if ready.http.as_deref().is_some_and(|http| !is_url_path(http)) {
        let message = "must be a path that begins with `/`, without blanks";
        findings.push(Finding::new(format!("{path}.http"), message));
    }
    if let Some(pattern) = &ready.pattern {
        let fault = match Regex::new(pattern) {
            _ if pattern.trim().is_empty() => Some("must be a regular expression, not blank".to_owned()),
            Err(error) => Some(format!("is not a regular expression: {error}")),
            Ok(regex) if regex.is_match("") => Some("matches every line".to_owned()),
            Ok(_) => None,
        };
        findings.extend(fault.map(|fault| Finding::new(format!("{path}.pattern"), fault)));
    }
    findings
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

fn is_inside(folder: &str) -> bool {
    !folder.trim().is_empty()
        && !folder.starts_with('/')
        && !folder.contains(['\0', '\\'])
        && folder.split('/').all(|part| part != "..")
}

fn is_url_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
}

fn fault_of_variable(name: &str, value: &str) -> Option<&'static str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_plain || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Some("must be a name of letters, digits and `_`");
    }
    if OWN_VARIABLES.contains(&name) || name.starts_with("FORGE_") {
        return Some("is set by Forge");
    }
    value.contains('\0').then_some("must not contain a NUL character")
}

/// What the repository and the project name, by name: the project's own word counts where both name a service.
#[must_use]
pub fn layered(repository: &[ServiceDefinition], project: Option<&Value>) -> Option<Value> {
    if repository.is_empty() {
        return project.cloned();
    }
    let mut all: Vec<Value> = project.and_then(Value::as_array).cloned().unwrap_or_default();
    let named: BTreeSet<String> =
        all.iter().filter_map(|one| one.get("name")?.as_str().map(str::to_owned)).collect();
    let more = repository.iter().filter(|one| !named.contains(&one.name));
    let more: Vec<Value> = more.filter_map(|one| serde_json::to_value(one).ok()).collect();
    let room = MAX_SERVICES.saturating_sub(all.len());
    all.extend(more.into_iter().take(room));
    Some(Value::Array(all))
}

/// The services that a `.forge.json` carries; none when it carries none.
///
/// # Errors
/// Everything that is wrong, each with its path.
pub fn parse_repository(text: &str) -> Result<Vec<ServiceDefinition>, Vec<Finding>> {
    parse(parse_json(text)?.get(KEY))
}

fn parse(value: Option<&Value>) -> Result<Vec<ServiceDefinition>, Vec<Finding>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let services: Vec<ServiceDefinition> = serde_path_to_error::deserialize(value).map_err(|error| {
        // The walk finds everything at once; deserialisation stops at the first and may see more in it.
        let mut findings = shape_findings::<Vec<ServiceDefinition>>(value, KEY);
        if findings.is_empty() {
            findings.push(Finding::new(format!("{KEY}{}", error.path()), error.inner().to_string()));
        }
        findings
    })?;
    let mut findings = nul_findings(value, KEY);
    findings.extend(service_findings(&services, KEY));
    if findings.is_empty() { Ok(services) } else { Err(findings) }
}

/// Where a service answers on this computer.
#[must_use]
pub fn url_of(port: u32, open: Option<&str>) -> String {
    format!("http://localhost:{port}{}", open.unwrap_or("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(services: &Value) -> Vec<String> {
        parse(Some(services)).unwrap_err().into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn services_that_can_be_started_are_accepted() {
        let services = json!([
            { "name": "web", "command": "npm run dev", "cwd": "frontend", "env": { "NODE_ENV": "test" },
              "ready": { "http": "/health?full=1" }, "open": "/app#top", "start": "on_review", "stop_after_minutes": 5 },
            { "name": "db", "command": "postgres", "ready": { "pattern": "ready to accept" } },
            { "name": "api", "command": "cargo run", "ready": { "port": true }, "ready_within_seconds": 600 },
        ]);
        let read = parse(Some(&services)).unwrap();
        assert_eq!(read[1].start, crate::service::ServiceStart::Manual);
        assert_eq!((read[1].idle_minutes(), read[1].ready_seconds()), (60, 120));
        assert_eq!(parse(None), Ok(Vec::new()));
    }

    #[test]
    fn each_field_that_cannot_work_is_named() {
        for (service, path) in [
            (json!({ "name": "a b", "command": "x" }), "services[0].name"),
            (json!({ "name": "a", "command": " " }), "services[0].command"),
            (json!({ "name": "a" }), "services[0].command"),
            (json!({ "name": "a", "command": "x\0" }), "services[0].command"),
            (json!({ "name": "a", "command": "x", "cwd": "../b" }), "services[0].cwd"),
            (json!({ "name": "a", "command": "x", "cwd": "/b" }), "services[0].cwd"),
            (json!({ "name": "a", "command": "x", "open": "app" }), "services[0].open"),
            (json!({ "name": "a", "command": "x", "open": "/a b" }), "services[0].open"),
            (json!({ "name": "a", "command": "x", "env": { "PORT": "1" } }), "services[0].env.PORT"),
            (json!({ "name": "a", "command": "x", "env": { "FORGE_X": "1" } }), "services[0].env.FORGE_X"),
            (json!({ "name": "a", "command": "x", "env": { "1A": "1" } }), "services[0].env.1A"),
            (json!({ "name": "a", "command": "x", "ready": {} }), "services[0].ready"),
            (
                json!({ "name": "a", "command": "x", "ready": { "port": true, "http": "/" } }),
                "services[0].ready",
            ),
            (json!({ "name": "a", "command": "x", "ready": { "http": "x" } }), "services[0].ready.http"),
            (
                json!({ "name": "a", "command": "x", "ready": { "pattern": "(" } }),
                "services[0].ready.pattern",
            ),
            (
                json!({ "name": "a", "command": "x", "ready": { "pattern": ".*" } }),
                "services[0].ready.pattern",
            ),
            (
                json!({ "name": "a", "command": "x", "stop_after_minutes": 0 }),
                "services[0].stop_after_minutes",
            ),
            (
                json!({ "name": "a", "command": "x", "ready_within_seconds": 0 }),
                "services[0].ready_within_seconds",
            ),
            (json!({ "name": "a", "command": "x", "start": "always" }), "services[0].start"),
            (json!({ "name": "a", "command": "x", "comand": "y" }), "services[0].comand"),
        ] {
            assert_eq!(paths(&json!([service])), [path], "{service}");
        }
        let twice = json!([{ "name": "a", "command": "x" }, { "name": "a", "command": "y" }]);
        assert_eq!(paths(&twice), ["services[1].name"]);
        let many: Vec<Value> = (0..11).map(|n| json!({ "name": format!("s{n}"), "command": "x" })).collect();
        assert_eq!(paths(&Value::Array(many)), ["services"]);
    }

    #[test]
    fn project_replaces_the_repositorys_service_of_the_same_name() {
        let repository = parse(Some(&json!([
            { "name": "web", "command": "repository" },
            { "name": "db", "command": "repository" },
        ])));
        let project = json!([{ "name": "web", "command": "project" }]);
        let all = layered(&repository.unwrap(), Some(&project)).unwrap();
        let commands: Vec<_> = all.as_array().unwrap().iter().map(|one| &one["command"]).collect();
        assert_eq!(commands, ["project", "repository"]);
        assert_eq!(layered(&[], Some(&project)), Some(project));
        assert_eq!(layered(&[], None), None);
    }

    #[test]
    fn address_has_the_port_and_the_path_to_open() {
        assert_eq!(url_of(4310, None), "http://localhost:4310/");
        assert_eq!(url_of(4310, Some("/app")), "http://localhost:4310/app");
    }
}
