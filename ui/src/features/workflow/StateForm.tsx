import { useTranslation } from "react-i18next";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import type { State } from "#ui/api/generated.ts";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { sentence } from "#ui/draft/findings.ts";
import { formatPath, isTree } from "#ui/draft/path.ts";
import { useEditor, usePlace } from "./EditorContext.tsx";
import { PlaceName, PlaceNumber, PlaceSelect, PlaceText } from "./fields.tsx";
import { StateHooks } from "./StateHooks.tsx";
import { Triggers } from "./Triggers.tsx";
import { changeKind, number, renameState, statePath, text, titleOf } from "./definition.ts";
import { kinds } from "./registry.ts";
import { unclaimedIn } from "./stateFindings.ts";
import { useStateOptions } from "./useStateOptions.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

function Names({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const path = [...statePath(index), "name"];
  const { place, error } = usePlace(path);
  const name = text(state.name);
  return (
    <div className={styles.pair}>
      <PlaceText
        path={[...statePath(index), "display_name"]}
        label={t("workflow.title")}
        required
      />
      <PlaceName
        place={place}
        label={t("workflow.id")}
        hint={t("workflow.idHint")}
        value={name}
        error={error}
        check={(next) =>
          workflow.states.some((other, at) => at !== index && text(other.name) === next)
            ? t("workflow.nameTaken")
            : undefined
        }
        onCommit={(next) => edit(renameState(workflow, index, next))}
      />
    </div>
  );
}

function Place({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const roles = (workflow.roles ?? []).map((role) => ({
    value: text(role.name),
    label: text(role.display_name) || text(role.name),
  }));
  return (
    <div className={styles.triple}>
      <PlaceSelect
        path={[...statePath(index), "kind"]}
        label={t("workflow.kind")}
        options={kinds.map((kind) => ({
          value: kind,
          label: t(`workflow.kinds.${kind}`),
          note: t(`workflow.kindNotes.${kind}`),
          icon: <StateGlyph kind={kindOfState({ ...state, kind })} label="" />,
        }))}
        onChange={(next) => {
          const kind = kinds.find((known) => known === next);
          if (kind) edit(changeKind(workflow, index, kind));
        }}
      />
      <PlaceText path={[...statePath(index), "column"]} label={t("workflow.column")} required />
      <PlaceSelect
        path={[...statePath(index), "role"]}
        label={t("workflow.role")}
        none={t("workflow.nobody")}
        options={roles}
      />
    </div>
  );
}

function Gate({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const states = useStateOptions();
  const path = [...statePath(index), "gate_config"] as const;
  const approval = usePlace([...path, "requires_user_approval"]);
  const optional = usePlace([...path, "optional_when_unassigned"]);
  if (state.kind !== "gate" && !state.gate_config) return null;
  const chosen =
    approval.value === "always" ? "always" : approval.value === true ? "once" : "never";
  return (
    <fieldset className={styles.group} data-path={formatPath(path)}>
      <legend>{t("workflow.gate")}</legend>
      <div className={styles.pair}>
        <PlaceSelect
          path={[...path, "reject_target"]}
          label={t("workflow.rejectTarget")}
          none={t("workflow.notSet")}
          options={states}
        />
        <PlaceNumber
          path={[...path, "max_rejections"]}
          label={t("workflow.maxRejections")}
          placeholder={t("workflow.unlimited")}
        />
      </div>
      <PlaceSelect
        path={[...path, "requires_user_approval"]}
        label={t("workflow.approval")}
        value={chosen}
        options={(["never", "once", "always"] as const).map((value) => ({
          value,
          label: t(`workflow.approvals.${value}`),
          note: t(`workflow.approvalNotes.${value}`),
        }))}
        onChange={(value) =>
          value === "never" ? approval.clear() : approval.set(value === "always" ? "always" : true)
        }
      />
      <div data-path={optional.place}>
        <Checkbox
          label={t("workflow.optionalGate")}
          checked={optional.value === true}
          onChange={(checked) => (checked ? optional.set(true) : optional.clear())}
        />
      </div>
      <div className={styles.pair}>
        <PlaceText
          path={[...path, "approve_label"]}
          label={t("workflow.approveLabel")}
          placeholder={t("workflow.approve")}
        />
        <PlaceText
          path={[...path, "reject_label"]}
          label={t("workflow.rejectLabel")}
          placeholder={t("workflow.reject")}
        />
      </div>
    </fieldset>
  );
}

const cleanups = ["immediate", "delayed", "keep"] as const;
const day = 86_400;

function Numbers({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const path = [...statePath(index), "cleanup"];
  const { value, set, clear } = usePlace(path);
  const budgets = [...statePath(index), "config", "retry_budgets"];
  const delayed = isTree(value) ? value["delayed"] : undefined;
  const seconds = isTree(delayed) ? number(delayed["seconds"]) : null;
  const chosen = isTree(value) ? "delayed" : text(value);
  const shown = (budget: "review" | "merge_fix" | "execution") =>
    budget === "execution"
      ? state.kind === "active" || number(state.config?.retry_budgets?.execution) !== null
      : number(state.config?.retry_budgets?.[budget]) !== null;
  return (
    <fieldset className={styles.group}>
      <legend>{t("workflow.more")}</legend>
      <div className={styles.pair}>
        <PlaceSelect
          path={path}
          label={t("workflow.cleanup")}
          none={t("workflow.cleanupNone")}
          value={chosen}
          options={cleanups.map((each) => ({
            value: each,
            label: t(`workflow.cleanups.${each}`),
          }))}
          onChange={(next) => {
            if (next === null) clear();
            else set(next === "delayed" ? { delayed: { seconds: day } } : next);
          }}
        />
        {seconds !== null && (
          <PlaceNumber
            path={[...path, "delayed", "seconds"]}
            label={t("workflow.delay")}
            suffix={t("workflow.seconds")}
          />
        )}
        {(["execution", "merge_fix", "review"] as const).map(
          (budget) =>
            shown(budget) && (
              <PlaceNumber
                key={budget}
                path={[...budgets, budget]}
                label={t(`workflow.budgets.${budget}`)}
                hint={t(`workflow.budgetNotes.${budget}`)}
              />
            ),
        )}
      </div>
    </fieldset>
  );
}

/** Everything one state says, each thing at its field; what has no field is said on top. */
export function StateForm({ index }: { index: number }) {
  const { workflow, findings, readOnly } = useEditor();
  const state = workflow.states[index];
  if (!state) return null;
  const rest = unclaimedIn(findings, index);
  return (
    <fieldset className={styles.form} disabled={readOnly} aria-label={titleOf(state)}>
      {rest.length > 0 && (
        <Stack as="ul" gap={1}>
          {rest.map(({ path, message }) => (
            <li key={path + message} className={layout.error}>
              {sentence(message)}
            </li>
          ))}
        </Stack>
      )}
      <Names index={index} state={state} />
      <Place index={index} state={state} />
      <Gate index={index} state={state} />
      <Triggers index={index} state={state} />
      <StateHooks index={index} state={state} />
      <Numbers index={index} state={state} />
    </fieldset>
  );
}
