//! What trust contributes: an opened repository has its accepted configuration recalled.

use super::accepted;
use crate::core::engine::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments
        .on_repository
        .push(|engine, context, repo| Box::pin(accepted::recall_accepted(engine, context, repo)));
}
