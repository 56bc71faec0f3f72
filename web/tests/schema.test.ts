/** Tests of the kinds of values, units and placeholders from the plan's JSON Schema. */
import { describe, expect, it } from 'vitest';

import {
  type Definitions,
  formOf,
  formsOf,
  placeholderOf,
  scalarOf,
  unitOf,
} from '../src/pages/configuration/form/schema';

const DEFINITIONS: Definitions = {
  Range: { type: 'object', properties: { start: {}, end: {} }, required: ['start', 'end'] },
  Ecmp: { type: 'object', properties: { kind: { const: 'ecmp', type: 'string' } } },
  Pinned: { type: 'object', properties: { kind: { const: 'pinned', type: 'string' } } },
};

const SIZE = { type: 'string', pattern: '^[0-9]+(KB|MB)?$', examples: ['16MB'] };

describe('kinds of values of a field', () => {
  it('a choice that may be left out is its options', () => {
    const forms = formsOf(
      { anyOf: [{ enum: ['ring', 'tree'], type: 'string' }, { type: 'null' }] },
      DEFINITIONS,
    );
    expect(forms).toEqual({ options: ['ring', 'tree'], text: null, list: null, objects: [] });
  });

  it('a size may be one value, a list or a range', () => {
    const schema = { anyOf: [SIZE, { type: 'array', items: SIZE }, { $ref: '#/$defs/Range' }] };
    const forms = formsOf(schema, DEFINITIONS);
    expect(formOf('16MB', forms)).toBe('text');
    expect(formOf(['1MB'], forms)).toBe('list');
    expect(formOf({ start: 1, end: 2 }, forms)).toBe(forms.objects[0]);
    expect(formOf(undefined, forms)).toBeNull();
  });

  it('mappings are identified by their field kind', () => {
    const schema = {
      anyOf: [{ enum: ['ecmp'] }, { oneOf: [{ $ref: '#/$defs/Ecmp' }, { $ref: '#/$defs/Pinned' }] }],
    };
    const forms = formsOf(schema, DEFINITIONS);
    expect(formOf('ecmp', forms)).toBe('option');
    expect(formOf({ kind: 'pinned' }, forms)).toMatchObject({ label: 'pinned' });
  });

  it('a text that takes commas needs no list', () => {
    const schema = {
      anyOf: [{ const: 'all' }, { type: 'string', pattern: '^\\d+(,\\d+)*$' }, { type: 'array' }],
    };
    expect(formsOf(schema, DEFINITIONS)).toMatchObject({ options: ['all'], list: null });
  });

  it('a reference that leads nowhere is our bug', () => {
    expect(() => formsOf({ $ref: '#/$defs/Missing' }, DEFINITIONS)).toThrow('Missing');
  });
});

describe('values', () => {
  it('whole numbers are numbers, everything else is text', () => {
    expect(scalarOf('16')).toBe(16);
    expect(scalarOf('16MB')).toBe('16MB');
    expect(scalarOf('0.5')).toBe(0.5);
    expect(scalarOf(' ')).toBeUndefined();
  });

  it('units come from the description, unless values write them', () => {
    expect(unitOf({ description: 'Unacknowledged at most [packets].' })).toBe('packets');
    expect(unitOf({ description: 'First sampling interval [time].' })).toBe('');
  });

  it('a placeholder is the default, or else an example', () => {
    expect(placeholderOf({ default: '128KB' }, SIZE)).toBe('128KB');
    expect(placeholderOf({ default: null }, SIZE)).toBe('such as 16MB');
  });
});
