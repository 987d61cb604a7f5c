import { FileDown } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { ImportOffer } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { modeOf } from "./CopyFiles.tsx";
import { newIn, patchOf } from "./imports.ts";
import { useSettings } from "./settingsContext.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

function Offer({ offer }: { offer: ImportOffer }) {
  const { t } = useTranslation();
  const { view, busy, patch } = useSettings();
  const fresh = newIn(offer, view.settings);
  const count = fresh.copy_files.length + fresh.setup.length;
  return (
    <li className={styles.offer}>
      <Stack gap={1} shrink>
        <code>{offer.source}</code>
        {offer.error && <span className={styles.error}>{offer.error}</span>}
        {fresh.copy_files.length > 0 && (
          <span className={styles.offerLine}>
            {t("projectSettings.importCopies")}
            {fresh.copy_files.map((rule) => (
              <code key={rule.pattern}>
                {rule.pattern}
                {modeOf(rule) !== "copy" && ` (${t(`projectSettings.modes.${modeOf(rule)}`)})`}
              </code>
            ))}
          </span>
        )}
        {fresh.setup.length > 0 && (
          <span className={styles.offerLine}>
            {t("projectSettings.importRuns")}
            {fresh.setup.map((command) => (
              <code key={command}>{command}</code>
            ))}
          </span>
        )}
        {offer.notes.map((note) => (
          <span key={note} className={layout.note}>
            {note}
          </span>
        ))}
      </Stack>
      {count > 0 ? (
        <Button
          size="sm"
          busy={busy}
          aria-label={t("projectSettings.importFrom", { source: offer.source })}
          onClick={() => patch(patchOf(offer, view.settings))}
        >
          {t("projectSettings.import")}
        </Button>
      ) : (
        !offer.error && <Badge look="outline">{t("projectSettings.imported")}</Badge>
      )}
    </li>
  );
}

/** What other tools' files in the repository would set here. Nothing is shown when there are none. */
export function Imports({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const offers = useOp("project_imports", { project_id: projectId }).data?.items ?? [];
  if (offers.length === 0) return null;
  return (
    <section className={styles.card} aria-labelledby="imports">
      <div className={styles.offerHead}>
        <FileDown aria-hidden />
        <div>
          <h2 id="imports">{t("projectSettings.imports")}</h2>
          <p className={layout.note}>{t("projectSettings.importsHint")}</p>
        </div>
      </div>
      <ul>
        {offers.map((offer) => (
          <Offer key={offer.source} offer={offer} />
        ))}
      </ul>
    </section>
  );
}
