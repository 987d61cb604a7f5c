//! Effects of a committed transaction: starting a recorded run, and waking workers and tasks that wait.

use crate::{
    World,
    core::{
        scheduler::{wake_at, wake_lines, wake_waiting},
        world::step::Effect,
    },
};

/// Does what was waiting for a commit.
pub(crate) fn act(world: &World, effects: Vec<Effect>) {
    let mut wake = false;
    for effect in effects {
        match effect {
            Effect::Launch(task, id) => {
                world.point("execution.recorded");
                (world.features().launch)(world, &task, id);
            }
            Effect::Kick(task) => super::workers::kick(world, &task),
            Effect::WakeWaiting => wake = true,
            Effect::WakeAt(at) => wake_at(world, at),
            Effect::AwaitMachine(machine) => {
                world.features().moments.on_machine_awaited.iter().for_each(|tell| tell(world, &machine));
            }
            Effect::WakeLines => wake_lines(world),
        }
    }
    if wake {
        wake_waiting(world);
    }
}
