//! How the containers of a machine are made, as it is given on the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, builder::PossibleValuesParser, builder::TypedValueParser as _};
use forge_model::machine::container::{ContainerConfig, ContainerEngine, ContainerMount, ContainerNetwork};

use crate::{error::CliError, place::absolute};

/// Options that make a machine one of containers.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("from").multiple(false))]
pub(crate) struct ContainerArgs {
    /// Run each task in a container of this image; it is pulled when it is missing
    #[arg(long, group = "from")]
    pub(crate) image: Option<String>,
    /// The same of an image built from a Containerfile and its folder
    #[arg(long, value_name = "FILE", group = "from")]
    containerfile: Option<PathBuf>,
    /// The same of an image built from a devcontainer.json, by `devcontainer`
    #[arg(long, value_name = "FILE", group = "from")]
    devcontainer: Option<PathBuf>,
    /// What runs the containers: podman, docker, or auto for podman, else docker
    #[arg(long, requires = "from", conflicts_with_all = ["slurm", "kubernetes"], default_value = "auto",
        value_parser = PossibleValuesParser::new(["auto", "podman", "docker"]).try_map(|name| name.parse::<ContainerEngine>()))]
    engine: ContainerEngine,
    /// What they reach: none, host, or default for what podman or docker provides
    #[arg(long, requires = "from", conflicts_with_all = ["slurm", "kubernetes"], default_value = "default",
        value_parser = PossibleValuesParser::new(["none", "host", "default"]).try_map(|name| name.parse::<ContainerNetwork>()))]
    network: ContainerNetwork,
    /// Maximum memory of each container or job, in MiB
    #[arg(long, requires = "from", conflicts_with = "kubernetes", value_name = "MIB")]
    pub(crate) memory_mb: Option<u32>,
    /// Maximum processor time of each container, or the processors of each job
    #[arg(long, requires = "from", conflicts_with = "kubernetes")]
    pub(crate) cpus: Option<f64>,
    /// Maximum number of processes of each
    #[arg(long, requires = "from", conflicts_with_all = ["slurm", "kubernetes"])]
    pids: Option<u32>,
    /// Folder or file of this computer that they see, read-only unless it ends with `:rw`; repeatable
    #[arg(long, requires = "from", conflicts_with_all = ["slurm", "kubernetes"], value_name = "SOURCE:TARGET[:rw]", value_parser = mount)]
    mount: Vec<ContainerMount>,
}

impl ContainerArgs {
    /// The configuration; none where the machine is none of containers. `user` is the one in them.
    pub(crate) fn into_config(self, user: Option<String>) -> Result<Option<ContainerConfig>, CliError> {
        let Self { image, containerfile, devcontainer, engine, network, memory_mb, cpus, pids, mount } = self;
        if image.is_none() && containerfile.is_none() && devcontainer.is_none() {
            return Ok(None);
        }
        let full = |file: Option<PathBuf>| file.map(|file| absolute(&file)).transpose();
        Ok(Some(ContainerConfig {
            engine,
            image,
            containerfile: full(containerfile)?,
            devcontainer: full(devcontainer)?,
            network,
            memory_mb,
            cpus,
            pids,
            mounts: mount,
            user,
        }))
    }
}

fn mount(text: &str) -> Result<ContainerMount, String> {
    let (paths, read_only) = text.strip_suffix(":rw").map_or((text, true), |paths| (paths, false));
    match paths.split_once(':') {
        Some((source, target)) if !source.is_empty() && !target.is_empty() => {
            Ok(ContainerMount { source: source.to_owned(), target: target.to_owned(), read_only })
        }
        _ => Err("must be the path here, `:`, and the path in the container".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        container: ContainerArgs,
        #[command(flatten)]
        _slurm: crate::slurm_args::SlurmArgs,
        #[command(flatten)]
        _kubernetes: crate::kubernetes_args::KubernetesArgs,
    }

    fn line(words: &[&str]) -> Result<Line, clap::Error> {
        Line::try_parse_from([&["forge"], words].concat())
    }

    #[test]
    fn exactly_one_source_of_the_image_makes_a_container() {
        let config = |words: &[&str]| line(words).unwrap().container.into_config(None).unwrap();
        assert_eq!(config(&[]), None);
        let full = config(&[
            "--image",
            "debian:12",
            "--network",
            "none",
            "--memory-mb",
            "512",
            "--mount",
            "/a:/b",
            "--mount",
            "/c:/d:rw",
        ]);
        let full = full.unwrap();
        assert_eq!((full.network, full.memory_mb), (ContainerNetwork::None, Some(512)));
        let mounts: Vec<(&str, bool)> = full.mounts.iter().map(|it| (&*it.target, it.read_only)).collect();
        assert_eq!(mounts, [("/b", true), ("/d", false)]);
        let file = config(&["--containerfile", "Containerfile"]).unwrap().containerfile.unwrap();
        assert!(file.starts_with('/'), "{file}");
        for wrong in [
            &["--image", "a", "--containerfile", "b"][..],
            &["--memory-mb", "512"],
            &["--image", "a", "--network", "all"],
            &["--image", "a", "--mount", "/a"],
        ] {
            assert!(line(wrong).is_err(), "{wrong:?}");
        }
    }
}
