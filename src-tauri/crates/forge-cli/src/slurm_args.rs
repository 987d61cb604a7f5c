//! What the jobs of a machine ask for, as it is given on the command line.

use clap::Args;
use forge_model::machine::slurm::SlurmConfig;

use crate::{container_args::ContainerArgs, error::CliError};

/// Options that make a machine a cluster of Slurm.
#[derive(Debug, Args)]
pub(crate) struct SlurmArgs {
    /// Run each task in a Slurm job
    #[arg(long, group = "from")]
    slurm: bool,
    /// SSH machine from which jobs are submitted [default: this computer]
    #[arg(long, requires = "slurm", value_name = "MACHINE")]
    via: Option<String>,
    /// Partition of the jobs [default: as the cluster decides]
    #[arg(long, requires = "slurm")]
    partition: Option<String>,
    /// Account to charge [default: as the cluster decides]
    #[arg(long, requires = "slurm")]
    account: Option<String>,
    /// Time limit of each job, in minutes [default: as the cluster decides]
    #[arg(long, requires = "slurm", value_name = "MINUTES")]
    time_minutes: Option<u32>,
    /// Generic resources of each job, such as gpu:1
    #[arg(long, requires = "slurm")]
    gres: Option<String>,
}

impl SlurmArgs {
    /// The configuration; none where the machine is no cluster. Processors and memory are given as for containers.
    pub(crate) fn into_config(self, container: &ContainerArgs) -> Result<Option<SlurmConfig>, CliError> {
        let Self { slurm, via, partition, account, time_minutes, gres } = self;
        if !slurm {
            return Ok(None);
        }
        let cpus = container.cpus.map(whole).transpose()?;
        let memory_mb = container.memory_mb;
        Ok(Some(SlurmConfig { partition, account, time_minutes, cpus, memory_mb, gres, via }))
    }
}

/// Jobs have whole processors.
fn whole(cpus: f64) -> Result<u32, CliError> {
    let is_whole = cpus.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&cpus);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at")]
    let number = is_whole.then_some(cpus as u32);
    number.ok_or_else(|| CliError::Usage {
        message: format!("`--cpus {cpus}`: a job has whole processors"),
        hint: "give `--cpus` a whole number of at least 1",
    })
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
        slurm: SlurmArgs,
        #[command(flatten)]
        _kubernetes: crate::kubernetes_args::KubernetesArgs,
    }

    fn config(words: &[&str]) -> Result<Option<SlurmConfig>, String> {
        let line = Line::try_parse_from([&["forge"], words].concat()).map_err(|error| error.to_string())?;
        line.slurm.into_config(&line.container).map_err(|error| error.to_string())
    }

    #[test]
    fn jobs_ask_for_what_is_said_and_options_of_containers_are_refused() {
        assert_eq!(config(&[]), Ok(None));
        let full = config(&[
            "--slurm",
            "--via",
            "login",
            "--partition",
            "gpu",
            "--gres",
            "gpu:1",
            "--time-minutes",
            "90",
            "--cpus",
            "2",
            "--memory-mb",
            "512",
        ]);
        let full = full.unwrap().unwrap();
        assert_eq!((full.via.as_deref(), full.gres.as_deref()), (Some("login"), Some("gpu:1")));
        assert_eq!((full.time_minutes, full.cpus, full.memory_mb), (Some(90), Some(2), Some(512)));
        assert!(config(&["--slurm", "--cpus", "1.5"]).unwrap_err().contains("whole processors"));
        for wrong in [
            &["--partition", "gpu"][..],
            &["--slurm", "--image", "debian:12"],
            &["--slurm", "--network", "none"],
            &["--slurm", "--mount", "/a:/b"],
            &["--slurm", "--pids", "100"],
        ] {
            assert!(config(wrong).is_err(), "{wrong:?}");
        }
    }
}
