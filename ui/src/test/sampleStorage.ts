/** The storage of the sample host: in order, `full` (nothing can be saved) or `low`, with a question. */
import type {
  AnswerQuestion,
  Backup,
  BackupPath,
  RetentionQuestion,
  StorageStatus,
  UpdateStorage,
} from "#ui/api/generated.ts";

interface Settings {
  readonly sample: string | null;
  refuse(code: string, message: string, details?: unknown): never;
  changed(...tags: string[]): void;
}

const day = 24 * 60 * 60 * 1000;

export function createSampleStorage({ sample, refuse, changed }: Settings) {
  const backups: Backup[] = [0, 1, 2].map((age) => ({
    name: `00000${3 - age}-daily`,
    reason: "daily",
    created_at: new Date(Date.now() - age * day).toISOString(),
    bytes: 4_200_000,
    path: `/home/me/.local/share/forge/backups/00000${3 - age}-daily.db`,
  }));
  let questions: RetentionQuestion[] =
    sample === "low"
      ? [
          {
            kind: "logs",
            doomed: 60,
            total: 80,
            until: new Date(Date.now() - 90 * day).toISOString(),
            asked_at: new Date(Date.now() - day).toISOString(),
            answer: null,
          },
        ]
      : [];
  let retention = { logs_days: 90, events_days: 90 };
  let restorePending: string | null = null;
  const status = (): StorageStatus => ({
    writable: sample !== "full",
    problem:
      sample === "full"
        ? {
            trouble: "full",
            detail: "database or disk is full",
            remedy: "Free some space on the disk of the data folder. Forge continues by itself.",
            since: new Date(Date.now() - 60_000).toISOString(),
          }
        : null,
    free_bytes: sample === "full" ? 0 : sample === "low" ? 700_000_000 : 84_000_000_000,
    total_bytes: 250_000_000_000,
    low: sample === "full" || sample === "low",
    restore_pending: restorePending,
    restore_failed:
      sample === "low"
        ? "Could not find the backup `000001-daily`: no file of this name is among the backups."
        : null,
    retention,
    questions,
  });
  return {
    storage_get: status,
    storage_usage: () => ({
      database_bytes: 5_100_000,
      backups_bytes: 12_600_000,
      logs_bytes: 310_000_000,
      events: 4210,
    }),
    storage_update: ({ retention: wanted }: UpdateStorage) => {
      retention = { ...retention, ...wanted };
      changed("storage");
      return status();
    },
    storage_answer: ({ kind, answer }: AnswerQuestion) => {
      questions =
        answer === "delete"
          ? questions.filter((question) => question.kind !== kind)
          : questions.map((question) =>
              question.kind === kind ? { ...question, answer } : question,
            );
      changed("storage");
      return status();
    },
    database_backups: () => ({ items: backups, next_cursor: null }),
    database_backup_create: () => {
      const made: Backup = {
        ...(backups[0] ?? refuse("internal", "no backup to copy")),
        name: `00000${backups.length + 1}-manual`,
        reason: "manual",
        created_at: new Date().toISOString(),
      };
      backups.unshift(made);
      changed("storage");
      return made;
    },
    database_backup_restore: ({ name }: BackupPath) => {
      const backup = backups.find((each) => each.name === name);
      if (!backup) return refuse("not_found", `no backup \`${name}\``);
      restorePending = name;
      changed("storage");
      return { backup, restart_required: true };
    },
  };
}
