/** Tests of hosts' texts, clock errors and counters, the run target, and the texts of runs on hosts. */
import { expect, test } from 'vitest';

import type { EngineHost, HostCheck, HostsFile, HostState, RunDetail, RunTrial } from '../src/api/types';
import { factName, factText, flatFacts } from '../src/format/facts';
import { failedChecks, countText, endpointNames, ranksText, TIMES } from '../src/format/hosts';
import { targetChoices, requestOf, runTargetOf } from '../src/pages/configuration/runTarget';
import { firstTwin, isMeasured, waitText, whereText } from '../src/pages/run/runText';
import { viewsOf } from '../src/pages/trial/views';

function check(name: string, state: HostCheck['state']): HostCheck {
  return { check: name, state, found: '', hint: '' };
}

function host(state: HostState['state'], checks: HostCheck[] = []): HostState {
  const where = { agent: 'h0:7470', address: '192.0.2.1', plays: [0], driver: 'roce' };
  return { name: 'h0', ...where, state, version: '', facts: {}, checks };
}

test('problems precede warnings, and passed checks are omitted', () => {
  const all = [check('a', 'warning'), check('b', 'ok'), check('c', 'problem'), check('d', 'unknown')];
  expect(failedChecks(host('problem', all)).map((each) => each.check)).toEqual(['c', 'a']);
});

test('the ranks of a host are written as ranges', () => {
  expect(ranksText([0])).toBe('0');
  expect(ranksText([3, 0, 1, 2, 8, 10, 11])).toBe('0-3, 8, 10-11');
  expect(ranksText([])).toBe('');
});

test('hosts are counted by state', () => {
  expect(countText([host('ready')])).toBe('1 host');
  expect(countText([host('ready'), host('problem'), host('asking'), host('problem')])).toBe(
    '4 hosts, 2 that cannot run a trial, 1 without an answer yet',
  );
});

function file(name: string, hosts: HostState[], error = ''): HostsFile {
  return { name, tls: null, error, hosts };
}

test('the menu of run targets has the simulator and the files of hosts that can be read', () => {
  const files = [file('rack', [host('ready'), host('warning')]), file('row', [], 'row:1: version: found 2')];
  expect(targetChoices(files, { hosts: null, twin: false }, undefined)).toEqual([
    { value: '', label: 'Simulator' },
    { value: 'rack', label: 'Hosts rack: 2 hosts, 1 with a warning', disabled: false },
    { value: 'row', label: 'Hosts row: cannot be read', disabled: true },
  ]);
  const [first] = targetChoices([], { hosts: null, twin: false }, 'hosts');
  expect(first?.label).toBe('Backend hosts');
  const gone = targetChoices([], { hosts: 'gone', twin: false }, 'sim');
  expect(gone.map(({ value }) => value)).toEqual(['', 'gone']);
});

test('a request has the hosts, and a prediction only with hosts', () => {
  const of = (text: string) => requestOf(runTargetOf(new URLSearchParams(text)));
  expect(of('')).toEqual({});
  expect(of('twin=true')).toEqual({});
  expect(of('hosts=rack')).toEqual({ backend: 'hosts', hosts: 'rack', twin: false });
  expect(of('hosts=rack&twin=true')).toEqual({ backend: 'hosts', hosts: 'rack', twin: true });
});

function measuredBy(name: string, endpoint: Record<string, number>): EngineHost {
  const facts = { plays: [0], address: '192.0.2.1', driver: 'roce', settings: {}, version: '', facts: {} };
  return { host: name, ...facts, clock_offset_ns: -1500, clock_error_ns: 250, endpoint, counters: [] };
}

const times = (host: EngineHost) => TIMES.map(({ microseconds }) => microseconds(host));

test('clock errors are in microseconds; drift and start skew are null where they were not measured', () => {
  expect(times(measuredBy('h0', { start_skew_ns: 4200 }))).toEqual([-1.5, null, 0.25, 4.2]);
  expect(times({ ...measuredBy('h0', {}), clock_drift_ns: 40 })).toEqual([-1.5, 0.04, 0.25, null]);
});

test('counters of a single endpoint are listed as well', () => {
  expect(endpointNames([measuredBy('h0', { b: 1, a: 2 }), measuredBy('h1', { c: 3, a: 1 })])).toEqual([
    'a',
    'b',
    'c',
  ]);
});

test('facts have the unit of their name, those of a mapping the unit of its name', () => {
  const facts = flatFacts({ wall_s: 2, spans_s: { connect: 0.25 }, hosts: [], path: 'auto' });
  expect(facts).toEqual({ wall_s: 2, 'spans: connect_s': 0.25, path: 'auto' });
  const told = Object.entries(facts).map(([name, value]) => [factName(name), factText(name, value)]);
  expect(told).toEqual([
    ['wall', '2 s'],
    ['spans: connect', '0.25 s'],
    ['path', 'auto'],
  ]);
  expect(factText('start_skew_ns', 1925)).toBe('1.925 us');
});

test('only a trial on hosts has a view of them', () => {
  const on = { engine: { wall_s: 1, hosts: [measuredBy('h0', {})] } };
  expect(viewsOf(on).map(({ key }) => key)).toContain('hosts');
  for (const engine of [{}, { wall_s: 1 }]) {
    expect(viewsOf({ engine }).map(({ key }) => key)).not.toContain('hosts');
  }
});

test('texts of a run name its target, the reason for waiting and the trial with a prediction', () => {
  const plain = { backend: 'sim', hosts: null, twin: false };
  expect(whereText(plain)).toBe('');
  expect(whereText({ backend: 'loopback', hosts: null, twin: false })).toBe('loopback');
  expect(whereText({ backend: 'hosts', hosts: 'rack', twin: true })).toBe(
    'on hosts rack, with its prediction',
  );
  expect(waitText({ position: 2, waits_for: '' })).toBe('waits at position 2');
  expect(waitText({ position: 1, waits_for: 'hosts rack: run 1 uses them' })).toBe(
    'waits for hosts rack: run 1 uses them',
  );
});

function runOf(twin: boolean, statuses: [string, RunTrial['status']][]): RunDetail {
  const trials = statuses.map(([backend, status], position) => ({
    ...{ id: `t${position}`, variant: 'base', iteration: 0, data_size_bytes: 1, position },
    ...{ backend, status },
  }));
  return { backend: 'hosts', hosts: 'rack', twin, trials } as unknown as RunDetail;
}

test('the chart of a run begins with its first measured trial', () => {
  expect(firstTwin(runOf(true, [['sim', 'complete']]))).toBeNull();
  const both = runOf(true, [
    ['sim', 'complete'],
    ['hosts', 'interrupted'],
    ['hosts', 'complete'],
  ]);
  expect(firstTwin(both)).toBe('t2');
  expect(firstTwin(runOf(false, [['hosts', 'complete']]))).toBeNull();
  expect(isMeasured(both, 't0')).toBe(false);
  expect(isMeasured(both, 't2')).toBe(true);
  expect(isMeasured(both, null)).toBe(true);
});
