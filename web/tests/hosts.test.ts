import { expect, test } from 'vitest';

import type { HostCheck, HostState } from '../src/api/types';
import { concerns, countText, playsText } from '../src/pages/hosts/text';

function check(name: string, state: HostCheck['state']): HostCheck {
  return { check: name, state, found: '', hint: '' };
}

function host(state: HostState['state'], checks: HostCheck[] = []): HostState {
  const where = { agent: 'h0:7470', address: '192.0.2.1', plays: [0], driver: 'roce' };
  return { name: 'h0', ...where, state, version: '', facts: {}, checks };
}

test('problems come before warnings, and what is well is left out', () => {
  const all = [check('a', 'warning'), check('b', 'ok'), check('c', 'problem'), check('d', 'unknown')];
  expect(concerns(host('problem', all)).map((each) => each.check)).toEqual(['c', 'a']);
});

test('the hosts that one plays are told in stretches', () => {
  expect(playsText([0])).toBe('0');
  expect(playsText([3, 0, 1, 2, 8, 10, 11])).toBe('0-3, 8, 10-11');
  expect(playsText([])).toBe('');
});

test('hosts are counted by what stands in the way', () => {
  expect(countText([host('ready')])).toBe('1 host');
  expect(countText([host('ready'), host('problem'), host('asking'), host('problem')])).toBe(
    '4 hosts, 2 that cannot carry a run, 1 without an answer yet',
  );
});
