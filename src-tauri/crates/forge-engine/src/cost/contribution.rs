//! What costs contribute: samples, the limit of a day, and the export of anomalies.

use super::meter;
use crate::core::world::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_leave.push(|world, tx, task| Box::pin(super::record_sample(world, tx, task)));
    moments.obstacle.push(|world, conn, context| Box::pin(meter::wait_for_day(world, conn, context)));
    moments
        .refuses_start
        .push(|world, conn, context, task| Box::pin(meter::own_limit_reached(world, conn, context, task)));
    moments.export.push(|world| Box::pin(super::export_new_anomalies(world)));
}
