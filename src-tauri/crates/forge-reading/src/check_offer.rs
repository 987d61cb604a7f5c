//! Checks that a repository's own files imply: what somebody who looks at its root would run. Offered to people, never
//! put in force by themselves.

use std::collections::BTreeMap;

use forge_model::check_offer::CheckOffer;
use serde_json::Value;

/// The files of the root that say something.
pub const FILES: &[&str] = &[
    ".rspec",
    ".rustfmt.toml",
    "Cargo.toml",
    "Gemfile",
    "Makefile",
    "bun.lock",
    "bun.lockb",
    "build.gradle",
    "build.gradle.kts",
    "clippy.toml",
    "composer.json",
    "deno.json",
    "go.mod",
    "gradlew",
    "justfile",
    "mix.exs",
    "mvnw",
    "mypy.ini",
    "package.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pom.xml",
    "pyproject.toml",
    "pytest.ini",
    "ruff.toml",
    "rustfmt.toml",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
    "uv.lock",
    "yarn.lock",
];

/// The files of a root, by name; what is no text, or too long, is there with an empty content.
pub type RootFiles = BTreeMap<String, String>;

struct Offers<'f> {
    files: &'f RootFiles,
    found: Vec<CheckOffer>,
}

impl Offers<'_> {
    fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// The content of a file; empty when it is not there.
    fn text(&self, file: &str) -> &str {
        self.files.get(file).map_or("", String::as_str)
    }

    /// Whether a line of a file begins so.
    fn says(&self, file: &str, start: &str) -> bool {
        self.text(file).lines().any(|line| line.trim_start().starts_with(start))
    }

    fn offer(&mut self, source: &str, command: impl Into<String>) {
        let command = command.into();
        if self.found.iter().all(|known| known.command != command) {
            self.found.push(CheckOffer { command, source: source.to_owned() });
        }
    }
}

/// What the files imply, the quickest of a language first.
#[must_use]
pub fn check_offers(files: &RootFiles) -> Vec<CheckOffer> {
    let mut offers = Offers { files, found: Vec::new() };
    for language in [rust, node, python, go, make, others] {
        language(&mut offers);
    }
    offers.found
}

fn rust(offers: &mut Offers<'_>) {
    let source = "Cargo.toml";
    if !offers.has(source) {
        return;
    }
    if offers.has("rustfmt.toml") || offers.has(".rustfmt.toml") {
        offers.offer(source, "cargo fmt --check");
    }
    let all = if offers.says(source, "[workspace") { " --workspace" } else { "" };
    let has_lints = ["[lints", "[workspace.lints"].iter().any(|table| offers.says(source, table));
    if has_lints || offers.has("clippy.toml") {
        offers.offer(source, format!("cargo clippy{all} --all-targets -- -D warnings"));
    }
    offers.offer(source, format!("cargo test{all}"));
}

/// The scripts that check something, in the order in which they are worth running.
const SCRIPTS: [&str; 10] = [
    "format:check",
    "lint",
    "typecheck",
    "type-check",
    "check-types",
    "check",
    "build",
    "test",
    "test:unit",
    "test:ci",
];
/// What npm writes where there is no test.
const NO_TEST: &str = "no test specified";

/// How scripts of a package are run: by the package manager that it names, or else that of its lock file.
pub(crate) fn package_runner(package: &Value, has: impl Fn(&str) -> bool) -> &'static str {
    let named = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let uses = |manager: &str, locks: &[&str]| {
        named.starts_with(manager) || (named.is_empty() && locks.iter().any(|lock| has(lock)))
    };
    if uses("pnpm", &["pnpm-lock.yaml"]) {
        "pnpm run"
    } else if uses("yarn", &["yarn.lock"]) {
        "yarn run"
    } else if uses("bun", &["bun.lock", "bun.lockb"]) {
        "bun run"
    } else {
        "npm run"
    }
}

fn node(offers: &mut Offers<'_>) {
    let source = "package.json";
    let Ok(package) = serde_json::from_str::<Value>(offers.text(source)) else { return };
    let run = package_runner(&package, |lock| offers.has(lock));
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str();
    // One that watches never ends.
    let checks = |text: &str| !text.contains("--watch") && !text.contains(NO_TEST);
    for name in SCRIPTS {
        if script(name).is_some_and(checks) {
            offers.offer(source, format!("{run} {name}"));
        }
    }
    let typechecks = ["typecheck", "type-check", "check-types"].iter().any(|name| script(name).is_some());
    let has_typescript =
        ["devDependencies", "dependencies"].iter().any(|of| package[*of].get("typescript").is_some());
    if has_typescript && offers.has("tsconfig.json") && !typechecks {
        offers.offer("tsconfig.json", "npx tsc --noEmit");
    }
}

/// What programs of Python are run by, as the lock file implies; empty where there is none.
pub(crate) fn python_runner(has: impl Fn(&str) -> bool) -> &'static str {
    if has("uv.lock") {
        "uv run "
    } else if has("poetry.lock") {
        "poetry run "
    } else {
        ""
    }
}

