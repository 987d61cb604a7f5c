/** What the configurations of MCP clients are chosen by. Pure. */
import type { ClientConfig, McpClient, McpTransport, Operations } from "#ui/api/generated.ts";

/** How other programs reach this Forge. */
export type Access = Operations["doors_get"]["output"];

export interface Choice {
  readonly client: McpClient;
  readonly transport: McpTransport;
}

/** Each client once, as it is called. */
export function clientsOf(configs: readonly ClientConfig[]) {
  return configs
    .filter(({ client }, index) => configs.findIndex((each) => each.client === client) === index)
    .map(({ client, title }) => ({ value: client, label: title }));
}

export function configOf(configs: readonly ClientConfig[], { client, transport }: Choice) {
  return configs.find((each) => each.client === client && each.transport === transport);
}

/** Whether a file is looked for in the folder that is worked in, and not in the person's own. */
export const isOfProject = (file: string): boolean => !/^[~/]/.test(file);

/** A shell line that puts the token where a client reads it, without a word of the token itself. */
export function tokenLine(variable: string, file: string): string {
  return `export ${variable}="$(cat '${file.replaceAll("'", String.raw`'\''`)}')"`;
}

export const folderOf = (file: string): string => file.slice(0, Math.max(1, file.lastIndexOf("/")));
