//! Who imports whom in the UI: the host is known to the platform alone, each folder imports the folders
//! below it, and no feature knows another.

use super::Finding;

const SOURCES: &str = "ui/src/";

/// What each folder may import besides itself. Tests and what only tests import are free.
const LAYERS: &[(&str, &[&str])] = &[
    ("platform", &[]),
    ("store", &[]),
    ("i18n", &[]),
    ("api", &["platform"]),
    ("components", &["api", "i18n", "styles"]),
    ("draft", &["api", "components", "i18n", "styles"]),
    ("domain", &["api", "components", "i18n", "platform", "store", "styles"]),
    ("features", &["api", "app", "components", "domain", "draft", "i18n", "platform", "store", "styles"]),
    ("app", &["api", "components", "domain", "draft", "features", "i18n", "platform", "store", "styles"]),
];

/// Checks the imports of one file of the UI; says nothing about other files.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some(within) = path.strip_prefix(SOURCES) else { return Vec::new() };
    if !within.ends_with(".ts") && !within.ends_with(".tsx") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for specifier in specifiers(line) {
            if let Some(message) = judge(within, specifier) {
                findings.push(Finding::of_line(path, index + 1, message));
            }
        }
    }
    findings
}

fn judge(within: &str, specifier: &str) -> Option<String> {
    if specifier.starts_with("@tauri-apps/") && !within.starts_with("platform/") {
        return Some(format!("`{specifier}` is imported here; only platform/ knows the host"));
    }
    let target = resolve(within, specifier)?;
    if let Some(message) = judge_layer(within, &target) {
        return Some(message);
    }
    let (here, there) = (feature(within)?, feature(&target)?);
    (here != there).then(|| format!("the feature {here} imports the feature {there}"))
}

fn judge_layer(within: &str, target: &str) -> Option<String> {
    if within.contains(".test.") || within.contains("/testing/") {
        return None;
    }
    let (here, there) = (within.split_once('/')?.0, target.split_once('/')?.0);
    let (_, allowed) = LAYERS.iter().find(|(folder, _)| *folder == here)?;
    let is_known = LAYERS.iter().any(|(folder, _)| *folder == there) || there == "test";
    (is_known && here != there && !allowed.contains(&there))
        .then(|| format!("{here}/ imports {there}/, which is not below it"))
}

/// The feature that a path within the sources belongs to.
fn feature(within: &str) -> Option<&str> {
    within.strip_prefix("features/")?.split_once('/').map(|(name, _)| name)
}

/// Where a specifier points, from the sources; none for a package.
fn resolve(within: &str, specifier: &str) -> Option<String> {
    if let Some(path) = specifier.strip_prefix("#ui/") {
        return Some(path.to_owned());
    }
    if !specifier.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = within.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// What a line imports, re-exports or loads. The last line of an import that spans several names it.
fn specifiers(line: &str) -> impl Iterator<Item = &str> {
    ["from ", "import ", "import(", "mock("].into_iter().filter_map(move |keyword| {
        let (before, after) = line.split_once(keyword)?;
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        after[1..].split_once(quote).map(|(specifier, _)| specifier)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_judged_by_where_they_stand() {
        for (path, line, expected) in [
            ("ui/src/platform/tauri.ts", r#"import { invoke } from "@tauri-apps/api/core";"#, None),
            (
                "ui/src/app/Shell.tsx",
                r#"import { invoke } from "@tauri-apps/api/core";"#,
                Some("`@tauri-apps/api/core` is imported here; only platform/ knows the host"),
            ),
            ("ui/src/features/board/Card.tsx", r##"import { diff } from "#ui/components/Diff.tsx";"##, None),
            ("ui/src/features/board/Card.tsx", r#"} from "./order.ts";"#, None),
            ("ui/src/features/board/deep/Card.tsx", r#"} from "../order.ts";"#, None),
            (
                "ui/src/features/board/Card.tsx",
                r##"} from "#ui/features/task/title.ts";"##,
                Some("the feature board imports the feature task"),
            ),
            (
                "ui/src/features/board/deep/Card.tsx",
                "export * from '../../task/title.ts';",
                Some("the feature board imports the feature task"),
            ),
            (
                "ui/src/features/board/Card.tsx",
                r#"const Task = lazy(() => import("../task/Task.tsx"));"#,
                Some("the feature board imports the feature task"),
            ),
            ("ui/src/app/screens.tsx", r##"lazy(() => import("#ui/features/task/Task.tsx"))"##, None),
            (
                "ui/src/domain/asks.ts",
                r##"import { Task } from "#ui/features/task/Task.tsx";"##,
                Some("domain/ imports features/, which is not below it"),
            ),
            (
                "ui/src/components/Kbd.tsx",
                r#"import { size } from "../domain/size.ts";"#,
                Some("components/ imports domain/, which is not below it"),
            ),
            (
                "ui/src/features/board/Card.tsx",
                r##"import { sampleTask } from "#ui/test/sample.ts";"##,
                Some("features/ imports test/, which is not below it"),
            ),
            (
                "ui/src/domain/race/strategies.test.ts",
                r##"import { sampleTask } from "#ui/test/sample.ts";"##,
                None,
            ),
            ("ui/src/features/board/Card.tsx", r##"import { size } from "#ui/domain/size.ts";"##, None),
            ("ui/README.md", r#"import "@tauri-apps/api""#, None),
        ] {
            let found: Vec<String> = check(path, line).into_iter().map(|finding| finding.message).collect();
            assert_eq!(found.first().map(String::as_str), expected, "{path}: {line}");
        }
    }
}
