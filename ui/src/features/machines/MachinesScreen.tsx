import { FileInput, Plus, Server } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { useOp } from "#ui/api/client.ts";
import type { Machine } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { ImportDialog } from "./ImportDialog.tsx";
import { MachineDialog } from "./MachineDialog.tsx";
import { MachineRow } from "./MachineRow.tsx";

export default function MachinesScreen() {
  const { t } = useTranslation();
  const machines = useOp("machine_list", {});
  const [editing, setEditing] = useState<Machine | "new" | null>(null);
  const [importing, setImporting] = useState(false);
  const commands = useMemo(
    (): Command[] => [
      {
        id: "machines.add",
        label: t("machines.addAction"),
        group: t("nav.machines"),
        keys: ["n"],
        icon: <Plus />,
        run: () => setEditing("new"),
      },
      {
        id: "machines.import",
        label: t("machines.import.action"),
        group: t("nav.machines"),
        keys: ["i"],
        icon: <FileInput />,
        run: () => setImporting(true),
      },
    ],
    [t],
  );
  useCommands(commands);
  const items = machines.data?.items;
  const ways = (size: "sm" | "md") => (
    <>
      <Button size={size} keys="i" icon={<FileInput />} onClick={() => setImporting(true)}>
        {t("machines.import.action")}
      </Button>
      <Button
        variant="primary"
        size={size}
        keys="n"
        icon={<Plus />}
        onClick={() => setEditing("new")}
      >
        {t("machines.addAction")}
      </Button>
    </>
  );
  return (
    <Screen
      title={t("nav.machines")}
      layout="page"
      actions={items?.length ? ways("sm") : undefined}
    >
      {machines.error ? (
        <ErrorState
          title={t("machines.failed")}
          error={machines.error}
          onRetry={() => void machines.refetch()}
        />
      ) : !items ? (
        <SkeletonText lines={5} />
      ) : items.length === 0 ? (
        <EmptyState icon={<Server />} title={t("machines.empty")} actions={ways("md")}>
          {t("machines.emptyText")}
        </EmptyState>
      ) : (
        <Stack gap={4}>
          <p className={layout.note}>{t("machines.about")}</p>
          <ul className={layout.surface} aria-label={t("nav.machines")}>
            {items.map((machine) => (
              <MachineRow key={machine.id} machine={machine} onEdit={() => setEditing(machine)} />
            ))}
          </ul>
        </Stack>
      )}
      {editing !== null && (
        <MachineDialog
          machine={editing === "new" ? null : editing}
          onClose={() => setEditing(null)}
        />
      )}
      {importing && <ImportDialog machines={items ?? []} onClose={() => setImporting(false)} />}
    </Screen>
  );
}
