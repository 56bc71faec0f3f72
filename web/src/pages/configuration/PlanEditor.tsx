/**
 * CodeMirror editor of a plan's YAML: highlighting, search, and errors of the server's check marked at their lines.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';

import type { Fault } from '../../api/types';
import { errorText, isMissing } from './planErrors';
import { changeBetween } from './planYaml';

interface Props {
  text: string;
  errors: readonly Fault[];
  onChange: (text: string) => void;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-key)' },
  { tag: [tags.string, tags.content], color: 'var(--code-value)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [tags.number, tags.bool, tags.keyword, tags.atom], color: 'var(--code-number)' },
]);

function extensions(onText: (text: string) => void) {
  return [
    lineNumbers(),
    history(),
    indentOnInput(),
    indentUnit.of('  '),
    bracketMatching(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    lintGutter(),
    yaml(),
    syntaxHighlighting(COLOURS),
    keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
    EditorView.contentAttributes.of({
      'aria-label': 'Plan as YAML. Escape, then Tab leaves the editor.',
      tabindex: '0',
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString());
    }),
  ];
}

export function PlanEditor({ text, errors, onChange }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const listener = useRef(onChange);
  const first = useRef(text);
  useEffect(() => {
    listener.current = onChange;
  });
  useEffect(() => {
    if (container.current === null) return;
    const state = EditorState.create({
      doc: first.current,
      extensions: extensions((now) => listener.current(now)),
    });
    const editor = new EditorView({ state, parent: container.current });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    const before = editor?.state.doc.toString();
    if (editor !== null && before !== undefined && before !== text) {
      editor.dispatch({ changes: changeBetween(before, text) });
    }
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    if (editor !== null) editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor.state, errors)));
  }, [errors]);
  return <div ref={container} className="editor" />;
}

/** Marks of errors from their column to the end of their line. */
function diagnosticsOf(state: EditorState, errors: readonly Fault[]): Diagnostic[] {
  return errors.flatMap((error) => {
    if (!error.line || error.line > state.doc.lines) return [];
    const line = state.doc.line(error.line);
    const from = Math.min(line.to, line.from + Math.max(0, (error.column ?? 1) - 1));
    const field = error.field ? `${error.field}: ` : '';
    const severity = isMissing(error) ? ('info' as const) : ('error' as const);
    return [{ from, to: Math.max(from, line.to), severity, message: field + errorText(error) }];
  });
}
