/** Tests of edits to a plan's YAML that keep comments and layout, overrides, and sections of the form. */
import { describe, expect, it, test } from 'vitest';

import {
  changeBetween,
  EMPTY_PLAN,
  fieldsOf,
  planOfTrial,
  valueAt,
  withField,
  withOverrides,
} from '../src/pages/configuration/planYaml';
import { sectionOf } from '../src/pages/configuration/form/sections';

const PLAN = `# What this is
fabricbench: 1
name: x  # its name
fabric:
  topology: {kind: leaf-spine, leaves: 2}  # small
transport:
  mtu: 4096
jobs:
  - name: test
    collective: all-reduce
`;

describe('a plan changed field by field', () => {
  it('takes an override of a swept field by its dotted name', () => {
    const changes = ['sweep.fabric.switch.ecn.kmin=[1KB, 2KB]', 'sweep.zip.jobs.0.ranks=[0-3, 0-7]'];
    expect(fieldsOf(withOverrides(PLAN, [...changes, 'sweep.data_size=1MB']))?.sweep).toEqual({
      'fabric.switch.ecn.kmin': ['1KB', '2KB'],
      zip: { 'jobs.0.ranks': ['0-3', '0-7'] },
      data_size: '1MB',
    });
  });

  it('keeps its comments and layout', () => {
    expect(withField(PLAN, ['transport', 'mtu'], 1024)).toBe(PLAN.replace('4096', '1024'));
    expect(withField(PLAN, ['name'], 'y')).toBe(PLAN.replace('name: x', 'name: y'));
  });

  it('takes out a field and the mapping that it leaves empty', () => {
    expect(withField(PLAN, ['transport', 'mtu'], undefined)).toBe(
      PLAN.replace('transport:\n  mtu: 4096\n', ''),
    );
    expect(withField(PLAN, ['sweep', 'data_size'], undefined)).toBe(PLAN);
  });

  it('a long text that is folded stays as it was written', () => {
    const folded =
      'description: >-\n  One line\n  and another.\n\n# Then\nfabric:\n  # what\n  seed: {a: 1}  # why\n';
    expect(withField(folded, ['fabric', 'switch'], 'x')).toBe(`${folded}  switch: x\n`);
    expect(withField(folded, ['seed'], 3)).toBe(`${folded}seed: 3\n`);
    expect(withField(folded, ['description'], undefined)).toBe(folded.slice(folded.indexOf('\n# Then')));
  });

  it('a value that is missing or needs quotes can be written', () => {
    expect(withField('name:\n', ['name'], 'x')).toBe('name: x\n');
    expect(fieldsOf(withField('jobs: [{ranks: 1}]\n', ['jobs', 0, 'ranks'], '0,1'))).toEqual({
      jobs: [{ ranks: '0,1' }],
    });
  });

  it('adds missing fields, including lists', () => {
    const text = withField(withField(EMPTY_PLAN, ['jobs', 0], {}), ['jobs', 0, 'collective'], 'all-gather');
    expect(fieldsOf(text)).toMatchObject({ jobs: [{ collective: 'all-gather' }] });
    const deep = withField(EMPTY_PLAN, ['fabric', 'switch', 'ecn', 'kmin'], '100KB');
    expect(valueAt(fieldsOf(deep), ['fabric', 'switch', 'ecn', 'kmin'])).toBe('100KB');
  });

  it('a mapping takes the place of a word', () => {
    const text = 'fabric: {switch: {ecn: sonic}}\n';
    expect(fieldsOf(withField(text, ['fabric', 'switch', 'ecn', 'kmin'], 1))).toEqual({
      fabric: { switch: { ecn: { kmin: 1 } } },
    });
  });

  it('takes changes as the command line does', () => {
    const changed = withOverrides(PLAN, ['sweep.data_size=[1MB, 2MB]', 'jobs.0.ranks=0-3', 'nonsense']);
    expect(fieldsOf(changed)).toMatchObject({
      sweep: { data_size: ['1MB', '2MB'] },
      jobs: [{ ranks: '0-3' }],
    });
  });

  it('is left alone while it is no YAML', () => {
    expect(fieldsOf('a: [1')).toBeNull();
    expect(withField('a: [1', ['name'], 'x')).toBe('a: [1');
    expect(fieldsOf('- 1')).toBeNull();
    expect(fieldsOf('')).toEqual({});
  });

  it('a change contains only the difference', () => {
    expect(changeBetween('mtu: 4096\n', 'mtu: 1024\n')).toEqual({ from: 5, to: 9, insert: '1024' });
    expect(changeBetween('aa', 'aaa')).toEqual({ from: 2, to: 2, insert: 'a' });
  });
});

describe('sections', () => {
  it('a field belongs to the section that shows it', () => {
    expect(sectionOf('jobs.0.ranks')?.key).toBe('jobs');
    expect(sectionOf('fabric')?.key).toBe('fabric');
    expect(sectionOf('transport.rate_control.dcqcn')?.key).toBe('congestion');
    expect(sectionOf('nonsense')).toBeUndefined();
  });
});

test('a field is set in a plan that is one flow mapping', () => {
  const changed = withField('{name: a, sweep: {data_size: 1MB}}', ['transport', 'window'], 4);
  expect(fieldsOf(changed)).toEqual({ name: 'a', sweep: { data_size: '1MB' }, transport: { window: 4 } });
});

test('the plan of one trial has the settings of its variant and its swept values alone', () => {
  const text = [
    'name: tenants',
    'sweep: {data_size: [16MB, 64MB], transport.window: [16, 64]}',
    'solo: true',
    'variants:',
    '  - {name: ecmp, reference: true}',
    '  - {name: spray, set: {fabric.load_balancing: spray-random}}',
    '',
  ].join('\n');
  const trial = { variant: 'spray', axes: { 'transport.window': 64 }, data_size_bytes: 16 << 20 };
  expect(fieldsOf(planOfTrial(text, trial))).toEqual({
    name: 'tenants',
    fabric: { load_balancing: 'spray-random' },
    transport: { window: 64 },
    sweep: { data_size: ['16MB'] },
  });
});
