//! Effects of a committed transaction: starting a recorded run, and waking workers and tasks that wait.

use crate::{
    Engine,
    core::{
        engine::step::Effect,
        scheduler::{wake_lines, wake_waiting},
    },
};

/// Does what was waiting for a commit.
pub(crate) fn act(engine: &Engine, effects: Vec<Effect>) {
    let mut wake = false;
    for effect in effects {
        match effect {
            Effect::Launch(task, id) => {
                engine.point("execution.recorded");
                (engine.features().launch)(engine, &task, id);
            }
            Effect::Kick(task) => super::workers::kick(engine, &task),
            Effect::WakeWaiting => wake = true,
            Effect::WakeLines => wake_lines(engine),
        }
    }
    if wake {
        wake_waiting(engine);
    }
}
