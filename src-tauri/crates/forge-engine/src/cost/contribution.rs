//! What costs contribute: samples, the limit of a day, and the export of anomalies.

use super::meter;
use crate::core::engine::features::Moments;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_leave.push(|engine, tx, task| Box::pin(super::record_sample(engine, tx, task)));
    moments
        .obstacle
        .push(|engine, conn, context, task| Box::pin(meter::wait_for_day(engine, conn, context, task)));
    moments.export.push(|engine| Box::pin(super::export_new_anomalies(engine)));
}
