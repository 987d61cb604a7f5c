//! The settings of a project: shown with where each comes from, set and unset by name.

use std::collections::BTreeMap;

use forge_api::{
    Reply,
    operations::{ProjectInnerLoop, ProjectSettingsGet, ProjectSettingsUpdate},
    ops::projects::{PatchSettings, ProjectPath, SettingsView},
};
use forge_model::{ids::ProjectId, inner_loop::ValueSource};
use serde_json::{Map, Value, json};

use crate::{
    answer::Answer,
    at::At,
    error::CliError,
    shown::{printable, table},
};

/// The settings that a repository may set, too.
const INNER_LOOP: &str = "innerLoop";

/// A setting by its name, whose parts are joined by dots.
struct Setting {
    name: String,
    value: Value,
    source: ValueSource,
}

/// Shows the settings whose names begin with a prefix.
pub(super) async fn show(at: &At, prefix: Option<String>, own: bool) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let view = at.call(ProjectSettingsGet, ProjectPath { project_id: project_id.clone() }).await?;
    let mut all = in_force(at, project_id, &view).await?;
    let prefix = prefix.unwrap_or_default();
    let is_own = |setting: &Setting| setting.source == ValueSource::Project;
    all.retain(|setting| is_below(&setting.name, &prefix) && (is_own(setting) || !own));
    if all.is_empty() && !prefix.is_empty() {
        return Err(CliError::NotFound {
            message: format!("no setting `{prefix}`{}", if own { " that the project sets" } else { "" }),
            hint: "List them with `forge project settings`.",
        });
    }
    let row =
        |setting: &Setting| vec![setting.name.clone(), setting.value.to_string(), setting.source.to_string()];
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "The project has no settings of its own.".to_owned(),
        rows => table(&["SETTING", "VALUE", "FROM"], rows),
    };
    Ok(Answer::new(values(&all), text))
}

/// Changes settings by a merge patch, and shows those that it names.
pub(super) async fn change(at: &At, patch: Map<String, Value>) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let mut patch = patch;
    name_agents(at, &mut patch).await?;
    let mut named = Vec::new();
    leaves("", &Value::Object(patch.clone()), None, &mut named);
    if named.iter().any(|it| it.value.is_null()) {
        let view = at.call(ProjectSettingsGet, ProjectPath { project_id: project_id.clone() }).await?;
        require_known(&in_force(at, project_id.clone(), &view).await?, &named)?;
    }
    let view =
        at.call(ProjectSettingsUpdate, PatchSettings { project_id: project_id.clone(), patch }).await?;
    let all = in_force(at, project_id, &view).await?;
    let is_named = |setting: &Setting| named.iter().any(|it| is_below(&setting.name, &it.name));
    let all: Vec<Setting> = all.into_iter().filter(is_named).collect();
    let lines: Vec<String> = all
        .iter()
        .map(|setting| {
            let source = match setting.source {
                ValueSource::Project => String::new(),
                elsewhere => format!(" ({elsewhere})"),
            };
            printable(&format!("{} = {}{source}", setting.name, setting.value))
        })
        .collect();
    Ok(Answer::new(values(&all), lines.join("\n")))
}

/// Refuses to take back what is no setting, which would change nothing.
fn require_known(all: &[Setting], named: &[Setting]) -> Result<(), CliError> {
    let is_known =
        |name: &str| all.iter().any(|setting| is_below(&setting.name, name) || is_below(name, &setting.name));
    match named.iter().find(|it| it.value.is_null() && !is_known(&it.name)) {
        Some(unknown) => Err(CliError::NotFound {
            message: format!("no setting `{}`", unknown.name),
            hint: "List them with `forge project settings`.",
        }),
        None => Ok(()),
    }
}

/// Puts the ids of agents where a setting names them by their names.
async fn name_agents(at: &At, patch: &mut Map<String, Value>) -> Result<(), CliError> {
    let mut places: Vec<&mut Value> = Vec::new();
    if let Some(inner) = patch.get_mut(INNER_LOOP).and_then(Value::as_object_mut) {
        for (name, part) in inner.iter_mut() {
            match name.as_str() {
                "autoFix" => places.extend(part.get_mut("agentId")),
                "competitive" => {
                    let entries = part.get_mut("strategies").and_then(Value::as_array_mut);
                    places.extend(entries.into_iter().flatten().filter_map(|it| it.get_mut("agent_id")));
                }
                _ => {}
            }
        }
    }
    for place in places {
        if let Some(named) = place.as_str().filter(|named| *named != "user").map(str::to_owned) {
            *place = at.holder(&named).await?.into();
        }
    }
    Ok(())
}

/// Settings for programs: each with its value and where that comes from.
fn values(all: &[Setting]) -> Value {
    let of = |setting: &Setting| json!({ "value": setting.value, "source": setting.source });
    all.iter().map(|setting| (setting.name.clone(), of(setting))).collect::<Map<String, Value>>().into()
}