fn python(offers: &mut Offers<'_>) {
    let run = python_runner(|lock| offers.has(lock));
    let project = "pyproject.toml";
    let first =
        |found: &[(&str, bool)]| found.iter().find(|(_, says)| *says).map(|(file, _)| (*file).to_owned());
    let ruff = [("ruff.toml", offers.has("ruff.toml")), (project, offers.says(project, "[tool.ruff"))];
    let mypy = [("mypy.ini", offers.has("mypy.ini")), (project, offers.says(project, "[tool.mypy"))];
    let tox = [("tox.ini", offers.says("tox.ini", "[tox]")), (project, offers.says(project, "[tool.tox"))];
    let pytest = [
        ("pytest.ini", offers.has("pytest.ini")),
        (project, offers.says(project, "[tool.pytest")),
        ("setup.cfg", offers.says("setup.cfg", "[tool:pytest]")),
        ("tox.ini", offers.says("tox.ini", "[pytest]")),
    ];
    for (found, command) in [
        (first(&ruff), "ruff check ."),
        (first(&mypy), "mypy ."),
        (first(&tox), "tox"),
        (first(&pytest), "pytest"),
    ] {
        if let Some(source) = found {
            offers.offer(&source, format!("{run}{command}"));
        }
    }
}

fn go(offers: &mut Offers<'_>) {
    if offers.has("go.mod") {
        offers.offer("go.mod", "go vet ./...");
        offers.offer("go.mod", "go test ./...");
    }
}

fn make(offers: &mut Offers<'_>) {
    for (file, run) in [("Makefile", "make"), ("justfile", "just")] {
        for target in ["lint", "check", "test"] {
            if offers.text(file).lines().any(|line| is_rule(line, target)) {
                offers.offer(file, format!("{run} {target}"));
            }
        }
    }
}

/// Whether a line begins the rule of a target.
pub(crate) fn is_rule(line: &str, target: &str) -> bool {
    line.strip_prefix(target)
        .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.trim_start().starts_with(":="))
}

fn others(offers: &mut Offers<'_>) {
    for build in ["build.gradle.kts", "build.gradle"] {
        if offers.has(build) {
            offers.offer(build, if offers.has("gradlew") { "./gradlew check" } else { "gradle check" });
        }
    }
    if offers.has("pom.xml") {
        let run = if offers.has("mvnw") { "./mvnw" } else { "mvn" };
        offers.offer("pom.xml", format!("{run} --batch-mode verify"));
    }
    if offers.has("mix.exs") {
        offers.offer("mix.exs", "mix test");
    }
    if offers.has(".rspec") && offers.has("Gemfile") {
        offers.offer(".rspec", "bundle exec rspec");
    }
    if offers.has("deno.json") {
        offers.offer("deno.json", "deno test");
    }
    let composer: Value = serde_json::from_str(offers.text("composer.json")).unwrap_or_default();
    if composer.pointer("/scripts/test").is_some() {
        offers.offer("composer.json", "composer test");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command with its source.
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        check_offers(&files).into_iter().map(|it| format!("{} < {}", it.command, it.source)).collect()
    }

    #[test]
    fn nothing_is_offered_where_nothing_is_implied() {
        assert_eq!(of(&[]), [] as [&str; 0]);
        assert_eq!(
            of(&[("package.json", "{"), ("pyproject.toml", "[project]\n"), ("tsconfig.json", "{}")]),
            [] as [&str; 0]
        );
        let placeholder =
            r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1","check":"tsc --watch"}}"#;
        assert_eq!(of(&[("package.json", placeholder)]), [] as [&str; 0]);
    }

    #[test]
    fn rust_is_checked_as_its_files_ask_for() {
        assert_eq!(of(&[("Cargo.toml", "[package]\n")]), ["cargo test < Cargo.toml"]);
        let strict = [("Cargo.toml", "[workspace]\n[workspace.lints.rust]\n"), (".rustfmt.toml", "")];
        assert_eq!(
            of(&strict),
            [
                "cargo fmt --check < Cargo.toml",
                "cargo clippy --workspace --all-targets -- -D warnings < Cargo.toml",
                "cargo test --workspace < Cargo.toml",
            ]
        );
    }

    #[test]
    fn scripts_are_run_by_the_package_manager_of_the_lock_file() {
        let package = r#"{"scripts":{"test":"vitest run","lint":"eslint .","dev":"vite"},"devDependencies":{"typescript":"5"}}"#;
        assert_eq!(
            of(&[("package.json", package), ("pnpm-lock.yaml", ""), ("tsconfig.json", "{}")]),
            [
                "pnpm run lint < package.json",
                "pnpm run test < package.json",
                "npx tsc --noEmit < tsconfig.json"
            ]
        );
        let named = r#"{"packageManager":"yarn@4","scripts":{"test":"jest"}}"#;
        assert_eq!(of(&[("package.json", named), ("pnpm-lock.yaml", "")]), ["yarn run test < package.json"]);
    }

    #[test]
    fn python_go_make_and_others() {
        let pyproject = "[tool.ruff]\n[tool.pytest.ini_options]\n";
        assert_eq!(
            of(&[("pyproject.toml", pyproject), ("uv.lock", "")]),
            ["uv run ruff check . < pyproject.toml", "uv run pytest < pyproject.toml"]
        );
        assert_eq!(of(&[("tox.ini", "[tox]\n[pytest]\n")]), ["tox < tox.ini", "pytest < tox.ini"]);
        assert_eq!(of(&[("go.mod", "")]), ["go vet ./... < go.mod", "go test ./... < go.mod"]);
        let makefile = "test := 1\nlint: all\n\tx\ncheck :\ntest-all:\n";
        assert_eq!(of(&[("Makefile", makefile)]), ["make lint < Makefile", "make check < Makefile"]);
        assert_eq!(
            of(&[
                ("build.gradle.kts", ""),
                ("gradlew", ""),
                ("pom.xml", ""),
                ("composer.json", r#"{"scripts":{"test":"x"}}"#)
            ]),
            [
                "./gradlew check < build.gradle.kts",
                "mvn --batch-mode verify < pom.xml",
                "composer test < composer.json",
            ]
        );
    }
}
