//! Where the values of the inner loop come from: `.forge.json` of the repository, the project, and the defaults.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{InnerLoop, KEY, ValueSource};
use crate::{
    merge_patch::merge_patch,
    workflow::{Finding, parse_json, shape_findings},
};

/// The inner loop that a `.forge.json` carries; nothing when it carries none. Its other keys are others'.
///
/// # Errors
/// Everything that is wrong, each with its path.
pub fn parse_repository(text: &str) -> Result<Value, Vec<Finding>> {
    let file: Value = parse_json(text)?;
    let Value::Object(mut file) = file else {
        return Err(vec![Finding::new(String::new(), "must be an object")]);
    };
    let Some(value) = file.remove(KEY) else { return Ok(Value::Object(Map::new())) };
    let findings = shape_findings::<InnerLoop>(&value, KEY);
    if !findings.is_empty() {
        return Err(findings);
    }
    let config: InnerLoop = serde_path_to_error::deserialize(&value)
        .map_err(|error| vec![Finding::new(format!("{KEY}.{}", error.path()), error.inner().to_string())])?;
    let findings = config.findings(KEY);
    if findings.is_empty() { Ok(value) } else { Err(findings) }
}

/// What the repository and the project say, the project's word last; to be read as settings are.
#[must_use]
pub fn layered(repository: Option<&Value>, project: Option<&Value>) -> Value {
    let mut all = repository.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(project) = project {
        merge_patch(&mut all, project);
    }
    all
}

/// Takes out of stored settings what is no number in its bounds, so that the default counts in its place.
pub fn drop_unusable(inner_loop: &mut Value) {
    let Some(anomaly) = inner_loop.get_mut("costAnomaly").and_then(Value::as_object_mut) else { return };
    let is_whole =
        |value: &Value| value.as_u64().is_some_and(|number| number >= 1 && u32::try_from(number).is_ok());
    let is_ratio = |value: &Value| value.as_f64().is_some_and(|ratio| ratio.is_finite() && ratio > 0.0);
    anomaly.retain(|key, value| match key.as_str() {
        "ratio" => is_ratio(value),
        "medianWindow" | "minSamples" => is_whole(value),
        _ => true,
    });
}

/// Where each value of a complete configuration comes from.
#[must_use]
pub fn sources(
    complete: &InnerLoop,
    repository: Option<&Value>,
    project: Option<&Value>,
) -> BTreeMap<String, ValueSource> {
    let mut sources = BTreeMap::new();
    let complete = serde_json::to_value(complete).unwrap_or_default();
    walk(&complete, repository, project, "", &mut sources);
    sources
}

fn walk(
    value: &Value,
    repository: Option<&Value>,
    project: Option<&Value>,
    path: &str,
    sources: &mut BTreeMap<String, ValueSource>,
) {
    if let Value::Object(fields) = value {
        for (key, value) in fields {
            let below = |layer: Option<&'_ Value>| layer.and_then(|layer| layer.get(key)).cloned();
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let (repository, project) = (below(repository), below(project));
            walk(value, repository.as_ref(), project.as_ref(), &path, sources);
        }
        return;
    }
    let source = match (project, repository) {
        (Some(_), _) => ValueSource::Project,
        (None, Some(_)) => ValueSource::Repository,
        (None, None) => ValueSource::Default,
    };
    sources.insert(path.to_owned(), source);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inner_loop::CostAnomaly;

    fn paths(value: &Value) -> Vec<String> {
        let text = json!({ KEY: value, "somebody": "else" }).to_string();
        parse_repository(&text).unwrap_err().into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        assert_eq!(paths(&json!({ "competetive": {} })), ["innerLoop.competetive"]);
        assert_eq!(
            paths(&json!({ "competitive": { "maxParallel": "two" } })),
            ["innerLoop.competitive.maxParallel"]
        );
        let strategies = json!([
            { "name": "a", "agent_id": "x" },
            { "name": "a", "agent_id": "y" },
            { "name": "../b", "agent_id": "z" }
        ]);
        let wrong = json!({
            "competitive": { "maxParallel": 0, "timeoutSec": 0, "strategies": strategies },
            "autoFix": { "maxChangedLines": 0 },
            "costAnomaly": { "ratio": 0, "medianWindow": 0, "minSamples": 0 }
        });
        assert_eq!(
            paths(&wrong),
            [
                "innerLoop.competitive.maxParallel",
                "innerLoop.competitive.timeoutSec",
                "innerLoop.competitive.strategies[1].name",
                "innerLoop.competitive.strategies[2].name",
                "innerLoop.autoFix.maxChangedLines",
                "innerLoop.costAnomaly.medianWindow",
                "innerLoop.costAnomaly.minSamples",
                "innerLoop.costAnomaly.ratio",
            ]
        );
        assert_eq!(parse_repository("{").unwrap_err().len(), 1);
        assert_eq!(parse_repository("[]").unwrap_err()[0].message, "must be an object");
        assert_eq!(parse_repository(r#"{"other": 1}"#).unwrap(), json!({}));
    }

    #[test]
    fn each_value_knows_where_it_comes_from() {
        let repository = json!({ "competitive": { "enabled": true, "maxParallel": 3 } });
        let project = json!({ "competitive": { "maxParallel": 4 }, "stopOnStagnation": true });
        let all = layered(Some(&repository), Some(&project));
        let config: InnerLoop = serde_json::from_value(all).unwrap();
        assert!(config.competitive.enabled && config.stop_on_stagnation);
        assert_eq!(config.competitive.max_parallel, 4);
        let sources = sources(&config, Some(&repository), Some(&project));
        let of = |path: &str| sources[path];
        assert_eq!(of("competitive.enabled"), ValueSource::Repository);
        assert_eq!(of("competitive.maxParallel"), ValueSource::Project);
        assert_eq!(of("stopOnStagnation"), ValueSource::Project);
        assert_eq!(of("competitive.strategies"), ValueSource::Default);
        assert_eq!(of("autoFix.agentId"), ValueSource::Default);
    }

    #[test]
    fn stored_numbers_that_are_none_count_as_their_defaults() {
        for (ratio, window, samples) in [
            (json!("2"), json!(0), json!(-1)),
            (json!(-2), json!(1.5), json!(null)),
            (json!(0), json!([]), json!(true)),
        ] {
            let mut stored =
                json!({ "costAnomaly": { "ratio": ratio, "medianWindow": window, "minSamples": samples } });
            drop_unusable(&mut stored);
            let config: InnerLoop = serde_json::from_value(stored).unwrap();
            assert_eq!(config.cost_anomaly, CostAnomaly::default());
        }
        let mut kept = json!({ "costAnomaly": { "ratio": 1.2, "medianWindow": 3, "minSamples": 2 } });
        drop_unusable(&mut kept);
        assert_eq!(kept, json!({ "costAnomaly": { "ratio": 1.2, "medianWindow": 3, "minSamples": 2 } }));
    }
}
