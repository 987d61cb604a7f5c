/** Which offers are buttons of the banner, and which of them ask first. Pure. */
import type { Offer, Verb } from "#ui/api/generated.ts";

/** In the menu of the header at all times; no help against trouble. */
const elsewhere: ReadonlySet<Verb> = new Set(["hold", "cancel"]);

export function asOffers(offers: readonly Offer[]): readonly Offer[] {
  return offers.filter(({ verb }) => !elsewhere.has(verb));
}

/** What cannot be taken back is asked about first. */
export function asksFirst(verb: Verb): boolean {
  return ["reset_workspace", "restart", "accept_repository", "give_up_machine", "cancel"].includes(
    verb,
  );
}

/** Asks for a text before it is taken. */
export function opensForm(offer: Offer): boolean {
  return offer.fields.length > 0;
}

/** A text must be given, except where a person's word alone decides. */
export function needsText(offer: Offer): boolean {
  return opensForm(offer) && offer.verb !== "approve";
}
