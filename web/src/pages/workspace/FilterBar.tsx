/**
 * Filters of the list of trials: search text; menus of plan, tag, status, variant and backend; limits of metrics,
 * such as `ideal_percent<50`; switch for deleted trials.
 */
import { Button, Group, Select, Switch, TagsInput, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

import { useChoices } from '../../api/queries';
import type { useSearch } from '../../components/useSearch';
import { isFiltered, LISTS, NO_FILTERS, type ListName } from './filters';

const LABELS: Record<ListName, string> = {
  plan: 'Plan',
  tag: 'Tag',
  status: 'Status',
  variant: 'Variant',
  backend: 'Backend',
};

export function FilterBar({ search, change }: ReturnType<typeof useSearch>) {
  const choices = useChoices().data;
  return (
    <Group gap="xs" align="flex-end" role="search">
      <SearchBox
        key={String(search.has('search'))}
        start={search.get('search') ?? ''}
        onSearch={(text) => change({ search: text })}
      />
      {LISTS.map((name) => {
        const selected = search.get(name);
        const offered = choices?.[name] ?? [];
        return (
          <Select
            key={name}
            aria-label={LABELS[name]}
            placeholder={LABELS[name]}
            data={selected === null || offered.includes(selected) ? offered : [selected, ...offered]}
            value={selected}
            onChange={(value) => change({ [name]: value })}
            searchable
            clearable
            w={name === 'plan' ? 170 : 118}
          />
        );
      })}
      <TagsInput
        aria-label="Metrics"
        placeholder={search.has('where') ? '' : 'ideal_percent<50'}
        title="Limits of metrics; with several jobs, of the worst job"
        value={search.getAll('where')}
        onChange={(where) => change({ where })}
        splitChars={[' ', ',']}
        w={search.has('where') ? 250 : 160}
      />
      <Switch
        label="Deleted"
        checked={search.has('deleted')}
        onChange={(event) => change({ deleted: event.currentTarget.checked ? 'true' : null })}
        mb={6}
      />
      {isFiltered(search) ? (
        <Button variant="subtle" onClick={() => change(NO_FILTERS)}>
          Clear filters
        </Button>
      ) : null}
    </Group>
  );
}

function SearchBox({ start, onSearch }: { start: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(start);
  const searchLater = useDebouncedCallback(onSearch, 250);
  return (
    <TextInput
      aria-label="Search trials"
      placeholder="Search plans, tags, ids"
      leftSection={<IconSearch size={14} />}
      value={text}
      w={220}
      onChange={(event) => {
        setText(event.currentTarget.value);
        searchLater(event.currentTarget.value);
      }}
    />
  );
}
