/** Who can be given which role: the role that does the work goes first, each under a heading of its own. */
import { UserRound, UserRoundX } from "lucide-react";
import type { ReactNode } from "react";
import type { Role, WorkflowView } from "#ui/api/generated.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import type { PaletteGroup, PaletteItem } from "#ui/components/CommandPalette.tsx";
import type { AgentNames } from "./BoardCard.tsx";

export interface RoleGroupsInput {
  readonly view: WorkflowView;
  readonly agents: AgentNames;
  /** The tasks in a few words: the first heading says whom it is about. */
  readonly title: string;
  readonly words: { readonly you: string; readonly nobody: string };
  readonly give: (role: string, holder: string | null) => void;
}

export function roleGroups({ view, agents, title, words, give }: RoleGroupsInput): PaletteGroup[] {
  const isWork = ({ name }: Role) => name === view.work_role;
  const { roles } = view.workflow;
  return [...roles.filter(isWork), ...roles.filter((role) => !isWork(role))].map((role, index) => {
    const item = (id: string, label: string, icon: ReactNode): PaletteItem => ({
      id: `${role.name}:${id}`,
      label,
      keywords: role.display_name,
      icon,
      run: () => give(role.name, id === "" ? null : id),
    });
    return {
      value: index === 0 ? `${title} · ${role.display_name}` : role.display_name,
      items: [
        ...[...agents].map(([id, name]) => item(id, name, <Avatar name={name} size={14} />)),
        item("user", words.you, <UserRound />),
        item("", words.nobody, <UserRoundX />),
      ],
    };
  });
}
