import { Terminal } from "@xterm/xterm";
import { expect, it, vi } from "vitest";
import type { TerminalOutput } from "#ui/api/generated.ts";
import { ApiError } from "#ui/api/error.ts";
import { base64Of, bytesOf } from "#ui/domain/base64.ts";
import { createTyping, isAnswer, readOn, type Place, type Sink } from "./stream.ts";

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
  end: from + text.length,
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
    live: (isNew) => told.push(isNew ? "(live)" : "(again)"),
    ended: () => {
      told.push("(ended)");
      end();
    },
    failed: (error) => told.push(error ? `(${error.code})` : "(reached)"),
  };
  return { told, sink, ended };
}

/** What a sink is told of these answers, the last of which ends the terminal, and where was read. */
async function told(answers: readonly TerminalOutput[], isNew?: boolean) {
  const noting = noted();
  const places: Place[] = [];
  const read = async (at: Place) => {
    places.push(at);
    return answers[places.length - 1] ?? output("", 0, { ended: true });
  };
  readOn(read, noting.sink, isNew);
  await noting.ended;
  return { told: noting.told, places };
}

it("reads what was printed before without a wait, and what follows from there", async () => {
  const answers = [
    output("one ", 10, { end: 16 }),
    output("two", 14, { end: 99 }),
    output(" more", 20, { end: 99, ended: true }),
  ];
  expect(await told(answers)).toEqual({
    told: ["one ", "two", "(live)", "(reset)", " more", "(ended)"],
    places: [{ wait_ms: 0 }, { generation: "a", from: 14 }, { generation: "a", from: 17 }],
  });
});

it("is live at once where nothing was printed before, and where the terminal was opened just now", async () => {
  expect((await told([output("", 0), output("$ ", 0, { ended: true })])).told).toEqual([
    "(live)",
    "$ ",
    "(ended)",
  ]);
  const first = output("$ ", 0, { end: 9, ended: true });
  expect((await told([first], true)).told).toEqual(["$ ", "(ended)"]);
});

it("is told all again by another engine, and is live behind what that has", async () => {
  const answers = [
    output("one", 0),
    output("on", 0, { generation: "b", end: 3 }),
    output("e", 2, { generation: "b" }),
    output("two", 3, { generation: "b", ended: true }),
  ];
  const all = ["(reset)", "(again)", "on", "e", "(live)", "two", "(ended)"];
  expect((await told(answers)).told).toEqual(["one", "(live)", ...all]);
});

it("keeps what is shown where another engine has nothing of an ended terminal", async () => {
  const answers = [output("panic", 0), output("", 0, { generation: "", ended: true })];
  expect((await told(answers)).told).toEqual(["panic", "(live)", "(ended)"]);
});

it("knows what a terminal answers by itself from what is typed", async () => {
  const said: string[] = [];
  const terminal = new Terminal({ allowProposedApi: true });
  terminal.onData((text) => said.push(text));
  const asked = ["[c", "[>c", "[5n", "[6n", "[?6n", "[?2026$p", "[4$p", "P$qm\u001b\\"];
  await new Promise<void>((done) => {
    terminal.write(asked.map((question) => `\u001b${question}`).join(""), done);
  });
  terminal.dispose();
  expect(said).toHaveLength(asked.length);
  const more = ["\u001b]11;rgb:0000/0000/0000\u001b\\", "\u001b[I", "\u001b[O", "\u001b[8;24;80t"];
  for (const text of [...said, ...more]) expect([text, isAnswer(text)]).toEqual([text, true]);
  for (const typed of ["\u0003", "\u001b", "\u001b[A", "\u001bOP", "\u001b[15~", "\u001bP", "c"])
    expect([typed, isAnswer(typed)]).toEqual([typed, false]);
  expect(isAnswer("\u001b[200~\u001b[c\u001b[201~")).toBe(false);
});

it("reads on after a failure, and gives up what stays refused", async () => {
  vi.useFakeTimers();
  try {
    const { told, sink } = noted();
    const refusal = new ApiError({ code: "not_found", message: "no terminal" });
    const away = new ApiError({ code: "terminal_away", message: "the keeper does not answer" });
    const answers = [new Error("the line is cut"), away, output("here", 0), refusal];
    let asked = 0;
    readOn(async () => {
      const answer = answers[asked++];
      if (answer instanceof Error) throw answer;
      return answer ?? output("", 0);
    }, sink);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([
      "(transport)",
      "(terminal_away)",
      "(reached)",
      "here",
      "(live)",
      "(not_found)",
    ]);
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
  const failed = vi.fn<(error: ApiError | null) => void>();
  const send = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new Error("gone"));
  const type = createTyping(send, failed);
  type(new TextEncoder().encode("rm "));
  type(new TextEncoder().encode("-r"));
  await vi.waitFor(() => expect(failed).toHaveBeenCalledOnce());
  expect(send).toHaveBeenCalledOnce();
});

it("tells that typing works again after an error", async () => {
  const told = vi.fn<(error: ApiError | null) => void>();
  const send = vi
    .fn<() => Promise<void>>()
    .mockResolvedValueOnce()
    .mockRejectedValueOnce(new Error("gone"))
    .mockResolvedValue();
  const type = createTyping(send, told);
  for (const count of [1, 2, 3, 4]) {
    type(new TextEncoder().encode("a"));
    await vi.waitFor(() => expect(send).toHaveBeenCalledTimes(count));
    await Promise.resolve();
  }
  expect(told.mock.calls.map(([error]) => error?.code ?? null)).toEqual(["transport", null]);
});
