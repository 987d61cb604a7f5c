/** A code host between its form and the settings. Pure. */
import type { HostConfig, HostKind } from "#ui/api/generated.ts";

export const hostKinds: readonly HostKind[] = ["github", "gitea", "gitlab"];

/** Where a host of this kind is when no address is given. */
export const usualAddress: Readonly<Record<HostKind, string>> = {
  github: "https://github.com",
  gitea: "https://codeberg.org",
  gitlab: "https://gitlab.com",
};

export interface HostDraft {
  readonly kind: HostKind;
  readonly url: string;
  readonly owner: string;
  readonly repo: string;
  readonly remote: string;
}

export function draftOf(host: HostConfig | null | undefined): HostDraft {
  return {
    kind: host?.kind ?? "github",
    url: host?.base_url ?? "",
    owner: host?.owner ?? "",
    repo: host?.repo ?? "",
    remote: host?.remote ?? "origin",
  };
}

/** Null for an empty form: no host. As a whole: in a merge patch, null takes away what a field held before. */
export function settingOf(draft: HostDraft): HostConfig | null {
  if ([draft.url, draft.owner, draft.repo].every((text) => text.trim() === "")) return null;
  return {
    kind: draft.kind,
    base_url: draft.url.trim() === "" ? null : draft.url.trim(),
    owner: draft.owner.trim(),
    repo: draft.repo.trim(),
    remote: draft.remote.trim() === "" ? "origin" : draft.remote.trim(),
  };
}

export const isWhole = (draft: HostDraft): boolean =>
  draft.owner.trim() !== "" && draft.repo.trim() !== "";
