/**
 * Controls that filter the chunks (transfers between two ranks) of a timeline by job, sending ranks and status;
 * parses the filter from the page's URL.
 */
import { Group, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';

import type { ChunkFilter } from '../../api/queries';
import type { useSearch } from '../useSearch';

type Props = ReturnType<typeof useSearch> & { jobs: string[] };

export function ChunkFilterBar({ search, change, jobs }: Props) {
  const [ranks, setRanks] = useState(search.get('rank') ?? '');
  const applyRanks = useDebouncedCallback((text: string) => change({ rank: text }), 400);
  return (
    <Group gap="xs">
      {jobs.length > 1 ? (
        <NativeSelect
          aria-label="Job"
          size="xs"
          data={[{ value: '', label: 'every job' }, ...jobs]}
          value={search.get('job') ?? ''}
          onChange={(event) => change({ job: event.currentTarget.value })}
        />
      ) : null}
      <TextInput
        aria-label="Sending ranks"
        placeholder="ranks: 0, 4-7"
        w={130}
        value={ranks}
        onChange={(event) => {
          setRanks(event.currentTarget.value);
          applyRanks(event.currentTarget.value);
        }}
      />
      <NativeSelect
        aria-label="Status of chunks"
        size="xs"
        data={[{ value: '', label: 'every status' }, 'complete', 'failed', 'unfinished']}
        value={search.get('status') ?? ''}
        onChange={(event) => change({ status: event.currentTarget.value })}
      />
    </Group>
  );
}

export function chunkFilterOf(search: URLSearchParams): ChunkFilter {
  const filter: ChunkFilter = {};
  const job = search.get('job');
  const status = search.get('status');
  const rank = ranksOf(search.get('rank') ?? '');
  if (job) filter.job = job;
  if (status) filter.status = status;
  if (rank.length > 0) filter.rank = rank;
  return filter;
}

const RANKS_MAX = 256;

/** Numbers of a list with ranges such as `0, 4-7`; invalid parts are ignored. */
export function ranksOf(text: string): number[] {
  const ranks = text.split(',').flatMap((part) => {
    const [, first, last = first] = /^\s*(\d{1,7})(?:\s*-\s*(\d{1,7}))?\s*$/.exec(part) ?? [];
    const from = Number(first ?? Number.NaN);
    const count = Math.min(RANKS_MAX, Number(last) - from + 1);
    return count > 0 ? Array.from({ length: count }, (_, index) => from + index) : [];
  });
  return ranks.slice(0, RANKS_MAX);
}
