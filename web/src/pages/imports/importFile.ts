/**
 * Helpers of the import page: size limit of uploaded files, grouping of imported trials by run, lines around an
 * error, form labels in place of command-line options in the server's messages.
 */
import type { Trial } from '../../api/types';
import { fileSize } from '../../format/numbers';

/** Largest file that the server accepts [bytes]. */
export const BYTES_MAX = 16 * 2 ** 20;

/** Reason why a file cannot be uploaded; null if it can. */
export function sizeProblem(file: { name: string; size: number }): string | null {
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size > BYTES_MAX)
    return `${file.name} has ${fileSize(file.size)}; at most 16 MiB are read. Split it.`;
  return null;
}

export interface ImportedRun {
  suite: string;
  trials: Trial[];
}

/** Groups trials by run: those of one benchmark and number of ranks. */
export function runsOf(trials: readonly Trial[]): ImportedRun[] {
  const runs = new Map<string, ImportedRun>();
  for (const trial of trials) {
    const run = runs.get(trial.suite) ?? { suite: trial.suite, trials: [] };
    run.trials.push(trial);
    runs.set(trial.suite, run);
  }
  return [...runs.values()];
}

export interface NumberedLine {
  number: number;
  text: string;
}

/** Numbered lines of a text around `line`, which counts from 1; empty if the text has no such line. */
export function linesAround(text: string, line: number, around = 2): NumberedLine[] {
  const all = text.split(/\r\n|\r|\n/);
  if (line < 1 || line > all.length) return [];
  const first = Math.max(1, line - around);
  return all
    .slice(first - 1, line + around)
    .map((content, index) => ({ number: first + index, text: content.slice(0, 400) }));
}

/** Labels of a form by the options of the command line, without dashes. */
export type FormLabels = Readonly<Record<string, string>>;

export const IMPORT_LABELS: FormLabels = {
  format: 'Format',
  ranks: 'Ranks',
  benchmark: 'Benchmark',
  plan: 'Plan that simulates it',
  name: 'Name',
  tag: 'Tags',
};

/** Replaces options of the command line in a message by labels of the form: --ranks N is “Ranks”. */
export function withFormLabels(text: string, labels: FormLabels): string {
  const options = new RegExp(`--(${Object.keys(labels).join('|')})\\b( (?:N|[A-Z]{4,})\\b)?`, 'g');
  return text.replace(options, (_, option: string) => `\u201c${labels[option] ?? option}\u201d`);
}
