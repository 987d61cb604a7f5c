/** What of an offer from another tool's file is new here. Pure. */
import type { CopyFile, ImportOffer, ProjectSettings } from "#ui/api/generated.ts";

export interface Taken {
  readonly copy_files: CopyFile[];
  readonly setup: string[];
}

export function newIn(offer: ImportOffer, settings: ProjectSettings): Taken {
  const patterns = new Set((settings.copy_files ?? []).map(({ pattern }) => pattern));
  const commands = new Set(settings.setup ?? []);
  return {
    copy_files: offer.copy_files.filter(({ pattern }) => !patterns.has(pattern)),
    setup: offer.setup.filter((command) => !commands.has(command)),
  };
}

/** The settings' change that takes it over: what is there stays, what is new comes after it. */
export function patchOf(offer: ImportOffer, settings: ProjectSettings): Partial<Taken> {
  const { copy_files, setup } = newIn(offer, settings);
  return {
    ...(copy_files.length > 0
      ? { copy_files: [...(settings.copy_files ?? []), ...copy_files] }
      : {}),
    ...(setup.length > 0 ? { setup: [...(settings.setup ?? []), ...setup] } : {}),
  };
}
