//! What machines contribute: what follows when the contact with one changes, or tasks wait for that.

use crate::core::{scheduler::wake_waiting, world::features::Moments};

use super::contact;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_machine_awaited.push(contact::reconnect_later);
    moments.on_contact.push(|world, keeper, is_live| Box::pin(contact::changed(world, keeper, is_live)));
    // Wakes tasks that wait for a machine.
    moments.after_contact.push(wake_waiting);
    moments.resume.push(|world| Box::pin(contact::ask_all(world)));
}
