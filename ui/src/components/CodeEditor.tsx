import { lazy, Suspense } from "react";
import { SkeletonText } from "./Skeleton.tsx";

export interface CodeMark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** What is wrong, and where; underlined, marked at the line, said on hover and by F8. */
  readonly marks?: readonly CodeMark[];
  readonly readOnly?: boolean;
  /** A place to go to; a new object goes there again. */
  readonly goTo?: { readonly offset: number } | null;
  /** History is the owner's: the editor shows one of several views of a draft. */
  readonly onUndo?: () => void;
  readonly onRedo?: () => void;
  readonly minLines?: number;
}

// The editor is half of what this product weighs; it comes when somebody looks at text.
const Body = lazy(() => import("./CodeEditorBody.tsx"));

/** JSON as text, with what is wrong at its line. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<SkeletonText lines={props.minLines ?? 8} />}>
      <Body {...props} />
    </Suspense>
  );
}
