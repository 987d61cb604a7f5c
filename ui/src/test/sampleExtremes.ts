/** Titles as long as the engine takes them, and in scripts that run, break and stack in other ways. */
import type { Task } from "#ui/api/generated.ts";
import { tasksOf } from "./sampleTasks.ts";

const filled = (words: string, length: number): string =>
  [...words.repeat(Math.ceil(length / words.length))].slice(0, length).join("");

export const extremeTitles = [
  // Nowhere to break.
  filled("Donaudampfschifffahrtsgesellschaftskapitän", 300),
  filled("Retry the upload when the connection drops half-way; ", 300),
  filled("إعادة المحاولة عند انقطاع الاتصال أثناء رفع الملفات الكبيرة ", 300),
  "תיקון `parse()` עבור שדות במירכאות ב-CSV (ראה #42)",
  filled("接続が途中で切れたときにアップロードをやり直す。", 300),
  filled("🧑🏽‍🚀👩‍👩‍👧‍👦🇨🇭🏳️‍🌈", 120),
  filled("Z̷̢̡̛͓̱a̸͉͝l̵͔̈́g̶̱̃ỏ̴̲ ", 200),
  "\u202Eright to left by force, and never closed",
] as const;

export const sampleExtremes = (project: string): Task[] =>
  tasksOf(project, 60).map((task, index) => ({
    ...task,
    title: extremeTitles[index % extremeTitles.length] ?? "",
  }));
