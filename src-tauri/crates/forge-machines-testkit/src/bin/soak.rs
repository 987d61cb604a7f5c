//! `forge-soak [--minutes N] [--seed N]`: cuts connections with a second host in every way for as long as one likes.
//!
//! Prints the seed first: the same one makes the same cuts and programs again. Ends with 1 when something was lost, came
//! twice or was left.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail};
use forge_machines_testkit::{
    Host, Random, Setup,
    cuts::{Course, Cut, Until, perform},
};

/// How long the link is down once, where the time allows.
const OUTAGE: Duration = Duration::from_secs(600);

/// From how many minutes on.
const OUTAGE_FROM: u64 = 25;

/// One of so many cuts takes the link down, for half a minute on average.
const LINK_ONE_OF: u64 = 40;

/// How many programs run at once.
const AT_ONCE: u64 = 4;

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(soak()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn soak() -> Result<()> {
    let (mut minutes, mut seed) = (30, Random::seed());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number =
            || args.next().and_then(|it| it.parse().ok()).with_context(|| format!("{arg} needs a number"));
        match arg.as_str() {
            "--minutes" => minutes = number()?,
            "--seed" => seed = number()?,
            _ => bail!("usage: forge-soak [--minutes N] [--seed N]"),
        }
    }
    println!("{minutes} minutes; the same cuts again: cargo xtask soak --minutes {minutes} --seed {seed}");
    // In memory where there is such a folder: what programs print goes through the disk there.
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let host = match Host::try_start(Setup::default(), folder) {
        Ok(host) => host,
        Err(why) => {
            println!("skipped: {why:#}");
            return Ok(());
        }
    };
    let course = Course {
        seed,
        cuts: Cut::QUICK,
        link_one_of: Some(LINK_ONE_OF),
        at_once: AT_ONCE,
        blocks: 100,
        until: Until::Time(Duration::from_secs(60 * minutes)),
        link_down: 60,
        outage: (minutes >= OUTAGE_FROM).then_some(OUTAGE),
    };
    let report = perform(&host, course).await?;
    host.close()?;
    println!("{report}\nnothing was lost, nothing came twice, nothing is left");
    Ok(())
}
