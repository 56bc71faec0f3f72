import { Text } from '@mantine/core';
import type { ComponentProps } from 'react';

import { Chart } from './Chart';

/** A figure with what the server says about it below. */
export function CaptionedChart({ figure, ...rest }: ComponentProps<typeof Chart>) {
  return (
    <>
      <Chart figure={figure} {...rest} />
      {figure.caption ? (
        <Text size="sm" className="muted" mt={6} maw={1100}>
          {figure.caption}
        </Text>
      ) : null}
    </>
  );
}
