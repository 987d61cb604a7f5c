//! Images that are built here: once for each content, by podman and by the devcontainer CLI. One test, since builds of
//! several could not be told apart by what they leave.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_machines::{
    ContainerFault, Fault, StepName,
    container::{ContainerConfig, Containers, ImageSource},
};
use forge_machines_testkit::{BASE, Following, Podman};

use crate::{LONG, script};

/// An image with nothing but a shell, git, and their libraries. What the tests build of the keeper is not static: two of
/// the libraries are its own.
const BARE: &str = "RUN mkdir -p /o/bin /o/tmp /o/root /o/etc && echo 'root:x:0:0::/root:/bin/sh' > /o/etc/passwd && \
     cp /bin/sh /o/bin/ && cp /usr/bin/git /o/bin/ && \
     for f in $(ldd /bin/sh /usr/bin/git | grep -o '/lib[^ ]*' | sort -u) /lib/*/libgcc_s.so.1 /lib/*/libm.so.6; do \
     mkdir -p /o${f%/*}; cp -L $f /o$f; done\nFROM scratch\nCOPY --from=0 /o /\n";

struct Source(PathBuf);

impl Source {
    fn of(podman: &Podman, name: &str, content: &str) -> Self {
        let folder = podman.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let source = Self(folder);
        source.write("Containerfile", content);
        source
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.0.join(name), content).unwrap();
    }

    async fn open(&self, podman: &Podman) -> Containers {
        let image = ImageSource::Containerfile(self.0.join("Containerfile"));
        Containers::open(podman.setup(ContainerConfig { image, ..podman.config() })).await.unwrap()
    }
}

#[tokio::test]
async fn images_are_built_once_for_each_content() {
    let Some(podman) = Podman::rootful() else { return };
    containerfile(&podman).await;
    bare_image(&podman).await;
    devcontainer(&podman).await;
    podman.prune().unwrap();
    podman.close().unwrap();
}

async fn containerfile(podman: &Podman) {
    let source = Source::of(
        podman,
        "built",
        &format!(
            "FROM {BASE}\nCOPY tool /usr/local/bin/\nRUN head -c 8 /proc/sys/kernel/random/uuid > /made\n"
        ),
    );
    source.write("tool", "#!/bin/sh\necho one\n");
    let containers = source.open(podman).await;
    // Two tasks that come at once share one.
    let (first, other) = tokio::join!(containers.allocate("t"), containers.allocate("u"));
    let first = first.unwrap();
    assert_eq!(first, other.unwrap());
    let made = |task: &str| podman.podman(&["exec", &containers.name(task), "cat", "/made"]).unwrap();
    assert_eq!(made("t"), made("u"));
    // Another content is another image, which a container that is there does not get.
    source.write("tool", "#!/bin/sh\necho two\n");
    let second = containers.image().await.unwrap();
    assert_ne!(first.name, second.name);
    assert_eq!(containers.allocate("t").await.unwrap(), second);
    containers.release("u").await.unwrap();
    // The one in use stays, and so does the one that is kept.
    assert_eq!(containers.sweep_images(std::slice::from_ref(&second.name)).await.unwrap(), 0);
    containers.release("t").await.unwrap();
    assert_eq!(containers.sweep_images(std::slice::from_ref(&second.name)).await.unwrap(), 1);
    assert_eq!(containers.sweep_images(&[]).await.unwrap(), 1);
    // A build that fails is told with what it printed last.
    source.write("Containerfile", &format!("FROM {BASE}\nRUN echo this is why; exit 7\n"));
    let fault = source.open(podman).await.allocate("t").await.unwrap_err();
    let Fault::Container(ContainerFault::Build { last_lines, .. }) = &fault else { panic!("{fault:?}") };
    assert!(last_lines.contains("this is why") && last_lines.contains('7'), "{last_lines}");
}

