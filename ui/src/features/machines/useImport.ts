import { useState } from "react";
import { useOpMutation } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { SshHost } from "#ui/api/generated.ts";

/** Why hosts could not be added, by their alias. */
type Refusals = Readonly<Record<string, string>>;

export const isOpen = ({ machine_id: id }: SshHost): boolean => id === null;

/** Picks hosts and adds them one after the other; those that are refused stay picked. */
export function useImport(hosts: readonly SshHost[], onAdded: (count: number) => void) {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [refusals, setRefusals] = useState<Refusals>({});
  const [busy, setBusy] = useState(false);
  const { mutateAsync: create } = useOpMutation("machine_create");
  const open = hosts.filter(isOpen);
  const chosen = open.filter(({ alias }) => picked.has(alias));

  const add = async () => {
    setBusy(true);
    setRefusals({});
    const refused: Record<string, string> = {};
    for (const { alias } of chosen) {
      await create({ name: alias, ssh: { host: alias } }).catch((thrown: unknown) => {
        refused[alias] = errorText(ApiError.from(thrown));
      });
    }
    const left = Object.keys(refused);
    setBusy(false);
    setRefusals(refused);
    setPicked(new Set(left));
    if (left.length === 0) onAdded(chosen.length);
  };

  return {
    open,
    chosen,
    refusals,
    busy,
    pick: (alias: string, on: boolean) =>
      setPicked(new Set(on ? [...picked, alias] : [...picked].filter((each) => each !== alias))),
    pickAll: (on: boolean) => setPicked(new Set(on ? open.map(({ alias }) => alias) : [])),
    add,
  };
}
