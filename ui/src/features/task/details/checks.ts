/** The lines of a text box as checks: one command a line, blank ones dropped. */
export function checksFrom(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