async fn bare_image(podman: &Podman) {
    let source = Source::of(podman, "bare", &format!("FROM {BASE}\n{BARE}"));
    let containers = source.open(podman).await;
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let environment = machine.login_environment().await.unwrap();
    let keeper = machine.keeper(1, LONG);
    let mut run = script("a", "git --version && echo $HOME && ls");
    run.command = run.command.base(environment);
    let (finished, printed) = Following::of(keeper.open(run).await.unwrap()).end().await;
    assert!(!finished.unwrap().is_success(), "there is no `ls`");
    let out = String::from_utf8_lossy(&printed.out).into_owned();
    assert!(out.starts_with("git version ") && out.ends_with("/root\n"), "{out}");
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    // Without git, and without a shell.
    let source = Source::of(
        podman,
        "no-git",
        &format!("FROM {BASE}\n{BARE}").replace("cp /usr/bin/git /o/bin/", "true"),
    );
    let containers = source.open(podman).await;
    let steps = test(podman, &source).await;
    let git = steps.iter().find(|step| step.name == StepName::Git).unwrap();
    assert!(!git.ok && git.remedy.as_ref().is_some_and(|remedy| remedy.contains("image")), "{git:?}");
    drop(containers);
    let source =
        Source::of(podman, "no-shell", &format!("FROM {BASE}\n{BARE}").replace("cp /bin/sh /o/bin/", "true"));
    let steps = test(podman, &source).await;
    let last = steps.last().unwrap();
    assert!(!last.ok && last.message.contains("no shell"), "{steps:?}");
    let containers = source.open(podman).await;
    containers.allocate("t").await.unwrap();
    let fault = containers.machine("t").connect().await.unwrap_err();
    assert!(matches!(&fault, Fault::NoProgram { program, .. } if program == "sh"), "{fault:?}");
    containers.release("t").await.unwrap();
}

async fn test(podman: &Podman, source: &Source) -> Vec<forge_machines::Step> {
    let image = ImageSource::Containerfile(source.0.join("Containerfile"));
    Containers::test(podman.setup(ContainerConfig { image, ..podman.config() }), &[], |_| ()).await
}

/// The CLI, as the lock file of the programs of tests names it.
fn cli() -> Option<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/agents/programs");
    let cli = programs.join("node_modules/.bin/devcontainer");
    if cli.is_file() {
        return Some(cli);
    }
    eprintln!("skipped: the devcontainer CLI is not installed in {}", programs.display());
    None
}

async fn devcontainer(podman: &Podman) {
    let Some(cli) = cli() else { return };
    let folder = podman.folder.path().join("sample/.devcontainer");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("devcontainer.json");
    let write = |content: &str| fs::write(&file, content).unwrap();
    fs::write(folder.join("Dockerfile"), format!("FROM {BASE}\nRUN useradd -m dev\n")).unwrap();
    write(
        r#"{ // A comment, as they have.
        "name": "sample", "build": { "dockerfile": "Dockerfile" }, "remoteUser": "dev", "privileged": true,
        "initializeCommand": "touch /tmp/forge-test-never", "runArgs": ["--privileged"],
        "containerEnv": { "SAMPLE": "yes" }, "remoteEnv": { "BOTH": "${containerEnv:SAMPLE}-${localEnv:HOME}" },
        "onCreateCommand": ["echo", "a b"], "postCreateCommand": "echo made > ~/made" }"#,
    );
    let open = |cli: PathBuf| {
        let image = ImageSource::Devcontainer(file.clone());
        let mut setup = podman.setup(ContainerConfig { image, ..podman.config() });
        setup.programs.devcontainer = cli.into();
        Containers::open(setup)
    };
    let containers = open("no-such-cli".into()).await.unwrap();
    let fault = containers.allocate("t").await.unwrap_err();
    assert!(matches!(fault, Fault::Container(ContainerFault::NoDevcontainer { .. })), "{fault:?}");
    let containers = open(cli.clone()).await.unwrap();
    let image = containers.allocate("t").await.unwrap();
    assert_eq!(containers.allocate("t").await.unwrap(), image);
    assert_eq!(image.after_create, ["echo 'a b'", "echo made > ~/made"]);
    assert_eq!(image.ignored, ["privileged"]);
    let machine = containers.machine("t");
    let environment = machine.login_environment().await.unwrap();
    let keeper = machine.keeper(1, LONG);
    let text = format!("{}; id -un; echo $SAMPLE $BOTH; cat ~/made", image.after_create.join(" && "));
    let mut run = script("a", &text);
    run.command = run.command.base(environment);
    let (finished, printed) = Following::of(keeper.open(run).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success(), "{printed:?}");
    assert_eq!(String::from_utf8_lossy(&printed.out), "a b\ndev\nyes yes-\nmade\n");
    assert!(!Path::new("/tmp/forge-test-never").exists());
    let told = podman.podman(&[
        "container",
        "inspect",
        &containers.name("t"),
        "--format",
        "{{.HostConfig.Privileged}}",
    ]);
    assert_eq!(told.unwrap().trim(), "false");
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    // What is not one image of one folder is refused.
    for (content, why) in [
        (r#"{ "dockerComposeFile": "compose.yml", "service": "x" }"#, "compose"),
        (r#"{ "build": { "dockerfile": "Dockerfile", "context": ".." } }"#, "outside its folder"),
    ] {
        write(content);
        let fault = open(cli.clone()).await.unwrap().allocate("t").await.unwrap_err();
        assert!(fault.to_string().contains(why), "{fault}");
    }
}
