/** Reading a terminal and typing to it, in order and without a gap. Pure but for the calls that it is given. */
import type { TerminalOutput } from "#ui/api/generated.ts";
import { ApiError } from "#ui/api/error.ts";
import { base64Of, bytesOf } from "#ui/domain/base64.ts";

/** Where to read on. */
export interface Place {
  readonly generation?: string;
  readonly from?: number;
  readonly wait_ms?: number;
}

export interface Sink {
  /** Shows bytes; the next are read once they are shown. */
  write(bytes: Uint8Array): Promise<void>;
  /** What was shown is not what comes next: everything that is kept is told again. */
  reset(): void;
  /** Whether what comes is new: until then it was printed before, and whatever it asked was answered then. */
  live(isNew: boolean): void;
  ended(): void;
  /** It cannot be read now; null once it can be again. */
  failed(error: ApiError | null): void;
}

/** How long is waited after a failure, at first and at most, in milliseconds. */
const pauses = { first: 500, most: 5_000 };

/** Refusals that a repetition does not change. */
const final = new Set(["not_found", "terminal_remote_off", "terminal_ended", "person_required"]);

/**
 * Reads until it is stopped by the answer, or the terminal has ended. What was printed before the first answer is told
 * again; not so of a terminal that was opened just now.
 */
export function readOn(
  read: (at: Place) => Promise<TerminalOutput>,
  sink: Sink,
  isNew = false,
): () => void {
  const stopper = new AbortController();
  const { signal } = stopper;
  let wake = () => {};
  const pause = (length: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, length);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  /** Where that ends which is told again; none until the first answer says so. */
  let again = isNew ? 0 : null;
  let isLive = isNew;
  const show = async (place: Place, output: TerminalOutput) => {
    // Of an ended terminal, another engine has nothing: what is shown stays.
    if (output.ended && output.bytes === "") return;
    const isOther = place.generation !== undefined && place.generation !== output.generation;
    // What was between is not kept any more.
    const isFurther = place.from !== undefined && output.from > place.from;
    if (isOther || isFurther) sink.reset();
    if (isOther || again === null) {
      // It does not move: of a program that floods there is always more.
      again = output.end;
      if (isLive) sink.live(false);
      isLive = false;
    }
    if (output.bytes !== "") await sink.write(bytesOf(output.bytes));
    if (signal.aborted || isLive || output.next < again) return;
    isLive = true;
    sink.live(true);
  };

  const run = async () => {
    let place: Place = {};
    let failures = 0;
    while (!signal.aborted) {
      try {
        // The first answer says at once where it is.
        const output = await read(place.generation === undefined ? { wait_ms: 0 } : place);
        if (signal.aborted) return;
        if (failures > 0) sink.failed(null);
        failures = 0;
        await show(place, output);
        if (signal.aborted) return;
        if (output.ended) return sink.ended();
        place = { generation: output.generation, from: output.next };
      } catch (thrown) {
        if (signal.aborted) return;
        const error = ApiError.from(thrown);
        sink.failed(error);
        if (final.has(error.code)) return;
        await pause(Math.min(pauses.most, pauses.first * 2 ** failures));
        failures += 1;
      }
    }
  };
  void run();
  return () => {
    stopper.abort();
    wake();
  };
}

/**
 * Types in order: what is typed while something is on its way goes together afterwards. An error is told, and null once
 * something arrived after it.
 */
export function createTyping(
  send: (base64: string) => Promise<unknown>,
  onError: (error: ApiError | null) => void,
): (bytes: Uint8Array) => void {
  let waiting: Uint8Array[] = [];
  let isSending = false;
  let hasFailed = false;
  /** The most bytes that go at once. */
  const most = 256 * 1024;

  const next = (): Uint8Array => {
    const all = new Uint8Array(waiting.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of waiting) {
      all.set(part, at);
      at += part.length;
    }
    waiting = all.length > most ? [all.subarray(most)] : [];
    return all.subarray(0, most);
  };

  const run = async () => {
    isSending = true;
    try {
      while (waiting.length > 0) {
        await send(base64Of(next()));
        if (hasFailed) onError(null);
        hasFailed = false;
      }
    } catch (thrown) {
      // Typed blindly, the rest would do something else.
      waiting = [];
      hasFailed = true;
      onError(ApiError.from(thrown));
    } finally {
      isSending = false;
    }
  };

  return (bytes) => {
    if (bytes.length === 0) return;
    waiting.push(bytes);
    if (!isSending) void run();
  };
}

/** An escape, which begins what a terminal answers. */
const ESC = String.fromCharCode(0x1b);
/** Reports of kind, place, mode, size and focus. */
const report = /^\[[?>]?[\d;]*(?:[cnRtIO]|\$y)$/;

/** Whether a terminal says this by itself: a program asked what it is, where its cursor is, or which colours it has. */
export function isAnswer(text: string): boolean {
  if (!text.startsWith(ESC)) return false;
  const rest = text.slice(1);
  // Colours and settings are told in strings of their own, which nobody types.
  return report.test(rest) || (/^[P\]]/.test(rest) && rest.endsWith(`${ESC}\\`));
}
