/** Whether this computer has what Forge needs, and what helps somebody else to find a fault. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import type { DoctorFinding } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { useSavedText } from "#ui/domain/useSavedText.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { Row } from "./Section.tsx";
import styles from "./SettingsScreen.module.css";

function Finding({ finding }: { finding: DoctorFinding }) {
  const { t } = useTranslation();
  const { subject, ok, detail, remedy } = finding;
  if (ok) return <Row label={subject} hint={detail} />;
  return (
    <div className={styles.notice}>
      <Banner tone="warning" title={t("health.problem", { subject })}>
        {detail}
        {remedy !== null && <p>{remedy}</p>}
      </Banner>
    </div>
  );
}

/** Problems first; what is in order is a line each. */
function Findings({ findings }: { findings: readonly DoctorFinding[] }) {
  const { t } = useTranslation();
  const bad = findings.filter(({ ok }) => !ok);
  const good = findings.filter(({ ok }) => ok);
  return (
    <Stack>
      <p role="status" className={styles.notice}>
        {bad.length === 0 ? t("health.good") : t("health.bad", { count: bad.length })}
      </p>
      {[...bad, ...good].map((finding) => (
        <Finding key={finding.subject} finding={finding} />
      ))}
    </Stack>
  );
}

export function Health() {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [asked, setAsked] = useState(false);
  const doctor = useOp("doctor", {}, { enabled: asked });
  const diagnostics = useSavedText({
    name: "forge-diagnostics.md",
    read: async () => (await call(platform, "diagnostics", {})).text,
    saved: t("health.saved"),
    notSaved: t("health.notSaved"),
  });
  const check = () => {
    if (asked) void doctor.refetch();
    setAsked(true);
  };
  return (
    <>
      <Row label={t("health.computer")} hint={t("health.computerHint")}>
        <Button busy={doctor.isFetching} onClick={check}>
          {t("health.check")}
        </Button>
      </Row>
      {doctor.error !== null && (
        <ErrorState
          title={t("health.notChecked")}
          error={doctor.error}
          onRetry={() => void doctor.refetch()}
        />
      )}
      {doctor.data && <Findings findings={doctor.data.findings} />}
      <Row label={t("health.diagnostics")} hint={t("health.diagnosticsHint")}>
        <Button busy={diagnostics.busy} onClick={diagnostics.save}>
          {t("health.save")}
        </Button>
      </Row>
    </>
  );
}
