/** Hosts of the SSH configuration, to be added as machines. */
import { Server } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Machine, SshHost } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { isOpen, useImport } from "./useImport.ts";
import styles from "./MachinesScreen.module.css";

const none: readonly SshHost[] = [];

export function ImportDialog({
  machines,
  onClose,
}: {
  machines: readonly Machine[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  // The file is edited outside: it is read whenever somebody looks.
  const hosts = useOp("machine_hosts", {}, { fresh: true });
  const items = hosts.data?.items;
  const { open, chosen, refusals, busy, pick, pickAll, add } = useImport(items ?? none, (count) => {
    showToast({ tone: "success", title: t("machines.import.done", { count }) });
    onClose();
  });
  const refused = Object.keys(refusals).length;
  const isAll = chosen.length === open.length;
  const noteOf = ({ target, machine_id: id }: SshHost) => {
    if (id === null) return target;
    const name = machines.find((machine) => machine.id === id)?.name;
    const added = name ? t("machines.import.addedAs", { name }) : t("machines.import.added");
    return `${target} · ${added}`;
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("machines.import.title")}
      description={t("machines.import.text")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            variant="primary"
            busy={busy}
            disabled={chosen.length === 0}
            onClick={() => void add()}
          >
            {t("machines.import.add", { count: chosen.length })}
          </Button>
        </>
      }
    >
      {hosts.error ? (
        <ErrorState
          title={t("machines.import.failed")}
          error={hosts.error}
          onRetry={() => void hosts.refetch()}
        />
      ) : !items ? (
        <SkeletonText lines={4} />
      ) : items.length === 0 ? (
        <EmptyState icon={<Server />} title={t("machines.import.empty")}>
          {t("machines.import.emptyText")}
        </EmptyState>
      ) : (
        <Stack gap={4}>
          {refused > 0 && (
            <Banner tone="danger" title={t("machines.import.refused", { count: refused })} />
          )}
          {open.length > 1 && (
            <Checkbox
              label={t("machines.import.all")}
              checked={isAll}
              mixed={chosen.length > 0 && !isAll}
              disabled={busy}
              onChange={pickAll}
            />
          )}
          <ul className={styles.hosts} aria-label={t("machines.import.hosts")}>
            {items.map((host) => (
              <li key={host.alias}>
                <Checkbox
                  label={host.alias}
                  hint={noteOf(host)}
                  checked={!isOpen(host) || chosen.includes(host)}
                  disabled={busy || !isOpen(host)}
                  onChange={(on) => pick(host.alias, on)}
                />
                {refusals[host.alias] && <p className={styles.refusal}>{refusals[host.alias]}</p>}
              </li>
            ))}
          </ul>
        </Stack>
      )}
    </Dialog>
  );
}
