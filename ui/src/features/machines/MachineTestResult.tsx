import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { MachineTest, MachineTestStep } from "#ui/api/generated.ts";
import { Said } from "#ui/components/Said.tsx";
import styles from "./MachinesScreen.module.css";

function Step({ step }: { step: MachineTestStep }) {
  const { t } = useTranslation();
  return (
    <li className={styles.step} data-ok={step.ok}>
      {step.ok ? <CircleCheck aria-hidden /> : <CircleX aria-hidden />}
      <div className={styles.stepText}>
        <p>
          <span className="visually-hidden">
            {t(step.ok ? "machines.passed" : "machines.notPassed")}:{" "}
          </span>
          <span className={styles.stepName}>{step.name}</span>{" "}
          <span className={styles.stepMessage} data-selectable>
            <Said text={step.message} />
          </span>
        </p>
        {step.remedy && (
          <p className={styles.remedy} data-selectable>
            <Said text={step.remedy} />
          </p>
        )}
      </div>
    </li>
  );
}

/** The outcome of a test, in one line. */
export function TestOutcome({ test }: { test: MachineTest }) {
  const { t } = useTranslation();
  const { ok, steps } = test;
  return (
    <p className={styles.line} data-contact={ok ? "live" : "unreachable"}>
      {ok ? <CircleCheck aria-hidden /> : <CircleX aria-hidden />}
      <span>{t(ok ? "machines.ready" : "machines.notReady")}</span>
      <span className={styles.count}>
        {t("machines.stepsPassed", {
          passed: steps.filter((step) => step.ok).length,
          count: steps.length,
        })}
      </span>
    </p>
  );
}

export function TestSteps({ name, test }: { name: string; test: MachineTest }) {
  const { t } = useTranslation();
  return (
    <ol className={styles.steps} aria-label={t("machines.steps", { name })}>
      {test.steps.map((step, index) => (
        <Step key={index} step={step} />
      ))}
    </ol>
  );
}
