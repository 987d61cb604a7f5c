import { ArrowDown, ArrowUp, ChevronRight, CircleAlert, Plus, Trash2, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import type { State } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { nearestPlace, saidAt } from "#ui/draft/findings.ts";
import { parsePath, setAt } from "#ui/draft/path.ts";
import { AddStateDialog } from "./AddStateDialog.tsx";
import { useEditor } from "./EditorContext.tsx";
import { PlaceSelect, PlaceText } from "./fields.tsx";
import { StateForm } from "./StateForm.tsx";
import { moveState, removeState, text, titleOf } from "./definition.ts";
import { findingsOfState } from "./stateFindings.ts";
import { useStateOptions } from "./useStateOptions.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

function Roles() {
  const { t } = useTranslation();
  const { workflow, findings, edit } = useEditor();
  const roles = workflow.roles ?? [];
  const add = () =>
    edit(
      setAt(workflow, ["roles", roles.length], {
        name: `role_${roles.length + 1}`,
        display_name: "",
      }),
    );
  return (
    <fieldset className={styles.group} data-path="roles">
      <legend>{t("workflow.roles")}</legend>
      {roles.length === 0 && <p className={styles.hint}>{t("workflow.noRoles")}</p>}
      <ul className={styles.entries}>
        {roles.map((_, at) => (
          <li key={at} className={styles.role} data-path={`roles[${at}]`}>
            <PlaceText
              path={["roles", at, "display_name"]}
              label={t("workflow.roleTitle", { number: at + 1 })}
              placeholder={t("workflow.roleTitle", { number: at + 1 })}
              hideLabel
              required
            />
            <PlaceText
              path={["roles", at, "name"]}
              label={t("workflow.roleName", { number: at + 1 })}
              hideLabel
              required
            />
            <IconButton
              size="sm"
              label={t("workflow.removeRole", { number: at + 1 })}
              icon={<X />}
              onClick={() => edit(setAt(workflow, ["roles", at], undefined))}
            />
          </li>
        ))}
      </ul>
      {findings.some(({ path }) => path === "roles") && (
        <span className={layout.error}>{saidAt(findings, "roles")}</span>
      )}
      <div>
        <Button size="sm" variant="ghost" flush icon={<Plus />} onClick={add}>
          {t("workflow.addRole")}
        </Button>
      </div>
    </fieldset>
  );
}

/** What the whole definition says. */
function General() {
  const { t } = useTranslation();
  const states = useStateOptions();
  return (
    <div className={styles.general}>
      <div className={styles.pair}>
        <PlaceText path={["name"]} label={t("workflow.name")} required />
        <PlaceSelect
          path={["cancellation_state"]}
          label={t("workflow.cancellation")}
          options={states}
        />
      </div>
      <Roles />
    </div>
  );
}

function RemoveState({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, edit, setOpen } = useEditor();
  const [asks, setAsks] = useState(false);
  const name = text(state.name);
  const ways = workflow.states.filter((other) =>
    Object.values(other.triggers ?? {}).some(({ to }) => to === name),
  ).length;
  const remove = () => {
    edit(removeState(workflow, index));
    setOpen(null);
    setAsks(false);
  };
  return (
    <>
      <IconButton
        size="sm"
        label={t("workflow.removeState", { name: titleOf(state) })}
        icon={<Trash2 />}
        onClick={() => (ways > 0 ? setAsks(true) : remove())}
      />
      <AlertDialog
        open={asks}
        onOpenChange={setAsks}
        title={t("workflow.removeStateTitle", { name: titleOf(state) })}
        description={t("workflow.removeStateText", { count: ways })}
        confirmLabel={t("workflow.removeStateAction")}
        danger
        onConfirm={remove}
      />
    </>
  );
}

function StateRow({ index, state }: { index: number; state: State }) {
  const { t } = useTranslation();
  const { workflow, findings, readOnly, edit, open, setOpen } = useEditor();
  const id = useId();
  const isOpen = open === index;
  const count = findingsOfState(findings, index).length;
  const title = titleOf(state);
  const role = (workflow.roles ?? []).find(({ name }) => name === state.role);
  const kind = kindOfState(state, text(workflow.cancellation_state));
  const move = (to: number) => {
    edit(moveState(workflow, index, to));
    if (isOpen) setOpen(to);
  };
  return (
    <li className={styles.state} data-open={isOpen || undefined} data-path={`states[${index}]`}>
      <div className={styles.stateHead}>
        <button
          type="button"
          className={styles.stateButton}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(isOpen ? null : index)}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          <StateGlyph kind={kind} label="" />
          <span className={styles.stateTitle}>{title || t("workflow.unnamed")}</span>
          <span className={styles.stateFacts}>
            {[
              t(`workflow.kinds.${state.kind}`, { defaultValue: text(state.kind) }),
              text(state.column) !== title && text(state.column),
              role && text(role.display_name),
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
          {count > 0 && (
            <Badge tone="danger" icon={<CircleAlert />}>
              {t("workflow.findings", { count })}
            </Badge>
          )}
        </button>
        {!readOnly && (
          <span className={styles.stateTools}>
            <IconButton
              size="sm"
              label={t("workflow.stateUp", { name: title })}
              icon={<ArrowUp />}
              disabled={index === 0}
              onClick={() => move(index - 1)}
            />
            <IconButton
              size="sm"
              label={t("workflow.stateDown", { name: title })}
              icon={<ArrowDown />}
              disabled={index === workflow.states.length - 1}
              onClick={() => move(index + 1)}
            />
            <RemoveState index={index} state={state} />
          </span>
        )}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <StateForm index={index} />}
      </div>
    </li>
  );
}

const focusable =
  "input:not([disabled]), textarea:not([disabled]), [role=combobox]:not([disabled]), button:not([disabled])";

/** Leads to the innermost field around a place. */
function useArrival(form: React.RefObject<HTMLElement | null>) {
  const { target } = useEditor();
  useEffect(() => {
    if (!target || !form.current) return;
    const fields = [...form.current.querySelectorAll<HTMLElement>("[data-path]")];
    const place = nearestPlace(
      target.path,
      fields.map((field) => field.dataset["path"] ?? ""),
    );
    const field = fields.find((each) => each.dataset["path"] === place);
    field?.scrollIntoView({ block: "center" });
    field?.querySelector<HTMLElement>(focusable)?.focus({ preventScroll: true });
  }, [target, form]);
}

/** The definition as a form: what all states share, then the states in board order. */
export function FormView() {
  const { t } = useTranslation();
  const { workflow, readOnly } = useEditor();
  const form = useRef<HTMLDivElement>(null);
  const [adds, setAdds] = useState(false);
  useArrival(form);
  return (
    <div ref={form} className={styles.formView}>
      <fieldset className={styles.all} disabled={readOnly}>
        <legend className="visually-hidden">{t("workflow.form")}</legend>
        <General />
        <div className={styles.statesHead}>
          <h2>{t("workflow.states")}</h2>
          {!readOnly && (
            <Button size="sm" icon={<Plus />} onClick={() => setAdds(true)}>
              {t("workflow.addState")}
            </Button>
          )}
        </div>
      </fieldset>
      <ol className={layout.surface} data-path="states">
        {workflow.states.map((state, index) => (
          <StateRow key={index} index={index} state={state} />
        ))}
      </ol>
      {adds && <AddStateDialog onClose={() => setAdds(false)} />}
    </div>
  );
}

export const stateOf = (path: string): number | null => {
  const [root, index] = parsePath(path);
  return root === "states" && typeof index === "number" ? index : null;
};
