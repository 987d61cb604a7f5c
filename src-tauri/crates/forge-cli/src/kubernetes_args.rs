//! What the Jobs of a machine ask for, as it is given on the command line.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use forge_model::machine::kubernetes::KubernetesConfig;

use crate::{error::CliError, place::absolute};

/// Options that make a machine a namespace of Kubernetes. The image is given as for containers.
#[derive(Debug, Args)]
pub(crate) struct KubernetesArgs {
    /// Run each task in a Job of Kubernetes, whose pod has the image of --image
    #[arg(long, requires_all = ["image", "namespace"])]
    kubernetes: bool,
    /// Namespace of the Jobs
    #[arg(long, requires = "kubernetes")]
    namespace: Option<String>,
    /// Context of kubectl [default: its current one]
    #[arg(long, requires = "kubernetes")]
    context: Option<String>,
    /// Configuration of kubectl [default: as kubectl decides]
    #[arg(long, requires = "kubernetes", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Service account of the pods [default: none that they could use]
    #[arg(long, requires = "kubernetes", value_name = "NAME")]
    service_account: Option<String>,
    /// Processors of each pod, such as 2 or 500m
    #[arg(long, requires = "kubernetes", value_name = "QUANTITY")]
    cpu: Option<String>,
    /// Memory of each pod, such as 2Gi
    #[arg(long, requires = "kubernetes", value_name = "QUANTITY")]
    memory: Option<String>,
    /// Another resource of each pod, such as nvidia.com/gpu=1; repeatable
    #[arg(long, requires = "kubernetes", value_name = "NAME=QUANTITY", value_parser = resource)]
    resource: Vec<(String, String)>,
    /// Taint of nodes that the pods tolerate, such as gpu:NoSchedule or team=a:NoExecute; repeatable
    #[arg(long, requires = "kubernetes", value_name = "TAINT:EFFECT")]
    toleration: Vec<String>,
}

impl KubernetesArgs {
    /// The configuration; none where the machine is no namespace of Kubernetes.
    pub(crate) fn into_config(self, image: Option<&str>) -> Result<Option<KubernetesConfig>, CliError> {
        let Self {
            kubernetes,
            namespace,
            context,
            kubeconfig,
            service_account,
            cpu,
            memory,
            resource,
            toleration,
        } = self;
        if !kubernetes {
            return Ok(None);
        }
        let named = [("cpu", cpu), ("memory", memory)];
        let named = named.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), amount?)));
        let resources: BTreeMap<String, String> = named.chain(resource).collect();
        Ok(Some(KubernetesConfig {
            context,
            kubeconfig: kubeconfig.map(|file| absolute(&file)).transpose()?,
            namespace: namespace.unwrap_or_default(),
            image: image.unwrap_or_default().to_owned(),
            service_account,
            resources,
            tolerations: toleration,
        }))
    }
}

fn resource(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, amount)) if !name.is_empty() && !amount.is_empty() => {
            Ok((name.to_owned(), amount.to_owned()))
        }
        _ => Err("must be the name of a resource, `=`, and how much of it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{container_args::ContainerArgs, slurm_args::SlurmArgs};

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        container: ContainerArgs,
        #[command(flatten)]
        _slurm: SlurmArgs,
        #[command(flatten)]
        kubernetes: KubernetesArgs,
    }

    fn config(words: &[&str]) -> Result<Option<KubernetesConfig>, String> {
        let line = Line::try_parse_from([&["forge"], words].concat()).map_err(|error| error.to_string())?;
        line.kubernetes.into_config(line.container.image.as_deref()).map_err(|error| error.to_string())
    }

    #[test]
    fn jobs_ask_for_what_is_said_and_options_of_other_machines_are_refused() {
        assert_eq!(config(&[]), Ok(None));
        assert_eq!(config(&["--image", "debian:12"]), Ok(None));
        let least = ["--kubernetes", "--namespace", "agents", "--image", "registry.example/agent:1"];
        let more = ["--cpu", "500m", "--memory", "2Gi", "--resource", "nvidia.com/gpu=1", "--toleration"];
        let more = [&more[..], &["gpu:NoSchedule", "--context", "prod", "--kubeconfig", "config"]].concat();
        let full = config(&[&least[..], &more].concat()).unwrap().unwrap();
        assert_eq!((full.namespace.as_str(), full.image.as_str()), ("agents", "registry.example/agent:1"));
        let resources: Vec<String> = full.resources.iter().map(|(name, it)| format!("{name} {it}")).collect();
        assert_eq!(resources, ["cpu 500m", "memory 2Gi", "nvidia.com/gpu 1"]);
        assert_eq!((full.context.as_deref(), full.tolerations.len()), (Some("prod"), 1));
        assert!(full.kubeconfig.is_some_and(|file| file.starts_with('/')));
        for wrong in [
            &["--kubernetes", "--namespace", "agents"][..],
            &["--kubernetes", "--image", "a"],
            &["--namespace", "agents", "--image", "a"],
            &[&least[..], &["--slurm"]].concat(),
            &[&least[..], &["--memory-mb", "512"]].concat(),
            &[&least[..], &["--cpus", "1"]].concat(),
            &[&least[..], &["--network", "none"]].concat(),
            &[&least[..], &["--mount", "/a:/b"]].concat(),
            &[&least[..], &["--resource", "gpu"]].concat(),
        ] {
            assert!(config(wrong).is_err(), "{wrong:?}");
        }
    }
}
