//! What issues contribute: imports and reports go on at start, and moves of tasks are reported.

use super::{file, import, report, rule};
use crate::core::world::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_moved.push(|world, tx, moved| Box::pin(report::note_move(world, tx, moved)));
    // Other settings may have another rule.
    moments.wake.push(rule::wake);
    moments.resume.push(|world| {
        Box::pin(async move {
            file::remove_copies(world).await?;
            import::keep_importing(world);
            report::keep_reporting(world);
            rule::keep_following(world);
            Ok(())
        })
    });
}
