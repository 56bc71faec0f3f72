/**
 * Panel with the progress of a run or campaign: bar with percentage, reason for waiting, and a grid of named values
 * such as trials done.
 */
import { Group, Paper, Progress, SimpleGrid, Text } from '@mantine/core';

interface Props {
  /** Name of the bar for screen readers. */
  label: string;
  percent: number;
  state: string;
  figures: readonly (readonly [string, string])[];
  /** Columns of figures. */
  cols: number | Record<string, number>;
  /** Reason why the work waits; empty if it does not. */
  waits?: string;
}

export function WorkProgress({ label, percent, state, figures, cols, waits = '' }: Props) {
  return (
    <Paper withBorder p="sm">
      <Group gap="sm" wrap="nowrap">
        <Progress
          value={percent}
          animated={state === 'running'}
          color={state === 'complete' ? 'teal' : 'fabric'}
          style={{ flex: 1 }}
          aria-label={label}
        />
        <Text size="sm" className="num" w={64} ta="right" role="status">
          {percent.toFixed(1)} %
        </Text>
      </Group>
      {waits === '' ? null : (
        <Text size="sm" mt={4} role="alert">
          Waiting: {waits}
        </Text>
      )}
      <SimpleGrid cols={cols} mt="xs">
        {figures.map(([name, value]) => (
          <div key={name}>
            <Text size="xs" className="muted">
              {name}
            </Text>
            <Text size="sm" className="num">
              {value}
            </Text>
          </div>
        ))}
      </SimpleGrid>
    </Paper>
  );
}
