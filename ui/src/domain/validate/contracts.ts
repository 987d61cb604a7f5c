/** Contracts between two files, as they are written down. Pure. */
import type { ContractPair } from "#ui/api/generated.ts";

export const isComplete = ({ exporter, importer }: ContractPair): boolean =>
  exporter.trim() !== "" && importer.trim() !== "";
