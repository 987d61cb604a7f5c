/** What the window remembers beyond a screen, back to how it starts. */
import { showOverlay } from "#ui/store/overlays.ts";
import { preferences } from "#ui/store/preferences.ts";
import { undoStore } from "#ui/domain/undo/undo.ts";
import { drafts } from "#ui/draft/drafts.ts";
import { opened } from "#ui/features/task/diff/composer.ts";
import { lookStore } from "#ui/features/task/diff/looks.ts";
import { viewedStore } from "#ui/features/task/diff/viewed.ts";

export function forgetState(): void {
  reset(preferences);
  reset(drafts);
  reset(undoStore);
  reset(opened);
  reset(viewedStore);
  reset(lookStore);
  showOverlay(null);
  localStorage.clear();
  // Without an event: nobody is left to follow it.
  history.replaceState(null, "", location.pathname);
  for (const part of [document.head, document.body]) {
    part.replaceChildren();
    for (const name of part.getAttributeNames()) part.removeAttribute(name);
  }
}

function reset<State>(store: {
  readonly getInitialState: () => State;
  readonly setState: (state: State, replace: true) => void;
}): void {
  store.setState(store.getInitialState(), true);
}
