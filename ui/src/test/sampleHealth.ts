/** What the sample host says of its computer. */
import type { Handlers } from "./answers.ts";

export function healthAnswers(): Handlers {
  const good = (subject: string, detail: string) => ({ subject, detail, ok: true, remedy: null });
  return {
    doctor: () => ({
      ok: false,
      findings: [
        good("git", "2.50.0"),
        good("database", "/home/me/.local/share/forge/forge.db"),
        good("sandbox", "files and TCP ports (Landlock 6)"),
        {
          subject: "agent Gemini",
          detail: "Could not find `gemini`.",
          ok: false,
          remedy: "Install the program, or set its path in the agent's profile.",
        },
      ],
    }),
    diagnostics: () => ({ text: "# Forge diagnostics\n" }),
  };
}
