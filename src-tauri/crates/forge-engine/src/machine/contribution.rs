//! What machines contribute: what keeps a task from starting, and what follows when the contact with one changes.

use crate::core::world::features::Moments;

use super::{contact, placing};

pub(crate) fn contribute(moments: &mut Moments) {
    moments
        .obstacle
        .push(|world, conn, context, task| Box::pin(placing::obstacle(world, conn, context, task)));
    moments.on_contact.push(|world, keeper, is_live| Box::pin(contact::changed(world, keeper, is_live)));
    moments.resume.push(|world| Box::pin(contact::ask_all(world)));
}
