import { kindOfState } from "#ui/domain/stateKinds.ts";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import type { SelectOption } from "#ui/components/Select.tsx";
import { useEditor } from "./EditorContext.tsx";
import { text, titleOf } from "./definition.ts";

/** The states that something can lead to, as people know them. */
export function useStateOptions(): readonly SelectOption<string>[] {
  const { workflow } = useEditor();
  const seen = new Set<string>();
  return workflow.states.flatMap((state) => {
    const value = text(state.name);
    if (value === "" || seen.has(value)) return [];
    seen.add(value);
    const kind = kindOfState(state, text(workflow.cancellation_state));
    return [{ value, label: titleOf(state), icon: <StateGlyph kind={kind} label="" /> }];
  });
}
