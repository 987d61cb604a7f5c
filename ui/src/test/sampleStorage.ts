/**
 * The storage of the sample host: in order, `full` (nothing can be saved) or `low`, with a question. What is read of
 * storage differs by machine and is not recorded.
 */
import type { Backup, RetentionQuestion, StorageStatus } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";

const day = 24 * 60 * 60 * 1000;

export const sampleBackups = (): Backup[] =>
  [0, 1, 2].map((age) => ({
    name: `00000${3 - age}-daily`,
    reason: "daily",
    created_at: new Date(Date.now() - age * day).toISOString(),
    bytes: 4_200_000,
    path: `/home/me/.local/share/forge/backups/00000${3 - age}-daily.db`,
  }));

export const sampleQuestion = (change: Partial<RetentionQuestion> = {}): RetentionQuestion => ({
  kind: "logs",
  doomed: 60,
  total: 80,
  until: new Date(Date.now() - 90 * day).toISOString(),
  asked_at: new Date(Date.now() - day).toISOString(),
  answer: null,
  ...change,
});

export function sampleStorage(change: Partial<StorageStatus> = {}): StorageStatus {
  return {
    writable: true,
    problem: null,
    free_bytes: 84_000_000_000,
    total_bytes: 250_000_000_000,
    low: false,
    restore_pending: null,
    restore_failed: null,
    retention: { logs_days: 90, events_days: 90 },
    questions: [],
    ...change,
  };
}

export const lowStorage = (change: Partial<StorageStatus> = {}): StorageStatus =>
  sampleStorage({
    free_bytes: 700_000_000,
    low: true,
    restore_failed:
      "Could not find the backup `000001-daily`: no file of this name is among the backups.",
    questions: [sampleQuestion()],
    ...change,
  });

const fullStorage = (): StorageStatus =>
  sampleStorage({
    writable: false,
    problem: {
      trouble: "full",
      detail: "database or disk is full",
      remedy: "Free some space on the disk of the data folder. Forge continues automatically.",
      since: new Date(Date.now() - 60_000).toISOString(),
    },
    free_bytes: 0,
    low: true,
  });

export function storageAnswers(sample: string | null): Handlers {
  const status =
    sample === "full" ? fullStorage() : sample === "low" ? lowStorage() : sampleStorage();
  return {
    storage_get: () => status,
    storage_usage: () => ({
      database_bytes: 5_100_000,
      backups_bytes: 12_600_000,
      logs_bytes: 310_000_000,
      events: 4210,
    }),
    database_backups: () => pageOf(sampleBackups()),
  };
}
