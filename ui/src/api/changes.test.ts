import { QueryObserver } from "@tanstack/react-query";
import { expect, it, vi } from "vitest";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { followChanges } from "./changes.ts";
import { createQueryClient } from "./operations.tsx";

/** A query with these tags, its reads counted, each answered by hand. */
function setUp(tags: readonly string[]) {
  const platform = createFakePlatform();
  const client = createQueryClient();
  const frames: (() => void)[] = [];
  const seconds: (() => void)[] = [];
  const turn = (queue: (() => void)[]) => queue.splice(0).forEach((run) => run());
  followChanges(
    client,
    platform.onChanges,
    (run) => frames.push(run),
    (run) => seconds.push(run),
  );
  const answers: (() => void)[] = [];
  const read = vi.fn<() => Promise<number>>(
    () => new Promise((resolve) => answers.push(() => resolve(answers.length))),
  );
  new QueryObserver(client, { queryKey: tags, queryFn: read, meta: { tags } }).subscribe(() => {});
  const answer = async () => {
    answers.splice(0).forEach((give) => give());
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { platform, read, answer, frame: () => turn(frames), second: () => turn(seconds) };
}

it("lets a read that is on its way finish, and reads once more after it", async () => {
  const { platform, read, answer, frame } = setUp(["board:p1"]);
  platform.commit({ tags: ["board:p1"] });
  frame();
  platform.commit({ tags: ["board:p1"] });
  frame();
  expect(read).toHaveBeenCalledTimes(1);
  await answer();
  expect(read).toHaveBeenCalledTimes(2);
  await answer();
  expect(read).toHaveBeenCalledTimes(2);
});

it("reads activity at the slow turn alone", async () => {
  const { platform, read, answer, frame, second } = setUp(["activity:t1"]);
  await answer();
  for (let change = 0; change < 30; change += 1) {
    platform.commit({ tags: ["activity:t1"] });
    frame();
  }
  expect(read).toHaveBeenCalledTimes(1);
  second();
  expect(read).toHaveBeenCalledTimes(2);
});

it("reads everything when the host says so", async () => {
  const { platform, read, answer, frame } = setUp(["agents"]);
  await answer();
  platform.commit({ type: "events.resync", tags: ["*"] });
  frame();
  expect(read).toHaveBeenCalledTimes(2);
});
