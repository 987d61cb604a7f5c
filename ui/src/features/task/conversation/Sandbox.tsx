import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { SandboxReport } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { useUnfolded } from "./RowContext.ts";
import styles from "./ExecutionHead.module.css";

/** So many paths are in sight before all are asked for. */
const few = 4;

function Paths({ paths }: { paths: readonly string[] }) {
  return paths.map((path, index) => (
    <span key={`${index}:${path}`}>
      {index > 0 && ", "}
      <code>{path}</code>
    </span>
  ));
}

function Warning({ children }: { children: ReactNode }) {
  return (
    <span className={styles.warning}>
      <TriangleAlert aria-hidden /> {children}
    </span>
  );
}

type Refused = Pick<SandboxReport, "refused" | "paths">;

function Refusal({ refused, paths }: Refused) {
  const { t } = useTranslation();
  return (
    <Warning>
      {paths.length === 0 ? (
        t("conversation.sandbox.refused", { count: refused })
      ) : (
        <>
          {t("conversation.sandbox.refusedAt", { count: refused })} <Paths paths={paths} />
        </>
      )}
    </Warning>
  );
}

/** A long list is folded until somebody wants to see it. */
function LongRefusal({ refused, paths, run }: Refused & { run: string }) {
  const { t } = useTranslation();
  const [open, toggle] = useUnfolded(`sandbox:${run}`);
  return (
    <>
      <Refusal refused={refused} paths={open ? paths : paths.slice(0, few)} />
      <Button size="sm" variant="ghost" flush aria-expanded={open} onClick={toggle}>
        {open
          ? t("conversation.sandbox.fewer")
          : t("conversation.sandbox.all", { count: paths.length })}
      </Button>
    </>
  );
}

/** What was confined. A run that is confined less than it was to be says so in the tone of a warning. */
function Confined({ mode, state }: SandboxReport) {
  const { t } = useTranslation();
  if (mode === "off" || state === "enforced") return t(`conversation.sandbox.mode.${mode}`);
  const said = t(`conversation.sandbox.state.${state}`);
  return state === "own" ? said : <Warning>{said}</Warning>;
}

/** How a run was confined, and what it was refused; an older run says nothing about it. */
export function Sandbox({ report, run }: { report: SandboxReport | null; run: string }) {
  const { t } = useTranslation();
  if (!report) return null;
  const { refused, paths, kept_refs: kept } = report;
  return (
    <>
      <p className={styles.facts} data-selectable>
        <span>
          <Confined {...report} />
        </span>
        {refused > 0 &&
          (paths.length > few ? (
            <LongRefusal refused={refused} paths={paths} run={run} />
          ) : (
            <Refusal refused={refused} paths={paths} />
          ))}
      </p>
      {kept.length > 0 && (
        <p className={styles.facts} data-selectable>
          <span className={styles.paths}>
            {t("conversation.sandbox.kept")} <Paths paths={kept} />
          </span>
        </p>
      )}
    </>
  );
}
