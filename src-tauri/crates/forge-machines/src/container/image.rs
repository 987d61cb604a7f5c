//! The image of the containers: there by its name, or built once for each content.

use forge_exec::Command;
use serde_json::Value;

use super::{
    EngineKind, ImageSource, content,
    devcontainer::{self, Wishes},
    engine::Containers,
    program::{BUILDS_WITHIN, TELLS_WITHIN, last_lines, last_said, run},
};
use crate::{ContainerFault, Fault, KeeperProgram};

/// What the names of images begin with that were built here; the owner follows, and the tag is the hash of their content.
/// It is by their names that they are found: the devcontainer CLI does not always set labels.
const BUILT: &str = "localhost/forge-";

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The name by which containers are made from it.
    pub name: String,
    /// The hash of the keeper that runs in it.
    pub(super) keeper: String,
    /// Variables that a devcontainer.json sets.
    pub environment: Vec<(String, String)>,
    /// The user that a devcontainer.json names.
    pub user: Option<String>,
    /// What a devcontainer.json has the shell do in a new worktree, in this order: the set-up of its author.
    pub after_create: Vec<String>,
    /// What a devcontainer.json asks for that containers of tasks do not get.
    pub ignored: Vec<String>,
}

impl Containers {
    /// Makes sure that the image is there: pulls one that is missing, and builds a content that was not built before.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn image(&self) -> Result<Image, Fault> {
        Ok(self.ready_image().await?)
    }

    async fn ready_image(&self) -> Result<Image, ContainerFault> {
        let (name, told) = match &self.setup().config.image {
            ImageSource::Named(name) => (name.clone(), self.named(name).await?),
            ImageSource::Containerfile(file) => self.built("containerfile", file).await?,
            ImageSource::Devcontainer(file) => self.built("devcontainer", file).await?,
        };
        let keeper = self.keeper_for(&name, &told)?.hash().to_owned();
        let is_devcontainer = matches!(self.setup().config.image, ImageSource::Devcontainer(_));
        let wishes = if is_devcontainer { Wishes::of(&told) } else { Wishes::default() };
        let Wishes { environment, user, after_create, ignored } = wishes;
        Ok(Image { name, keeper, environment, user, after_create, ignored })
    }

    /// The keeper for the kind of machine that an image is for.
    fn keeper_for(&self, image: &str, told: &Value) -> Result<&KeeperProgram, ContainerFault> {
        let named = told["Architecture"].as_str().unwrap_or_default();
        let architecture = match named {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        };
        let keepers = &self.setup().keepers;
        let found = keepers.iter().find(|keeper| keeper.architecture() == architecture);
        found.ok_or_else(|| {
            let have: Vec<&str> = keepers.iter().map(KeeperProgram::architecture).collect();
            let (image, architecture) = (image.to_owned(), architecture.to_owned());
            ContainerFault::Architecture { image, architecture, have: have.join(", ") }
        })
    }

    /// What is told of an image; none when it is not there.
    async fn inspected(&self, name: &str) -> Result<Option<Value>, ContainerFault> {
        let done = self.run("look for an image", ["image", "inspect", name], TELLS_WITHIN).await?;
        if !done.is_good() {
            let errors = done.err.to_lowercase();
            if ["image not known", "no such image", "no such object"].iter().any(|text| errors.contains(text))
            {
                return Ok(None);
            }
            let engine = self.kind().name().to_owned();
            return Err(self.fault(&done, |said| ContainerFault::Engine { engine, said }));
        }
        let told: Vec<Value> = serde_json::from_str(&done.out).unwrap_or_default();
        Ok(told.into_iter().next())
    }

    async fn named(&self, name: &str) -> Result<Value, ContainerFault> {
        let _turn = self.turn(name).await;
        if let Some(told) = self.inspected(name).await? {
            return Ok(told);
        }
        let not_found = |said| ContainerFault::ImageNotFound { image: name.to_owned(), said };
        let done = self.run("pull an image", ["pull", "--quiet", "--", name], BUILDS_WITHIN).await?;
        if !done.is_good() {
            return Err(self.fault(&done, not_found));
        }
        let told = self.inspected(name).await?;
        told.ok_or_else(|| not_found("it is not there after it was pulled".to_owned()))
    }

    /// An image for the content of a file's folder, built when there is none.
    async fn built(
        &self,
        kind: &'static str,
        file: &std::path::Path,
    ) -> Result<(String, Value), ContainerFault> {
        let owned = file.to_owned();
        let hashed = tokio::task::spawn_blocking(move || content::hash(kind, &owned)).await;
        let shown = file.display().to_string();
        let failed = |said: String| ContainerFault::Source { file: shown.clone(), said };
        let hash = hashed.map_err(|error| failed(error.to_string()))??;
        let name = format!("{}:{hash}", self.built_name());
        let _turn = self.turn(&name).await;
        if let Some(told) = self.inspected(&name).await? {
            return Ok((name, told));
        }
        let folder = file.parent().unwrap_or(file);
        let command: Command<_> = if kind == "devcontainer" {
            self.check_devcontainer(file).await?;
            // What podman calls so has other arguments.
            let builder = (self.kind() == EngineKind::Podman).then_some(["--buildkit", "never"]);
            self.devcontainer("build")
                .args(["--image-name", &name])
                .args(["--config".as_ref(), file.as_os_str()])
                .args(["--workspace-folder".as_ref(), folder.as_os_str()])
                .args(builder.into_iter().flatten())
        } else {
            // Docker keeps the container of a step that failed otherwise.
            self.command().args(["build", "--force-rm", "--tag", &name]).args([
                "--file".as_ref(),
                file.as_os_str(),
                folder.as_os_str(),
            ])
        };
        let done = run(self.kind(), "build an image", command.timeout(BUILDS_WITHIN)).await;
        let done = done.map_err(|fault| devcontainer::fault(fault, self.setup(), kind))?;
        if !done.is_good() {
            let known = super::program::fault_of(self.kind(), &done.err);
            return Err(known.unwrap_or_else(|| ContainerFault::Build {
                file: shown.clone(),
                // Which of the two has the reason differs.
                last_lines: last_lines(&format!("{}\n{}", done.out, done.err)),
            }));
        }
        let told = self.inspected(&name).await?;
        let told = told.ok_or_else(|| failed("it is not there after it was built".to_owned()))?;
        Ok((name, told))
    }

    /// What images that are built for this owner are called: names of images have no capital letters.
    fn built_name(&self) -> String {
        format!("{BUILT}{}", self.setup().owner.to_lowercase())
    }

    /// Removes images that were built for this owner, but for these and those that a container is made from. How many.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn sweep_images(&self, keep: &[String]) -> Result<usize, Fault> {
        let filter = format!("reference={}", self.built_name());
        let arguments = ["images", "--filter", &filter, "--format", "{{.Repository}}:{{.Tag}}"];
        let done = self.run("list images", arguments, TELLS_WITHIN).await?;
        if !done.is_good() {
            let engine = self.kind().name().to_owned();
            return Err(self.fault(&done, |said| ContainerFault::Engine { engine, said }).into());
        }
        let mut removed = 0;
        for name in done.out.lines().filter(|name| name.starts_with(&self.built_name())) {
            if keep.iter().any(|kept| kept == name) {
                continue;
            }
            let done = self.run("remove an image", ["image", "rm", "--", name], TELLS_WITHIN).await?;
            if done.is_good() {
                removed += 1;
            } else {
                tracing::debug!(image = name, said = last_said(&done.err), "an image is kept");
            }
        }
        Ok(removed)
    }
}
