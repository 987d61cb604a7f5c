//! Services that a repository's own files imply: what somebody who wants to try the project would start. Offered to
//! people, never put in force by themselves.
//!
//! Sources: the manuals of npm, pnpm, yarn and bun on passing arguments to scripts; those of the servers in [`SERVERS`]
//! on their port; Heroku's page on `Procfile`, whose `web` listens at `PORT`; the manual of `docker compose`.

use forge_model::service::{ServiceDefinition, ServiceOffer, ServiceReady, service_findings};
use serde_json::Value;

use crate::{
    check_offer::{RootFiles, package_runner, python_runner},
    imports,
};

/// The files that say something, besides those of other tools ([`imports::FILES`]).
const OWN_FILES: &[&str] = &[
    "Makefile",
    "Procfile",
    "bun.lock",
    "bun.lockb",
    "compose.yaml",
    "compose.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "justfile",
    "manage.py",
    "package.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// Scripts and targets that start something to try, the usual one first.
const STARTS: [&str; 5] = ["dev", "start", "serve", "preview", "run"];

/// Servers that take their port as an argument only, by a word of the script that starts them.
const SERVERS: [&str; 9] = [
    "vite",
    "webpack serve",
    "webpack-dev-server",
    "astro",
    "ng serve",
    "vue-cli-service",
    "parcel",
    "gatsby",
    "http-server",
];

/// Servers that listen at `PORT`.
const BY_VARIABLE: [&str; 5] = ["next", "react-scripts", "nuxt", "remix", "strapi"];

/// The files that are read, as paths from the repository's root.
pub fn files() -> impl Iterator<Item = &'static str> {
    let others = imports::FILES.iter().filter(|file| file.ends_with(".json"));
    OWN_FILES.iter().chain(others).copied()
}

struct Offers<'f> {
    files: &'f RootFiles,
    found: Vec<ServiceOffer>,
}

impl Offers<'_> {
    /// The content of a file; empty when it is not there.
    fn text(&self, file: &str) -> &str {
        self.files.get(file).map_or("", String::as_str)
    }

    /// Offers a service. Of two with one name, the later one is named after its tool as well.
    fn offer(&mut self, source: &str, tool: &str, service: ServiceDefinition) {
        let mut service = service;
        let is_free = |name: &str| self.found.iter().all(|offer| offer.service.name != name);
        if self.found.iter().any(|offer| offer.service.command == service.command) {
            return;
        }
        if !is_free(&service.name) {
            service.name = format!("{tool}-{}", service.name);
        }
        if is_free(&service.name) {
            self.found.push(ServiceOffer { service, source: source.to_owned() });
        }
    }
}

/// What the files imply, the most usual first.
#[must_use]
pub fn service_offers(files: &RootFiles) -> Vec<ServiceOffer> {
    let mut offers = Offers { files, found: Vec::new() };
    for source in [other_tools, node, procfile, targets, django, compose] {
        source(&mut offers);
    }
    // What could not be accepted is not offered.
    offers.found.retain(|offer| service_findings(std::slice::from_ref(&offer.service), "").is_empty());
    offers.found
}

fn at_port(mut service: ServiceDefinition) -> ServiceDefinition {
    service.ready = Some(ServiceReady { port: true, ..ServiceReady::default() });
    service
}

/// What other tools run: somebody has chosen that for this very purpose.
fn other_tools(offers: &mut Offers<'_>) {
    for file in imports::FILES {
        // One that is not there is no JSON.
        let Ok(imported) = imports::import(file, offers.text(file)) else { continue };
        for (index, command) in imported.runs.iter().enumerate() {
            let name = if index == 0 { "run".to_owned() } else { format!("run-{}", index + 1) };
            let tool = file.trim_start_matches('.').split(['.', '/']).next().unwrap_or("other");
            offers.offer(file, tool, of_command(&name, command));
        }
    }
}

