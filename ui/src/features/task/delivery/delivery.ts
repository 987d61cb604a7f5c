/** What a task delivered as numbers and as Markdown. Pure; words come from the caller. */
import type { Delivery, ReviewStep, Usage } from "#ui/api/generated.ts";
import { outcomeOf } from "../review/checks.ts";
import { short } from "../review/merging.ts";

export const inputOf = (usage: Usage): number =>
  (usage.input_uncached ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);

export const outputOf = (usage: Usage): number => usage.output ?? 0;

/** From the first run to the end. */
export function wholeTime({ started_at: start, finished_at: end }: Delivery): number | null {
  return start === null ? null : Math.max(0, Date.parse(end) - Date.parse(start));
}

export const passedOf = (checks: readonly ReviewStep[]): number =>
  checks.filter((step) => outcomeOf(step) === "passed").length;

/** Whether anything was left behind; a task that was given up may have nothing to show. */
export function isEmpty({ summary, merge, pull_request: pull, commits, runs }: Delivery): boolean {
  return !summary && !merge && !pull && commits.length === 0 && runs === 0;
}

/** What the agent says first about its work. */
export function openingOf(summary: string | null): string {
  const paragraphs = (summary ?? "").trim().split(/\n\s*\n/);
  return paragraphs.find((text) => !/^#+ /.test(text)) ?? "";
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface Words {
  readonly title: string;
  readonly commits: string;
  readonly checks: string;
  readonly facts: readonly Fact[];
}

/** For a note, a mail or a release: what people read, without the window. */
export function deliveryMarkdown(delivery: Delivery, words: Words): string {
  const parts = [`# ${words.title}`];
  if (delivery.summary) parts.push(delivery.summary.trim());
  parts.push(words.facts.map(({ name, value }) => `- ${name}: ${value}`).join("\n"));
  if (delivery.commits.length > 0) {
    const lines = delivery.commits.map(({ id, subject }) => `- \`${short(id)}\` ${subject}`);
    parts.push(`## ${words.commits}`, lines.join("\n"));
  }
  if (delivery.checks.length > 0) {
    const lines = delivery.checks.map(
      (step) => `- [${outcomeOf(step) === "passed" ? "x" : " "}] \`${step.command}\``,
    );
    parts.push(`## ${words.checks}`, lines.join("\n"));
  }
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}
