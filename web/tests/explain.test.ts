/** Tests of the files of the explain page. */
import { expect, test } from 'vitest';

import { filesOf, withFiles } from '../src/pages/explain/given';

const file = (name: string, text = '') => new File([text], name);

test('files of equal names are all kept, with a number in their names', async () => {
  const files = withFiles(
    [],
    [file('log.txt', 'a'), file('log.txt', 'b'), file('log.txt', 'c'), file('all')],
  );
  const more = withFiles(files, [file('all', 'd'), file('.log'), file('.log', 'e')]);
  expect(more.map((each) => each.file.name)).toEqual([
    ...['log.txt', 'log-2.txt', 'log-3.txt', 'all', 'all-2', '.log', '.log-2'],
  ]);
  expect(await more[1]?.file.text()).toBe('b');
});

test('the text in the field is a file, several texts are several', () => {
  expect(filesOf([], '  ')).toEqual([]);
  const names = filesOf(filesOf([], 'a'), 'b').map((each) => each.file.name);
  expect(names).toEqual(['pasted.txt', 'pasted-2.txt']);
});