fn node(offers: &mut Offers<'_>) {
    let source = "package.json";
    let Ok(package) = serde_json::from_str::<Value>(offers.text(source)) else { return };
    let run = package_runner(&package, |lock| offers.files.contains_key(lock));
    // Only npm keeps arguments to itself that no `--` stands before.
    let before = if run.starts_with("npm") { " --" } else { "" };
    for name in STARTS {
        let Some(script) = package.pointer(&format!("/scripts/{name}")).and_then(Value::as_str) else {
            continue;
        };
        let has_port = [" -p", "--port", "PORT="].iter().any(|said| script.contains(said));
        let ends_with = |servers: &[&str]| !has_port && servers.iter().any(|it| ends_with_server(script, it));
        let command = format!("{run} {name}");
        let service = if ends_with(&SERVERS) {
            at_port(ServiceDefinition::of(name, &format!("{command}{before} --port \"$PORT\"")))
        } else if ends_with(&BY_VARIABLE) || names_port(script) {
            at_port(ServiceDefinition::of(name, &command))
        } else {
            ServiceDefinition::of(name, &command)
        };
        offers.offer(source, "npm", service);
    }
}

/// Whether the last command of a script, which is the one that gets what is put behind it, is this server.
fn ends_with_server(script: &str, server: &str) -> bool {
    let last = script.rsplit(['&', '|', ';']).next().unwrap_or_default();
    let mut words = last
        .split_whitespace()
        .skip_while(|word| word.contains('=') || matches!(*word, "npx" | "bunx" | "exec" | "cross-env"));
    let is_server = server.split(' ').all(|word| words.next() == Some(word));
    // With some words it does another thing, and ends.
    is_server && !matches!(words.next(), Some("build" | "test" | "lint" | "check" | "export"))
}

/// Whether a command reads the port that it is given.
fn names_port(command: &str) -> bool {
    ["$PORT", "${PORT"].iter().any(|name| command.contains(name))
}

/// A service of a command, which is waited for at its port where it reads that.
fn of_command(name: &str, command: &str) -> ServiceDefinition {
    let service = ServiceDefinition::of(name, command);
    if names_port(command) { at_port(service) } else { service }
}

fn procfile(offers: &mut Offers<'_>) {
    let lines: Vec<(String, String)> = offers
        .text("Procfile")
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, command)| (name.trim().to_owned(), command.trim().to_owned()))
        .collect();
    // What is run once before a release is no service.
    for (name, command) in lines.iter().filter(|(name, command)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        name != "release" && !command.is_empty() && !name.is_empty() && name.chars().all(is_name)
    }) {
        let service = of_command(name, command);
        offers.offer("Procfile", "procfile", if name == "web" { at_port(service) } else { service });
    }
}

fn targets(offers: &mut Offers<'_>) {
    for (file, run) in [("Makefile", "make"), ("justfile", "just")] {
        for target in STARTS {
            if offers.text(file).lines().any(|line| crate::check_offer::is_rule(line, target)) {
                offers.offer(file, run, ServiceDefinition::of(target, &format!("{run} {target}")));
            }
        }
    }
}

fn django(offers: &mut Offers<'_>) {
    if offers.text("manage.py").contains("django") {
        let run = python_runner(|lock| offers.files.contains_key(lock));
        let python = if run.is_empty() { "python3" } else { "python" };
        let service = ServiceDefinition::of("web", &format!("{run}{python} manage.py runserver \"$PORT\""));
        offers.offer("manage.py", "django", at_port(service));
    }
}

