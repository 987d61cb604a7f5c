import { defaultKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useLayoutEffect, useRef } from "react";
import type { CodeEditorProps, CodeMark } from "./CodeEditor.tsx";
import { changedPart } from "./codeChange.ts";
import styles from "./CodeEditor.module.css";

// Classes of our own style sheet: colours follow the theme without the editor being told.
const highlight = HighlightStyle.define([
  { tag: tags.propertyName, class: "code-property" },
  { tag: tags.string, class: "code-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "code-literal" },
  { tag: [tags.separator, tags.squareBracket, tags.brace], class: "code-mark" },
]);

function diagnosticsOf(marks: readonly CodeMark[], length: number): Diagnostic[] {
  return marks.map(({ from, to, message }) => {
    const start = Math.min(from, length);
    return { from: start, to: Math.max(start, Math.min(to, length)), message, severity: "error" };
  });
}

const none: readonly CodeMark[] = [];

interface Latest {
  props: CodeEditorProps;
}

/** The text as the owner has it; what the editor itself changed is reported, nothing else. */
function extensionsFor(latest: Latest, access: Compartment): Extension {
  const command = (run: (props: CodeEditorProps) => (() => void) | undefined) => () => {
    const act = run(latest.props);
    act?.();
    return act !== undefined;
  };
  const undo = command((props) => props.onUndo);
  const redo = command((props) => props.onRedo);
  return [
    lineNumbers(),
    foldGutter(),
    lintGutter(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    indentUnit.of("  "),
    syntaxHighlighting(highlight),
    json(),
    EditorView.lineWrapping,
    keymap.of([
      { key: "Mod-z", run: undo, preventDefault: true },
      { key: "Mod-Shift-z", run: redo, preventDefault: true },
      { key: "Mod-y", run: redo, preventDefault: true },
      // Tab is not bound: it leads on to the next control, nobody is caught in the editor.
      ...lintKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of((update: ViewUpdate) => {
      if (!update.docChanged) return;
      const text = update.state.doc.toString();
      if (text !== latest.props.value) latest.props.onChange(text);
    }),
    access.of(accessOf(latest.props.readOnly ?? false, latest.props.label)),
  ];
}

const accessOf = (readOnly: boolean, label: string): Extension => [
  EditorState.readOnly.of(readOnly),
  EditorView.contentAttributes.of({ "aria-label": label, ...(readOnly ? { tabindex: "0" } : {}) }),
  EditorView.editable.of(!readOnly),
];

export default function CodeEditorBody(props: CodeEditorProps) {
  const { value, marks = none, goTo, label, readOnly = false, minLines = 8 } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef<Latest>({ props });
  const access = useRef(new Compartment());

  useLayoutEffect(() => {
    latest.current.props = props;
  });
  useLayoutEffect(() => {
    const parent = host.current;
    if (!parent) return undefined;
    const made = new EditorView({
      parent,
      state: EditorState.create({
        doc: latest.current.props.value,
        extensions: extensionsFor(latest.current, access.current),
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, []);
  useEffect(() => {
    view.current?.dispatch({ effects: access.current.reconfigure(accessOf(readOnly, label)) });
  }, [label, readOnly]);
  useEffect(() => {
    const made = view.current;
    const change = made && changedPart(made.state.doc.toString(), value);
    if (change) made.dispatch({ changes: change });
  }, [value]);
  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const { state } = made;
    made.dispatch(setDiagnostics(state, diagnosticsOf(marks, state.doc.length)));
  }, [marks]);
  useEffect(() => {
    const made = view.current;
    if (!goTo || !made) return;
    const anchor = Math.min(goTo.offset, made.state.doc.length);
    made.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    made.focus();
  }, [goTo]);

  return <div ref={host} className={styles.editor} style={{ minHeight: `${minLines * 1.6}em` }} />;
}
