//! What machines contribute: what follows when the contact with one changes, or tasks wait for that.

use crate::core::world::features::Moments;

use super::contact;

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_machine_awaited.push(contact::reconnect_later);
    moments.on_contact.push(|world, keeper, is_live| Box::pin(contact::changed(world, keeper, is_live)));
    moments.resume.push(|world| Box::pin(contact::ask_all(world)));
}
