//! Who may know whom, as the manifests say it.

use std::path::Path;

use super::Finding;
use crate::workspace::{Dependency, Package};

/// A member, and the members it may depend on. What is decided sits left of what acts on it:
/// model, exec <- transfer, prompt, reading, store, git, hosts, demo <- agents <- engine <- api <- server <- the programs.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("forge-model", &[]),
    ("forge-store", &["forge-model"]),
    ("forge-git", &["forge-exec", "forge-model", "forge-transfer"]),
    ("forge-exec", &[]),
    ("forge-transfer", &["forge-exec"]),
    ("forge-keeper", &["forge-exec", "forge-transfer"]),
    ("forge-machines", &["forge-exec", "forge-keeper", "forge-transfer"]),
    ("forge-machines-testkit", &["forge-exec", "forge-keeper", "forge-machines"]),
    ("forge-hosts", &["forge-model"]),
    ("forge-demo", &["forge-exec"]),
    ("forge-source", &[]),
    ("forge-prompt", &["forge-model"]),
    ("forge-reading", &["forge-model"]),
    ("forge-agents", &["forge-exec", "forge-keeper", "forge-model", "forge-prompt", "forge-reading"]),
    (
        "forge-engine",
        &[
            "forge-agents",
            "forge-exec",
            "forge-git",
            "forge-hosts",
            "forge-keeper",
            "forge-machines",
            "forge-model",
            "forge-prompt",
            "forge-reading",
            "forge-source",
            "forge-store",
            "forge-transfer",
        ],
    ),
    (
        "forge-core",
        &[
            "forge-agents",
            "forge-exec",
            "forge-git",
            "forge-hosts",
            "forge-keeper",
            "forge-machines",
            "forge-model",
            "forge-prompt",
            "forge-reading",
            "forge-source",
            "forge-store",
            "forge-transfer",
        ],
    ),
    ("forge-api", &["forge-demo", "forge-engine", "forge-model", "forge-store"]),
    ("forge-mcp", &["forge-api", "forge-model"]),
    ("forge-server", &["forge-api", "forge-engine", "forge-mcp", "forge-model"]),
    ("forge-remote", &["forge-api", "forge-exec", "forge-machines", "forge-model"]),
    (
        "forge-cli",
        &[
            "forge-api",
            "forge-demo",
            "forge-engine",
            "forge-exec",
            "forge-mcp",
            "forge-model",
            "forge-reading",
            "forge-remote",
            "forge-server",
        ],
    ),
    (
        "forge-desktop",
        &[
            "forge-api",
            "forge-demo",
            "forge-engine",
            "forge-exec",
            "forge-model",
            "forge-remote",
            "forge-server",
        ],
    ),
    ("xtask", &[]),
];

/// These exist for the tests, so they may know everybody.
const MAY_KNOW_ALL: &[&str] = &["forge-testkit", "forge-tests"];

/// Tests of any member may use these, whatever the table says.
const FOR_TESTS_OF_ALL: &[&str] = &["forge-demo", "forge-machines-testkit", "forge-testkit"];

/// Packages from outside that only one member may use.
const USED_ONCE: &[(&str, &str)] = &[("sqlx", "forge-store")];

/// Checks every edge between members, that packages of one member stay there, and that the engine knows no window.
pub fn check(root: &Path, packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_package(root, package)).collect()
}

fn check_package(root: &Path, package: &Package) -> Vec<Finding> {
    let manifest =
        package.manifest_path.strip_prefix(root).unwrap_or(&package.manifest_path).display().to_string();
    let mut findings = Vec::new();
    if !MAY_KNOW_ALL.contains(&package.name.as_str()) {
        match MAY_KNOW.iter().find(|(name, _)| *name == package.name) {
            Some((_, allowed)) => {
                for dependency in
                    package.dependencies.iter().filter(|dependency| !is_allowed(dependency, allowed))
                {
                    let message = format!("{} may not know {}", package.name, dependency.name);
                    findings.push(Finding::of_file(&manifest, message));
                }
            }
            None => {
                let message = format!("{} has no place in tidy's table of who may know whom", package.name);
                findings.push(Finding::of_file(&manifest, message));
            }
        }
    }
    for (name, owner) in USED_ONCE {
        let uses = package.dependencies.iter().any(|dependency| dependency.name == *name);
        if uses && package.name != *owner {
            let message = format!("{} may not know {name}: only {owner} does", package.name);
            findings.push(Finding::of_file(&manifest, message));
        }
    }
    if manifest.starts_with("src-tauri/crates/") {
        for dependency in
            package.dependencies.iter().filter(|dependency| dependency.name.starts_with("tauri"))
        {
            let message =
                format!("{} may not know {}: only the window's shell does", package.name, dependency.name);
            findings.push(Finding::of_file(&manifest, message));
        }
    }
    findings
}

fn is_allowed(dependency: &Dependency, allowed: &[&str]) -> bool {
    let name = dependency.name.as_str();
    dependency.path.is_none()
        || allowed.contains(&name)
        || (dependency.kind.as_deref() == Some("dev") && FOR_TESTS_OF_ALL.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|(name, kind)| Dependency {
                name: (*name).to_owned(),
                kind: kind.map(str::to_owned),
                path: name.starts_with("forge-").then(|| format!("/repo/{name}").into()),
            })
            .collect();
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            manifest_path: format!("/repo/{folder}/Cargo.toml").into(),
            dependencies,
        }
    }

    fn messages(package: &Package) -> Vec<String> {
        check_package(Path::new("/repo"), package).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edges_go_one_way() {
        let crates = "src-tauri/crates/x";
        for (name, dependencies, expected) in [
            ("forge-store", vec![("forge-model", None), ("sqlx", None)], vec![]),
            (
                "forge-model",
                vec![("forge-store", None)],
                vec!["src-tauri/crates/x/Cargo.toml: forge-model may not know forge-store"],
            ),
            (
                "forge-engine",
                vec![("forge-api", Some("dev"))],
                vec!["src-tauri/crates/x/Cargo.toml: forge-engine may not know forge-api"],
            ),
            ("forge-engine", vec![("forge-testkit", Some("dev"))], vec![]),
            (
                "forge-engine",
                vec![("sqlx", None)],
                vec!["src-tauri/crates/x/Cargo.toml: forge-engine may not know sqlx: only forge-store does"],
            ),
            (
                "forge-tests",
                vec![("sqlx", Some("dev"))],
                vec!["src-tauri/crates/x/Cargo.toml: forge-tests may not know sqlx: only forge-store does"],
            ),
            (
                "forge-engine",
                vec![("forge-testkit", None)],
                vec!["src-tauri/crates/x/Cargo.toml: forge-engine may not know forge-testkit"],
            ),
            ("forge-testkit", vec![("forge-cli", None)], vec![]),
            (
                "forge-new",
                vec![],
                vec![
                    "src-tauri/crates/x/Cargo.toml: forge-new has no place in tidy's table of who may know whom",
                ],
            ),
        ] {
            assert_eq!(messages(&package(name, crates, &dependencies)), expected, "{name}");
        }
    }

    #[test]
    fn only_the_shell_knows_tauri() {
        let plugin: &[_] = &[("tauri-plugin-shell", None)];
        assert_eq!(
            messages(&package("forge-engine", "src-tauri/crates/forge-engine", plugin)),
            [
                "src-tauri/crates/forge-engine/Cargo.toml: forge-engine may not know tauri-plugin-shell: only the window's shell does"
            ]
        );
        assert!(messages(&package("forge-desktop", ".", plugin)).is_empty());
    }
}
