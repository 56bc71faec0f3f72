/** What a file of measured results may be, and what became of it. */
import type { Trial } from '../../api/types';
import { fileSize } from '../../format/numbers';

/** Largest file that the server takes [bytes]. */
export const BYTES_MAX = 16 * 2 ** 20;

/** Why a file is not sent at all; null if it is. */
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

/** Trials of one benchmark and number of ranks are a run. */
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

/** A line of a text and those around it, numbered from 1; none if the text has no such line. */
export function linesAround(text: string, line: number, around = 2): NumberedLine[] {
  const all = text.split(/\r\n|\r|\n/);
  if (line < 1 || line > all.length) return [];
  const first = Math.max(1, line - around);
  return all
    .slice(first - 1, line + around)
    .map((content, index) => ({ number: first + index, text: content.slice(0, 400) }));
}

const LABELS: Record<string, string> = {
  format: 'Format',
  ranks: 'Ranks',
  benchmark: 'Benchmark',
  plan: 'Plan that simulates it',
  name: 'Name',
  tag: 'Tags',
};

/** What the server says in options of the command line, in the labels of the form: --ranks N is “Ranks”. */
export function inFormWords(text: string): string {
  return text.replace(/--(format|ranks|benchmark|plan|name|tag)\b( N\b)?/g, (_, option: string) => {
    return `\u201c${LABELS[option] ?? option}\u201d`;
  });
}
