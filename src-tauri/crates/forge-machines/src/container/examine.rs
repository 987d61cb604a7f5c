//! The test of a machine of containers: the program that runs them, the image, and one container of it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{ContainerSetup, Containers, state::test_tasks};
use crate::{ContainerFault, Fault, Step, StepName};

impl Containers {
    /// Tests a machine. Each step is reported when it is taken; the first one that fails on the way into a container is
    /// the last. The container is made for the test and removed in the end; `programs` are looked up in it, on the search
    /// path of a login.
    pub async fn test(setup: ContainerSetup, programs: &[&str], mut report: impl FnMut(&Step)) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut add = |step: Step| {
            report(&step);
            steps.push(step);
        };
        match Self::open(setup).await {
            Ok(containers) => {
                containers.told().into_iter().for_each(&mut add);
                containers.test_one(programs, &mut add).await;
            }
            Err(fault) => add(Step::from(&fault)),
        }
        steps
    }

    /// What is known of the program.
    fn told(&self) -> Vec<Step> {
        let ability = self.ability();
        let who = if ability.is_rootless { "without root" } else { "as root" };
        let engine = Step::good(
            StepName::ContainerEngine,
            format!("{} {} runs {who}.", self.kind().name(), ability.version),
        );
        let limits = [("memory", ability.memory), ("processors", ability.cpus), ("processes", ability.pids)];
        let cannot: Vec<&str> = limits.iter().filter(|(_, can)| !can).map(|(name, _)| *name).collect();
        let message = if cannot.is_empty() {
            "Memory, processors and processes can be limited.".to_owned()
        } else {
            format!("No limit is set; {} could not be limited here ({}).", cannot.join(", "), ability.why_not)
        };
        vec![engine, Step::good(StepName::Limits, message)]
    }

    async fn test_one(&self, programs: &[&str], add: &mut impl FnMut(Step)) {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let image = match self.image().await {
            Ok(image) => image,
            Err(fault) => return add(Step::from(&fault)),
        };
        let mut message = format!("The image {} is available.", image.name);
        if !image.ignored.is_empty() {
            message.push_str(&format!(" Ignored for containers: {}.", image.ignored.join(", ")));
        }
        add(Step::good(StepName::Image, message));
        let task = format!("{}{}", test_tasks(), MADE.fetch_add(1, Ordering::Relaxed));
        match self.allocate(&task).await {
            Ok(_) => add(Step::good(StepName::Container, "A container of it is running.")),
            Err(fault) => return add(Step::from(&fault)),
        }
        for step in self.inside(&task, programs).await {
            add(step);
        }
        if let Err(fault) = self.release(&task).await {
            add(Step::from(&fault));
        }
    }

    async fn inside(&self, task: &str, programs: &[&str]) -> Vec<Step> {
        let machine = self.machine(task);
        match machine.open_apart(None).await {
            Ok((apart, session)) => {
                let steps = apart.inside(&session, programs).await;
                // Nobody signs in and out there, and the clock is this computer's.
                let is_of_all = |step: &Step| !matches!(step.name, StepName::Lingering | StepName::Clock);
                steps.into_iter().filter(is_of_all).collect()
            }
            Err(fault) => vec![Step::from(&without_shell(fault))],
        }
    }
}

/// That there is no shell is a fault of the image.
fn without_shell(fault: Fault) -> Fault {
    match fault {
        Fault::NoProgram { host, program } if program == "sh" => {
            ContainerFault::NotStarted { name: host, said: "its image has no shell (`sh`)".to_owned() }.into()
        }
        other => other,
    }
}
