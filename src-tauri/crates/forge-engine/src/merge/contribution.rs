//! What merges contribute: their queues are woken with those of runs.

use super::queue;
use crate::core::world::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.wake.push(queue::wake_merges);
}
