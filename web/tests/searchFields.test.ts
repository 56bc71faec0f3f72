/** Tests of the searches for fields and for plans on the page of a plan. */
import { expect, test } from 'vitest';

import type { Schema } from '../src/pages/configuration/form/schema';
import { aboutField, fieldsOfSchema, goal, searchFields } from '../src/pages/configuration/form/searchFields';
import { ownPlans, searchPlans, shippedPlans, topicsOf } from '../src/pages/configuration/start/gallery';

const text: Schema = { type: 'string', examples: ['1KB'] };
const ROOT: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name of the plan.' },
    fabric: {
      type: 'object',
      properties: {
        ecn: {
          description: 'Marking of packets.',
          anyOf: [
            { enum: ['sonic'] },
            {
              type: 'object',
              properties: { kmin: { ...text, description: 'Queue where it starts [size].' } },
            },
          ],
        },
        balancing: {
          anyOf: [
            {
              type: 'object',
              properties: {
                kind: { const: 'flowlet' },
                gap: { ...text, default: '50us', description: 'Pause [time].' },
              },
            },
            { type: 'object', properties: { kind: { const: 'ecmp' }, hash: { enum: ['crc', 'toeplitz'] } } },
          ],
        },
      },
    },
    transport: {
      type: 'object',
      properties: {
        timeout: { ...text, description: 'Time until the requester resends [time].' },
        window: { type: 'integer', default: 64, description: 'Most packets in flight [packets].' },
      },
    },
    jobs: { type: 'array', items: { type: 'object', properties: { ranks: { ...text } } } },
  },
};

const ENTRIES = fieldsOfSchema(ROOT);
const names = (words: string) => searchFields(ENTRIES, words, 12).map(({ name }) => name);
const goalOf = (name: string, fields: unknown) => {
  const entry = ENTRIES.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`no field ${name}`);
  const { target, path, insert } = goal(entry, fields);
  return { target, path: path.join('.'), insert };
};

test('fields are found by name and by meaning, the best first', () => {
  expect(names('ecn')).toEqual(['fabric.ecn', 'fabric.ecn.kmin']);
  expect(names('retransmission')).toEqual(['transport.timeout']);
  expect(names('packets flight')).toEqual(['transport.window']);
  expect(names('nonsense')).toEqual([]);
  const window = searchFields(ENTRIES, 'window', 1)[0];
  expect(window && aboutField(window)).toBe('[packets] · default 64');
});

test('a field in a group that the plan lacks is inserted, another kind is not replaced', () => {
  expect(goalOf('transport.window', {})).toEqual({
    target: 'transport.window',
    path: 'transport.window',
    insert: null,
  });
  expect(goalOf('fabric.ecn.kmin', { fabric: { ecn: 'sonic' } })).toEqual({
    target: 'fabric.ecn.kmin',
    path: 'fabric.ecn',
    insert: { kmin: '1KB' },
  });
  expect(goalOf('fabric.ecn.kmin', { fabric: { ecn: {} } }).insert).toBeNull();
  expect(goalOf('fabric.balancing.gap', {})).toEqual({
    target: 'fabric.balancing.gap',
    path: 'fabric.balancing',
    insert: { kind: 'flowlet', gap: '50us' },
  });
  expect(goalOf('fabric.balancing.gap', { fabric: { balancing: 'ecmp' } })).toMatchObject({
    target: 'fabric.balancing',
    insert: null,
  });
  expect(goalOf('jobs.0.ranks', {}).target).toBe('jobs');
  expect(goalOf('jobs.0.ranks', { jobs: [{}] }).target).toBe('jobs.0.ranks');
});

const SHIPPED = [
  { name: 'jct-alltoall', title: 'All-to-all of 8 ranks', description: 'How long?', group: 'jct' },
  { name: 'lb-ecmp', title: 'Hash collisions', description: 'An all-to-all by ECMP.', group: 'lb' },
];

test('plans are found by words and topic, those of the workspace among them', () => {
  const run = (plan: string, suite: string, backend = 'sim') =>
    ({ plan, suite, backend, title: `${plan} tried` }) as Parameters<typeof ownPlans>[0][number];
  const listed = [run('mine', 'b'), run('mine', 'a'), run('lb-ecmp', 'c'), run('nccl', 'd', 'imported')];
  const own = ownPlans(listed, SHIPPED);
  expect(own.map(({ open }) => open)).toEqual([{ run: 'b' }]);
  const plans = [...own, ...shippedPlans(SHIPPED)];
  expect(topicsOf(plans).map(({ topic, count }) => [topic, count])).toEqual([
    ['own', 1],
    ['jct', 1],
    ['lb', 1],
  ]);
  const found = (text: string, topic = '') => searchPlans(plans, text, topic).map(({ name }) => name);
  expect(found('alltoall')).toEqual(['jct-alltoall', 'lb-ecmp']);
  expect(found('all-to-all ecmp')).toEqual(['lb-ecmp']);
  expect(found('', 'own')).toEqual(['mine']);
});
