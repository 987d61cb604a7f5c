import { expect, it, vi } from "vitest";
import type { TerminalOutput } from "#ui/api/generated.ts";
import { ApiError } from "#ui/api/error.ts";
import { base64Of, bytesOf, createTyping, readOn, type Place, type Sink } from "./stream.ts";

const encode = (text: string) => base64Of(new TextEncoder().encode(text));

const output = (
  text: string,
  from: number,
  more: Partial<TerminalOutput> = {},
): TerminalOutput => ({
  generation: "a",
  from,
  bytes: encode(text),
  next: from + text.length,
  ended: false,
  ...more,
});

/** A sink that keeps what it is told. */
function noted() {
  const told: string[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const sink: Sink = {
    write: async (bytes) => void told.push(new TextDecoder().decode(bytes)),
    reset: () => told.push("(reset)"),
    live: () => told.push("(live)"),
    ended: () => {
      told.push("(ended)");
      end();
    },
    failed: (error) => told.push(error ? `(${error.code})` : "(again)"),
  };
  return { told, sink, ended };
}

it("reads what was printed before without a wait, and what follows from there", async () => {
  const { told, sink, ended } = noted();
  const places: Place[] = [];
  const answers = [
    output("one ", 10),
    output("", 14),
    output("two", 14),
    output(" more", 20),
    output("anew", 0, { generation: "b", ended: true }),
  ];
  readOn(async (at) => {
    places.push(at);
    return answers[places.length - 1] ?? output("", 0, { ended: true });
  }, sink);
  await ended;
  expect(told).toEqual(["one ", "(live)", "two", "(reset)", " more", "(reset)", "anew", "(ended)"]);
  expect(places).toEqual([
    { wait_ms: 0 },
    { generation: "a", from: 14, wait_ms: 0 },
    { generation: "a", from: 14 },
    { generation: "a", from: 17 },
    { generation: "a", from: 25 },
  ]);
});

it("reads on after a failure, and gives up what stays refused", async () => {
  vi.useFakeTimers();
  try {
    const { told, sink } = noted();
    const refusal = new ApiError({ code: "not_found", message: "no terminal" });
    const answers = [new Error("the line is cut"), output("here", 0), refusal];
    let asked = 0;
    readOn(async () => {
      const answer = answers[asked++];
      if (answer instanceof Error) throw answer;
      return answer ?? output("", 0);
    }, sink);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual(["(transport)", "(again)", "here", "(not_found)"]);
  } finally {
    vi.useRealTimers();
  }
});

it("types in order, together what comes while something is on its way", async () => {
  const sent: string[] = [];
  let arrive = () => {};
  const type = createTyping(
    (base64) => {
      sent.push(new TextDecoder().decode(bytesOf(base64)));
      return new Promise<void>((resolve) => {
        arrive = resolve;
      });
    },
    () => {},
  );
  for (const letter of "abc") type(new TextEncoder().encode(letter));
  expect(sent).toEqual(["a"]);
  arrive();
  await vi.waitFor(() => expect(sent).toEqual(["a", "bc"]));
});

it("drops what was typed behind something that did not arrive", async () => {
  const failed = vi.fn<(error: ApiError) => void>();
  const send = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new Error("gone"));
  const type = createTyping(send, failed);
  type(new TextEncoder().encode("rm "));
  type(new TextEncoder().encode("-r"));
  await vi.waitFor(() => expect(failed).toHaveBeenCalledOnce());
  expect(send).toHaveBeenCalledOnce();
});
