import { Button, Group, Text } from '@mantine/core';

import { simulatedTime } from '../../format/numbers';
import { useSearch } from '../useSearch';
import { addressOf, stretchOf } from './timeRange';

/** Which stretch of time the figures of a view show, and the way back to all of it; nothing if they show that. */
export function StretchBar() {
  const { search, change } = useSearch();
  const stretch = stretchOf(search);
  if (stretch === null) return null;
  return (
    <Group gap="xs" className="panel stretch-bar">
      <Text size="xs" className="muted" role="status">
        {simulatedTime(stretch.from_ps)} to {simulatedTime(stretch.to_ps)}
      </Text>
      <Button variant="default" onClick={() => change(addressOf(null))}>
        Whole run
      </Button>
    </Group>
  );
}
