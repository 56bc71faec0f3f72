/** What a plan made of a device's file has from it, what is assumed, and what is not modelled. */
import { CloseButton, Group, Text } from '@mantine/core';

import type { MadePlan } from '../../api/types';

interface Props {
  made: MadePlan;
  onClose: () => void;
}

export function MadePlanNotes({ made, onClose }: Props) {
  return (
    <section className="panel made-plan" aria-label="Origin of the plan">
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={600}>
          {made.source}
        </Text>
        <CloseButton size={24} aria-label="Close the origin of the plan" onClick={onClose} />
      </Group>
      <List title="Read" items={made.read} />
      <List
        title={`${made.fields.length} fields from the file`}
        items={made.fields.map(({ field, value, origin }) => `${field}: ${value} (${origin})`)}
      />
      <List title="Assumed" items={made.assumed} isOpen />
      <List title="Differs from the file" items={made.warnings} isOpen />
      <List title="Not modelled" items={made.not_modelled} />
    </section>
  );
}

function List({
  title,
  items,
  isOpen = false,
}: {
  title: string;
  items: readonly string[];
  isOpen?: boolean;
}) {
  if (items.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <ul>
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    </details>
  );
}
