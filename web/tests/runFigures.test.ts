/** Tests of the figures that the pages of a run and a trial show first. */
import { expect, test } from 'vitest';

import type { FigureName } from '../src/api/types';
import { figuresOfRun } from '../src/pages/run/runFigures';
import { figuresOf, mainFigure } from '../src/pages/trial/views';

const named = (name: string, section: string) => ({ name, section }) as FigureName;
const FIGURES = [
  named('bandwidth', 'bandwidth'),
  named('ratio', 'variants'),
  named('kept-share', 'tenants'),
  named('links', 'links'),
  named('timeline', 'timeline'),
];
const names = (figures: readonly (FigureName | undefined)[]) => figures.map((figure) => figure?.name);

test('a run has curves and what differs between its trials, a run of one trial its timeline', () => {
  const swept = figuresOfRun({ dimensions: ['size'] }, FIGURES);
  expect(names([swept.curve, ...swept.others])).toEqual(['bandwidth', 'ratio', 'kept-share']);
  const jobs = figuresOfRun({ dimensions: ['size', 'job'] }, FIGURES);
  expect(names(jobs.others)).toEqual(['kept-share']);
  const single = figuresOfRun({ dimensions: ['job'] }, FIGURES);
  expect(names([single.curve, ...single.others])).toEqual(['timeline']);
  expect(figuresOfRun({ dimensions: [] }, [])).toEqual({ curve: undefined, others: [] });
});

test('a trial shows its timeline first, a view the figures of its sections', () => {
  expect(mainFigure(FIGURES)?.name).toBe('timeline');
  expect(mainFigure(FIGURES.slice(0, 4))?.name).toBe('links');
  expect(names(figuresOf('links', FIGURES))).toEqual(['links']);
});
