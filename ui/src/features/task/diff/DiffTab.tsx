import type { Task } from "#ui/api/generated.ts";

export default function DiffTab({ task }: { task: Task }) {
  return <p>{task.title}</p>;
}