/// Only where the file takes its port from outside: two tasks cannot both have a fixed one. The containers of each task
/// are its own by the name of their project; they get less time to stop than the service does.
fn compose(offers: &mut Offers<'_>) {
    for file in ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"] {
        if names_port(offers.text(file)) {
            let command = "docker compose --project-name \"forge-$FORGE_TASK_ID\" up --build --timeout 3";
            offers.offer(file, "docker", at_port(ServiceDefinition::of("compose", command)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each service with its command, whether it is waited for at its port, and its source. All can be accepted.
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let offers = service_offers(&files);
        let services: Vec<ServiceDefinition> = offers.iter().map(|offer| offer.service.clone()).collect();
        assert_eq!(service_findings(&services, "services"), []);
        let shown = |ServiceOffer { service, source }: &ServiceOffer| {
            let at = if service.ready.is_some() { " @" } else { "" };
            format!("{}: {}{at} < {source}", service.name, service.command)
        };
        offers.iter().map(shown).collect()
    }

    #[test]
    fn scripts_that_serve_get_the_port_as_their_server_takes_it() {
        let package = r#"{"scripts":{"dev":"vite","start":"node server.js","preview":"vite preview --port 80","test":"vitest"}}"#;
        assert_eq!(
            of(&[("package.json", package)]),
            [
                "dev: npm run dev -- --port \"$PORT\" @ < package.json",
                "start: npm run start < package.json",
                "preview: npm run preview < package.json",
            ]
        );
        assert_eq!(
            of(&[("package.json", r#"{"scripts":{"dev":"next dev","serve":"vitest"}}"#), ("yarn.lock", "")]),
            ["dev: yarn run dev @ < package.json", "serve: yarn run serve < package.json"]
        );
        assert_eq!(
            of(&[("package.json", r#"{"packageManager":"pnpm@9","scripts":{"dev":"astro dev"}}"#)]),
            ["dev: pnpm run dev --port \"$PORT\" @ < package.json"]
        );
    }

    #[test]
    fn script_that_ends_with_another_program_or_has_a_port_gets_none() {
        for script in [
            "vite build && node server.js",
            "vite build --watch",
            "concurrently 'vite' 'node api'",
            "tsx --config vite.config.ts",
            "vitest",
            "PORT=3001 react-scripts start",
            "next dev -p 3001",
            "http-server -p 8080",
        ] {
            let package = format!(r#"{{"scripts":{{"dev":"{script}"}}}}"#);
            assert_eq!(of(&[("package.json", &package)]), ["dev: npm run dev < package.json"], "{script}");
        }
        for script in ["tsc && vite", "cross-env A=1 webpack serve --open", "npx vite preview"] {
            let package = format!(r#"{{"scripts":{{"dev":"{script}"}}}}"#);
            let at_port = "dev: npm run dev -- --port \"$PORT\" @ < package.json";
            assert_eq!(of(&[("package.json", &package)]), [at_port], "{script}");
        }
    }

    #[test]
    fn processes_targets_and_containers() {
        assert_eq!(
            of(&[
                (
                    "Procfile",
                    "-x: y\nweb: gunicorn app -b :$PORT\nworker: celery\nrelease: migrate\n# a: comment\n"
                ),
                ("Makefile", "dev: deps\n\tx\nstart := 1\n"),
                ("justfile", "dev:\n  x\n"),
                ("manage.py", "import django"),
                ("compose.yaml", "ports: [\"80:80\"]"),
                ("docker-compose.yml", "ports: [\"${PORT}:80\"]"),
            ]),
            [
                "web: gunicorn app -b :$PORT @ < Procfile",
                "worker: celery < Procfile",
                "dev: make dev < Makefile",
                "just-dev: just dev < justfile",
                "django-web: python3 manage.py runserver \"$PORT\" @ < manage.py",
                "compose: docker compose --project-name \"forge-$FORGE_TASK_ID\" up --build --timeout 3 @ < docker-compose.yml",
            ]
        );
    }

    #[test]
    fn what_other_tools_run_comes_first_with_variables_of_forge() {
        assert_eq!(
            of(&[
                ("conductor.json", r#"{"scripts":{"run":"npm run dev --port $CONDUCTOR_PORT"}}"#),
                (".superset/config.json", r#"{"run":["bun dev","bun api"]}"#),
                (".emdash.json", "no JSON"),
                ("package.json", r#"{"scripts":{"run":"x"}}"#),
            ]),
            [
                "run: npm run dev --port $PORT @ < conductor.json",
                "superset-run: bun dev < .superset/config.json",
                "run-2: bun api < .superset/config.json",
                "npm-run: npm run run < package.json",
            ]
        );
    }

    #[test]
    fn nothing_is_offered_where_nothing_is_implied() {
        assert_eq!(of(&[]), [] as [&str; 0]);
        assert_eq!(of(&[("package.json", "{"), ("Procfile", "web:\n: x\n")]), [] as [&str; 0]);
        assert_eq!(of(&[("package.json", r#"{"scripts":{"dev":5}}"#)]), [] as [&str; 0]);
    }
}
