/**
 * Badges of the trials selected for comparison, the first being the reference, and a search field that adds another.
 */
import { ActionIcon, Badge, Group, Select } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useState } from 'react';

import { useTrials } from '../../api/queries';
import type { Trial } from '../../api/types';
import { casePrefix } from '../../format/sweep';
import { dataSize } from '../../format/numbers';

interface Props {
  ids: string[];
  onChange: (ids: string[]) => void;
}

export function TrialPicker({ ids, onChange }: Props) {
  const [text, setText] = useState('');
  const matches = useTrials({ search: text, limit: 50, status: 'complete' }).data?.trials ?? [];
  const options = new Map(matches.filter(({ id }) => !ids.includes(id)).map((trial) => [trial.id, trial]));
  return (
    <Group gap="xs">
      {ids.map((id, index) => (
        <Badge
          key={id}
          color={index === 0 ? 'fabric' : 'gray'}
          size="lg"
          rightSection={
            <ActionIcon
              size="xs"
              variant="transparent"
              color="gray"
              aria-label={`Remove ${id}`}
              onClick={() => onChange(ids.filter((other) => other !== id))}
            >
              <IconX size={12} />
            </ActionIcon>
          }
        >
          {index === 0 ? 'reference ' : ''}
          {id}
        </Badge>
      ))}
      <Select
        aria-label="Add a trial"
        placeholder="Add a trial"
        w={340}
        searchable
        searchValue={text}
        onSearchChange={setText}
        filter={({ options: all }) => all}
        nothingFoundMessage="No trial matches"
        data={[...options.values()].map((trial) => ({ value: trial.id, label: label(trial) }))}
        value={null}
        onChange={(id) => {
          if (id === null) return;
          onChange([...ids, id]);
          setText('');
        }}
      />
    </Group>
  );
}

function label(trial: Trial) {
  return `${trial.plan}, ${casePrefix(trial)}${dataSize(trial.data_size_bytes)}, ${trial.id}`;
}
