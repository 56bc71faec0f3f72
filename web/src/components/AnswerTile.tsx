/** A short answer: small title, large value, and a line about it. */
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  title: ReactNode;
  value: string;
  about: string;
}

export function AnswerTile({ title, value, about }: Props) {
  return (
    <div>
      <Text size="xs" className="muted">
        {title}
      </Text>
      <Text fw={600} fz={20} className="num" lh={1.3}>
        {value}
      </Text>
      <Text size="sm" className="muted">
        {about}
      </Text>
    </div>
  );
}
