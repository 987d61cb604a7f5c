import { expect, it } from "vitest";
import type { SlurmConfig } from "#ui/api/generated.ts";
import { thisComputer } from "#ui/domain/machines/machines.ts";
import { sampleMachines } from "#ui/test/sampleMachines.ts";
import { emptySlurm, slurmFormOf, slurmOf, submitters } from "./slurm.ts";

const full: SlurmConfig = {
  partition: "gpu,long",
  account: "lab-1",
  time_minutes: 240,
  cpus: 8,
  memory_mb: 32_768,
  gres: "gpu:1",
  via: "login",
};

it("keeps what jobs ask for as it is when nothing is changed", () => {
  expect(slurmOf(slurmFormOf(full))).toEqual(full);
});

it("leaves what is empty to the cluster, and submits on this computer", () => {
  expect(slurmOf({ ...emptySlurm, partition: " ", gres: " gpu:1 " })).toEqual({
    partition: null,
    account: null,
    time_minutes: null,
    cpus: null,
    memory_mb: null,
    gres: "gpu:1",
    via: null,
  });
});

it("submits on machines of ssh alone, and keeps one that is not known", () => {
  const ssh = ["gpu-box", "attic", "build-farm"];
  expect(submitters(sampleMachines(), thisComputer)).toEqual(ssh);
  expect(submitters(sampleMachines(), "attic")).toEqual(ssh);
  expect(submitters(sampleMachines(), "login")).toEqual([...ssh, "login"]);
  expect(submitters([], thisComputer)).toEqual([]);
});