/// All settings as they are in force.
async fn in_force(
    at: &At,
    project_id: ProjectId,
    view: &Reply<SettingsView>,
) -> Result<Vec<Setting>, CliError> {
    let mut all = Vec::new();
    leaves("", &view.json["settings"], Some(&view.own), &mut all);
    // What the view says of these is what the project sets.
    all.retain(|setting| !is_below(&setting.name, INNER_LOOP));
    let inner = at.call(ProjectInnerLoop, ProjectPath { project_id }).await?;
    let mut of_repository = Vec::new();
    leaves("", &inner.json["config"], None, &mut of_repository);
    all.extend(of_repository.into_iter().map(|setting| Setting {
        source: source_of(&inner.sources, &setting.name),
        name: format!("{INNER_LOOP}.{}", setting.name),
        value: setting.value,
    }));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Where a value comes from: a part of one comes from where all of it does.
fn source_of(sources: &BTreeMap<String, ValueSource>, name: &str) -> ValueSource {
    let known = sources.iter().find(|(of, _)| is_below(name, of));
    known.map_or(ValueSource::Default, |(_, source)| *source)
}

/// The merge patch that sets these, each `name=value`.
pub(super) fn set(settings: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut patch = Map::new();
    for setting in settings {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(CliError::Usage {
                message: format!("`{setting}` is not SETTING=VALUE"),
                hint: "Write it as `auto_approve=true`; `forge project settings` lists the names.",
            });
        };
        // What is no JSON is a text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        insert(&mut patch, name, value)?;
    }
    Ok(patch)
}

/// The merge patch that takes these back.
pub(super) fn unset(settings: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut patch = Map::new();
    for name in settings {
        insert(&mut patch, name, Value::Null)?;
    }
    Ok(patch)
}

fn insert(patch: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), CliError> {
    let wrong = || CliError::Usage {
        message: format!("`{name}` is not the name of a setting"),
        hint: "List them with `forge project settings`.",
    };
    let mut parts: Vec<&str> = name.split('.').collect();
    let last = parts.pop().filter(|part| !part.is_empty()).ok_or_else(wrong)?;
    let mut at = patch;
    for part in parts {
        if part.is_empty() {
            return Err(wrong());
        }
        let below = at.entry(part).or_insert_with(|| Value::Object(Map::new()));
        at = below.as_object_mut().ok_or_else(wrong)?;
    }
    at.insert(last.to_owned(), value);
    Ok(())
}

fn is_below(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || prefix.is_empty() || rest.starts_with('.'))
}

/// The values of an object that are none themselves, by name.
fn leaves(prefix: &str, value: &Value, own: Option<&Value>, into: &mut Vec<Setting>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => {
            for (name, value) in object {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                let last = name.rsplit('.').next().unwrap_or_default();
                leaves(&name, value, own.and_then(|own| own.get(last)), into);
            }
        }
        None => into.push(Setting {
            name: prefix.to_owned(),
            value: value.clone(),
            source: match own {
                Some(own) if !own.is_null() => ValueSource::Project,
                _ => ValueSource::Default,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_patches_by_name() {
        let given = ["auto_approve=true", "review_config.ci_steps=[\"true\"]", "sandbox.mode=files"];
        let patch = set(&given.map(str::to_owned)).unwrap();
        let expected = json!({
            "auto_approve": true, "review_config": { "ci_steps": ["true"] }, "sandbox": { "mode": "files" },
        });
        assert_eq!(Value::Object(patch), expected);
        let patch = unset(&["sandbox.mode".to_owned()]).unwrap();
        assert_eq!(Value::Object(patch), json!({ "sandbox": { "mode": null } }));
        for wrong in ["no value", ".a=1", "a.=1", "a=1"] {
            let given = [wrong.to_owned(), "a.b=2".to_owned()];
            assert!(set(&given).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_named_with_where_they_come_from() {
        let settings = json!({ "a": 1, "b": { "c": [], "d": {} } });
        let own = json!({ "b": { "c": [] } });
        let mut all = Vec::new();
        leaves("", &settings, Some(&own), &mut all);
        let (project, default) = (ValueSource::Project, ValueSource::Default);
        let found: Vec<(&str, ValueSource)> = all.iter().map(|it| (it.name.as_str(), it.source)).collect();
        assert_eq!(found, [("a", default), ("b.c", project), ("b.d", default)]);
        let sources = [("b.c".to_owned(), ValueSource::Repository)].into();
        assert_eq!(source_of(&sources, "b.c.x"), ValueSource::Repository);
        assert_eq!(source_of(&sources, "b.d"), default);
        assert!(is_below("b.c", "b") && is_below("b", "b") && !is_below("bc", "b") && is_below("x", ""));
    }

    #[test]
    fn what_is_no_setting_cannot_be_taken_back() {
        let setting =
            |name: &str, value: Value| Setting { name: name.to_owned(), value, source: ValueSource::Default };
        let all = [setting("a", json!(1)), setting("b.c", Value::Null)];
        let refused = |name: &str| require_known(&all, &[setting(name, Value::Null)]).is_err();
        assert!(refused("nosuch") && refused("b.x"));
        assert!(!refused("a") && !refused("b") && !refused("b.c.d"));
        assert!(
            require_known(&all, &[setting("nosuch", json!(1))]).is_ok(),
            "the engine says what is wrong with it"
        );
    }
}
