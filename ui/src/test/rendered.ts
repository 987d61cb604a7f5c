/**
 * Which components were drawn, commit by commit, as React's own tools tell it: what a test counts is what React did, not
 * what came of it in the document.
 */
interface Fiber {
  readonly type: unknown;
  readonly flags: number;
  readonly alternate: Fiber | null;
  readonly child: Fiber | null;
  readonly sibling: Fiber | null;
}

type Listener = (root: { readonly current: Fiber }) => void;
let listener: Listener | null = null;

/** Must be there before React is. */
const hook = "__REACT_DEVTOOLS_GLOBAL_HOOK__";
if (!(hook in globalThis)) {
  Object.assign(globalThis, {
    [hook]: {
      supportsFiber: true,
      isDisabled: false,
      checkDCE() {},
      inject: () => 1,
      onCommitFiberRoot: (_: number, root: { readonly current: Fiber }) => listener?.(root),
      onCommitFiberUnmount() {},
      onPostCommitFiberRoot() {},
      onScheduleFiberRoot() {},
      setStrictMode() {},
    },
  });
}

/** React's mark of a component whose function was called in this commit. */
const performedWork = 1;

function nameOf(type: unknown): string {
  const inner = type as { name?: string; displayName?: string; type?: unknown } | null;
  if (inner && typeof inner === "object" && inner.type) return nameOf(inner.type);
  return inner?.displayName ?? inner?.name ?? "";
}

function collect(fiber: Fiber, fresh: boolean, into: string[]): void {
  const before = fiber.alternate;
  const isFresh = fresh || before === null;
  if (isFresh || (fiber.flags & performedWork) !== 0) {
    const name = typeof fiber.type === "string" ? "" : nameOf(fiber.type);
    if (name) into.push(name);
  }
  // What is below was left alone when it is the very same.
  if (!isFresh && fiber.child === before.child) return;
  for (let child = fiber.child; child; child = child.sibling) collect(child, isFresh, into);
}

/** Gathers from now on: a list of names for each commit. */
export function followRenders(): { readonly commits: string[][]; readonly stop: () => void } {
  const commits: string[][] = [];
  listener = ({ current }) => {
    const names: string[] = [];
    collect(current, false, names);
    commits.push(names);
  };
  return {
    commits,
    stop: () => {
      listener = null;
    },
  };
}
