/** How much of a project's limit for a day is used. Pure. */

/** From this part on the engine warns. */
const near = 0.8;

export interface Used {
  /** 1 is all of it. */
  readonly part: number;
  readonly standing: "enough" | "near" | "reached";
}

/** A limit of nothing is used up from the start. */
export function usedOf(today: number | null, limit: number): Used {
  const part = limit === 0 ? 1 : (today ?? 0) / limit;
  return { part, standing: part >= 1 ? "reached" : part >= near ? "near" : "enough" };
}
