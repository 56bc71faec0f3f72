/** Tests of the list of pages. */
import { describe, expect, it } from 'vitest';

import { PAGES } from '../src/app/pages';

describe('pages', () => {
  it('have an address of their own', () => {
    expect(new Set(PAGES.map(({ path }) => path)).size).toBe(PAGES.length);
  });

  it('are in the navigation with a title, or under a page that is', () => {
    const shown = PAGES.filter(({ icon }) => icon !== undefined);
    expect(shown.filter(({ title }) => title === null)).toEqual([]);
    const paths = shown.map(({ path }) => path);
    expect(PAGES.filter(({ under = paths[0] ?? '' }) => !paths.includes(under))).toEqual([]);
  });
});
