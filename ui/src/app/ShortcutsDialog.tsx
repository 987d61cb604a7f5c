import { useTranslation } from "react-i18next";
import { Dialog } from "#ui/components/Dialog.tsx";
import { KeyHint } from "#ui/components/Kbd.tsx";
import { byGroup, useCommandList } from "./keys.ts";
import styles from "./ShortcutsDialog.module.css";

export function ShortcutList() {
  const bound = useCommandList().filter((command) => command.keys?.length);
  return (
    <div className={styles.groups}>
      {[...byGroup(bound)].map(([group, members]) => (
        <section key={group}>
          <h3 className={styles.group}>{group}</h3>
          <ul>
            {members.map((command) => (
              <li key={command.id} className={styles.row}>
                {command.label}
                <KeyHint keys={command.keys?.[0] ?? ""} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

export function ShortcutsDialog({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("shortcuts.title")} size="lg">
      <ShortcutList />
    </Dialog>
  );
}
