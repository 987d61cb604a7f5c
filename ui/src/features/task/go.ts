/** Leads to another part of the task that is being looked at; places in its changes are in `diffPlace.ts`. */
import { setQuery } from "#ui/app/router.ts";

export function showTab(tab: "conversation" | "review" | "race"): void {
  setQuery({ tab, run: null, file: null, line: null, side: null });
}
