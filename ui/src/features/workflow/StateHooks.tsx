import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Action, Hook, State } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { clearAt, formatPath, getAt, isTree, moved, setAt, type Path } from "#ui/draft/path.ts";
import { saidAt } from "#ui/draft/findings.ts";
import { useEditor } from "./EditorContext.tsx";
import { PlaceSelect } from "./fields.tsx";
import { hooksOf, statePath, text } from "./definition.ts";
import { actionsOf, audiences, mayBlock, phases, usualAudience, type Phase } from "./registry.ts";
import { useStateOptions } from "./useStateOptions.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

const sendsOn = "cascade:";

function Policy({ path, phase, hook }: { path: Path; phase: Phase; hook: Hook }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const states = useStateOptions();
  const policy = hook.on_failure;
  const cascade = isTree(policy) ? policy["cascade"] : undefined;
  const usual = mayBlock(phase) ? "block" : "log";
  const others = (["block", "log"] as const).filter((each) => each !== "block" || mayBlock(phase));
  return (
    <PlaceSelect
      path={[...path, "on_failure"]}
      label={t("workflow.onFailure", {
        name: t(`actions.${hook.action}.name`, { defaultValue: text(hook.action) }),
      })}
      hideLabel
      value={typeof cascade === "string" ? sendsOn + cascade : text(policy) || usual}
      options={[
        ...others.map((each) => ({
          value: each,
          label: t(`workflow.failures.${each}`),
          note: t(`workflow.failureNotes.${each}`),
        })),
        ...states.map((state) => ({
          ...state,
          value: sendsOn + state.value,
          label: t("workflow.failureCascade", { name: state.label }),
        })),
      ]}
      onChange={(next) => {
        const place = [...path, "on_failure"];
        if (next === null || next === usual) edit(clearAt(workflow, place));
        else if (next.startsWith(sendsOn))
          edit(setAt(workflow, place, { cascade: next.slice(sendsOn.length) }));
        else edit(setAt(workflow, place, next));
      }}
    />
  );
}

function HookRow({
  list,
  at,
  phase,
  hook,
  last,
}: {
  list: Path;
  at: number;
  phase: Phase;
  hook: Hook;
  last: boolean;
}) {
  const { t } = useTranslation();
  const { workflow, findings, edit } = useEditor();
  const path = [...list, at];
  const place = formatPath(path);
  const action = text(hook.action);
  const name = t(`actions.${hook.action}.name`, { defaultValue: action });
  const whole = findings.filter(
    (found) =>
      found.path === place ||
      (found.path.startsWith(place) && !/\.(action|applies_to|on_failure)\b/.test(found.path)),
  );
  const move = (to: number) =>
    edit(setAt(workflow, list, moved(getAt(workflow, list) as readonly unknown[], at, to)));
  return (
    <Stack as="li" gap={2} data-path={place}>
      <div className={styles.hook}>
        <PlaceSelect
          path={[...path, "action"]}
          label={t("workflow.action")}
          hideLabel
          options={actionsOf[phase].map((each) => ({
            value: each,
            label: t(`actions.${each}.name`),
            note: t(`actions.${each}.about`),
          }))}
        />
        <PlaceSelect
          path={[...path, "applies_to"]}
          label={t("workflow.audienceOf", { name })}
          hideLabel
          value={text(hook.applies_to) || "all"}
          options={audiences.map((each) => ({
            value: each,
            label: t(`workflow.audiences.${each}`),
          }))}
          onChange={(next) => {
            const audience = [...path, "applies_to"];
            edit(
              next === null || next === "all"
                ? clearAt(workflow, audience)
                : setAt(workflow, audience, next),
            );
          }}
        />
        <Policy path={path} phase={phase} hook={hook} />
        <IconButton
          size="sm"
          label={t("workflow.hookUp", { name })}
          icon={<ArrowUp />}
          disabled={at === 0}
          onClick={() => move(at - 1)}
        />
        <IconButton
          size="sm"
          label={t("workflow.hookDown", { name })}
          icon={<ArrowDown />}
          disabled={last}
          onClick={() => move(at + 1)}
        />
        <IconButton
          size="sm"
          label={t("workflow.removeHook", { name })}
          icon={<X />}
          onClick={() => edit(clearAt(workflow, path))}
        />
      </div>
      {whole.length > 0 && <span className={layout.error}>{saidAt(whole, place)}</span>}
    </Stack>
  );
}

/** What runs around entering and leaving, phase by phase in the order they run. */
export function StateHooks({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const root = [...statePath(index), "hooks"];
  const add = (phase: Phase, action: Action) => {
    const audience = usualAudience(action);
    const hook = { action, ...(audience === "all" ? {} : { applies_to: audience }) };
    edit(setAt(workflow, [...root, phase], [...hooksOf(state, phase), hook]));
  };
  const entries = phases
    .filter((phase) => actionsOf[phase].length > 0)
    .map((phase): MenuEntry => ({
      kind: "submenu",
      id: phase,
      label: t(`workflow.phases.${phase}`),
      entries: actionsOf[phase].map((action) => ({
        id: action,
        label: t(`actions.${action}.name`),
        note: t(`actions.${action}.about`),
        onSelect: () => add(phase, action),
      })),
    }));
  const used = phases.filter((phase) => hooksOf(state, phase).length > 0);
  return (
    <fieldset className={styles.group} data-path={formatPath(root)}>
      <legend>{t("workflow.hooks")}</legend>
      {used.length === 0 && <p className={styles.hint}>{t("workflow.noHooks")}</p>}
      {used.map((phase) => {
        const hooks = hooksOf(state, phase);
        return (
          <Stack key={phase} gap={1} data-path={formatPath([...root, phase])}>
            <span className={styles.phaseName}>{t(`workflow.phases.${phase}`)}</span>
            <ol className={styles.entries}>
              {hooks.map((hook, at) => (
                <HookRow
                  key={at}
                  list={[...root, phase]}
                  at={at}
                  phase={phase}
                  hook={hook}
                  last={at === hooks.length - 1}
                />
              ))}
            </ol>
          </Stack>
        );
      })}
      <div>
        <Menu
          trigger={
            <Button size="sm" variant="ghost" flush icon={<Plus />}>
              {t("workflow.addHook")}
            </Button>
          }
          entries={entries}
        />
      </div>
    </fieldset>
  );
}
