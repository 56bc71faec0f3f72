/** Tests of the addresses of locations in a diagnosis. */
import { expect, test } from 'vitest';

import { countersAddress, locationAddress } from '../src/pages/trial/locations';

test('ports of ranks are on the port map, links between switches in their table', () => {
  const of = (name: string) => locationAddress('1a', name);
  expect(of('leaf0 port 3')).toBe('/trials/1a/port-map?at=leaf0+port+3');
  expect(of('leaf0 port 3 to host3')).toBe('/trials/1a/port-map?at=leaf0+port+3');
  expect(of('host3 port 0 to leaf0')).toBe('/trials/1a/port-map?at=host3+port+0');
  expect(of('leaf0 port 8 to spine0')).toBe(
    '/trials/1a/links?where=from%3Aeq%3Aleaf0&where=from_port%3Aeq%3A8',
  );
  expect(of('leaf0-spine1')).toContain('/links?');
  expect(of('leaf0')).toBe('/trials/1a/ports?where=node%3Aeq%3Aleaf0');
  expect(of('a job')).toBeNull();
  expect(countersAddress('1a', 'leaf0 port 3')).toBe(
    '/trials/1a/ports?where=node%3Aeq%3Aleaf0&where=port%3Aeq%3A3',
  );
});
