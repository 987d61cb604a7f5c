/** The contract's operations, typed: the one place that names the generated file's table. */
import { tags, type Operations } from "./generated.ts";
import { createOperations } from "./operations.tsx";

export const { call, opQuery, useOp, useOpMutation, useOpPages } =
  createOperations<Operations>(tags);
