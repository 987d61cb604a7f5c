import { MessageSquareText, Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { State, Trigger } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { saidAt } from "#ui/draft/findings.ts";
import { clearAt, formatPath, setAt, type Path } from "#ui/draft/path.ts";
import { useEditor } from "./EditorContext.tsx";
import { PlaceName, PlaceSelect, PlaceText } from "./fields.tsx";
import { freeTrigger, renameTrigger, statePath, text, triggersOf } from "./definition.ts";
import { sessions } from "./registry.ts";
import { useStateOptions } from "./useStateOptions.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./workflow.module.css";

function TriggerRow({
  path,
  name,
  trigger,
  state,
}: {
  path: Path;
  name: string;
  trigger: Trigger;
  state: State;
}) {
  const { t } = useTranslation();
  const { workflow, findings, edit } = useEditor();
  const states = useStateOptions();
  const [prompts, setPrompts] = useState(text(trigger.prompt) !== "");
  const place = formatPath(path);
  const own = findings.filter((found) => found.path === place);
  return (
    <Stack as="li" gap={2} data-path={place}>
      <div className={styles.trigger}>
        <PlaceName
          place={place}
          label={t("workflow.trigger")}
          hideLabel
          value={name}
          error={saidAt(own, place)}
          check={(next) => {
            if (next === "") return t("workflow.nameMissing");
            const taken = next !== name && Object.hasOwn(state.triggers ?? {}, next);
            return taken ? t("workflow.triggerTaken") : undefined;
          }}
          onCommit={(next) => edit(renameTrigger(workflow, path, next))}
        />
        <PlaceSelect
          path={[...path, "to"]}
          label={t("workflow.targetOf", { name })}
          hideLabel
          options={states}
        />
        <PlaceSelect
          path={[...path, "session"]}
          label={t("workflow.sessionOf", { name })}
          hideLabel
          none={t("workflow.sessionNone")}
          options={sessions.map((each) => ({
            value: each,
            label: t(`workflow.sessions.${each}`),
            note: t(`workflow.sessionNotes.${each}`),
          }))}
        />
        <IconButton
          size="sm"
          label={t("workflow.promptOf", { name })}
          icon={<MessageSquareText />}
          pressed={prompts}
          onClick={() => setPrompts(!prompts)}
        />
        <IconButton
          size="sm"
          label={t("workflow.removeTrigger", { name })}
          icon={<X />}
          onClick={() => edit(clearAt(workflow, path))}
        />
      </div>
      {prompts && (
        <PlaceText
          area
          path={[...path, "prompt"]}
          label={t("workflow.prompt")}
          placeholder={t("workflow.promptHint")}
        />
      )}
    </Stack>
  );
}

/** Where a state leads. */
export function Triggers({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const path = [...statePath(index), "triggers"];
  const triggers = triggersOf(state);
  const add = () => {
    const other = workflow.states.find((each, at) => at !== index && text(each.name) !== "");
    const to = text(workflow.states[index + 1]?.name) || text(other?.name);
    edit(setAt(workflow, [...path, freeTrigger(state)], { to }));
  };
  return (
    <fieldset className={styles.group} data-path={formatPath(path)}>
      <legend>{t("workflow.leadsTo")}</legend>
      {triggers.length === 0 && <p className={styles.hint}>{t("workflow.leadsNowhere")}</p>}
      <ul className={styles.entries}>
        {triggers.map(([name, trigger]) => (
          <TriggerRow
            key={name}
            path={[...path, name]}
            name={name}
            trigger={trigger}
            state={state}
          />
        ))}
      </ul>
      <div>
        <Button size="sm" variant="ghost" flush icon={<Plus />} onClick={add}>
          {t("workflow.addTrigger")}
        </Button>
      </div>
    </fieldset>
  );
}
