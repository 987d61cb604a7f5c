/** Paths as a person types them, one a line. Pure. */
export const linesOf = (paths: readonly string[]): string => paths.join("\n");

export const pathsIn = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((path) => path.trim())
    .filter((path) => path !== "");
