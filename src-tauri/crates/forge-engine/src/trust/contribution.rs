//! What trust contributes: an opened repository has its accepted configuration recalled.

use super::accepted;
use crate::core::world::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments
        .on_repository
        .push(|world, context, repo| Box::pin(accepted::recall_accepted(world, context, repo)));
}
