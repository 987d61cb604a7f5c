import { CircleCheck, CircleDashed, CircleHelp, CircleX, KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { AgentCheck } from "#ui/api/generated.ts";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { Said } from "#ui/components/Said.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Programs.module.css";

/** What to do, with a way to copy each command in it. */
function Remedy({ text }: { text: string }) {
  const { t } = useTranslation();
  const commands = text.split("`").filter((_, index) => index % 2 === 1);
  return (
    <p className={styles.remedy} data-selectable>
      <Said text={text} />
      {commands.map((command) => (
        <CopyButton key={command} text={command} label={t("agents.copyCommand", { command })} />
      ))}
    </p>
  );
}

/** Whether a program is there, which one, and whether it is signed in. */
export function Standing({
  check,
  optional = false,
  children,
}: {
  check: AgentCheck;
  /** That it is not there is no trouble. */
  optional?: boolean;
  children?: ReactNode;
}) {
  const { t } = useTranslation();
  const { found, program, version, signed_in: signedIn, problem, remedy } = check;
  const said =
    remedy ?? (found && signedIn === false && program ? t("agents.signInHint", { program }) : null);
  return (
    <div className={styles.standing}>
      <p
        className={styles.program}
        data-found={found || (optional ? "optional" : false)}
        title={problem ?? undefined}
      >
        {found ? (
          <CircleCheck aria-hidden />
        ) : optional ? (
          <CircleDashed aria-hidden />
        ) : (
          <CircleX aria-hidden />
        )}
        <span data-selectable>
          {found ? (
            <>
              {version && <span className={styles.version}>{version}</span>} <code>{program}</code>
            </>
          ) : (
            <Said text={optional ? t("agents.notHere") : (problem ?? t("agents.notFound"))} />
          )}
        </span>
        {found && signedIn !== null && (
          <span className={styles.signed} data-signed={signedIn}>
            {signedIn ? <KeyRound aria-hidden /> : <CircleX aria-hidden />}
            {t(signedIn ? "agents.signedIn" : "agents.notSignedIn")}
          </span>
        )}
        {found && signedIn === null && (
          <span className={styles.signed}>
            <CircleHelp aria-hidden />
            {t("agents.signedUnknown")}
          </span>
        )}
        {children}
      </p>
      {found && problem && <p className={layout.error}>{problem}</p>}
      {said && <Remedy text={said} />}
    </div>
  );
}
