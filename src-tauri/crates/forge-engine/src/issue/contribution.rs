//! What issues contribute: at start, imports that were under way go on.

use super::import;
use crate::core::world::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.resume.push(|world| {
        Box::pin(async move {
            import::keep_importing(world);
            Ok(())
        })
    });
}
