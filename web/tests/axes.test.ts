/** Tests of the texts of swept values and variants. */
import { describe, expect, it } from 'vitest';

import { axesText, caseText } from '../src/format/sweep';

describe('swept values in words', () => {
  it('are named by the last part of the path, unless two fields share it', () => {
    expect(axesText({ 'fabric.switch.ecn.kmin': '100KB', 'transport.window': 64 })).toBe(
      'kmin 100KB, window 64',
    );
    expect(axesText({ 'jobs.0.ranks': '0-3', 'jobs.1.ranks': '4-7' })).toBe(
      'jobs.0.ranks 0-3, jobs.1.ranks 4-7',
    );
    expect(axesText({ 'fabric.topology': { kind: 'single-switch', hosts: 8 } })).toBe(
      'topology {kind:single-switch,hosts:8}',
    );
  });

  it('stand after the name of the variant, if there is one', () => {
    expect(caseText({ variant: 'base' })).toBe('');
    expect(caseText({ variant: 'spray', axes: { 'transport.window': 64 } })).toBe('spray, window 64');
  });
});
