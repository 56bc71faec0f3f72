import { Anchor, Group, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useMemo, useState } from 'react';

import { path, query } from '../../api/client';
import type { Cell, Column, TablePage, TableRow } from '../../api/types';
import { Grid, type GridColumn, type Sorting } from '../../components/table/Grid';
import { Empty, Failure, Loading } from '../../components/QueryStates';
import { usePages } from '../../components/table/usePages';
import { useSearch } from '../../components/useSearch';
import { conditions, conditionText } from './rowConditions';
import { counted, MISSING, simulatedTime } from '../../format/numbers';

interface Props {
  trial: string;
  table: string;
  tall: boolean;
}

/** A table of the record, sorted and filtered by the server, drawn as far as it is in sight. */
export function RecordTable({ trial, table, tall }: Props) {
  const { search, change } = useSearch();
  const sorting = sortingOf(search);
  const where = search.getAll('where');
  const order = sorting === null ? {} : { sort: sorting.key, order: sorting.order };
  const pages = usePages<TablePage, TableRow>(
    ['table', trial, table, order, where],
    (offset, limit) => path('trials', trial, 'tables', table) + query({ offset, limit, ...order, where }),
    (page) => page,
  );
  const columns = useMemo(
    () => gridColumns(ordered(table, pages.first?.columns ?? [])),
    [table, pages.first?.columns],
  );
  return (
    <>
      <Group justify="space-between" wrap="nowrap">
        <Filter where={where} onChange={(next) => change({ where: next })} />
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" className="muted" role="status">
            {pages.total === undefined ? '' : `${counted(pages.total)} rows`}
          </Text>
          {['csv', 'parquet'].map((format) => (
            <Anchor
              key={format}
              size="sm"
              href={path('trials', trial, 'downloads', `${table}.${format}`)}
              download
            >
              {format === 'csv' ? 'CSV' : 'Parquet'}
            </Anchor>
          ))}
        </Group>
      </Group>
      {pages.error !== null ? (
        <Failure error={pages.error} what={`Table ${table}`} retry={pages.refetch} />
      ) : null}
      {pages.error === null && pages.total === undefined ? <Loading what={`Loading ${table}`} /> : null}
      {pages.total === 0 ? (
        <Empty title="No rows">
          {where.length > 0 ? 'No row matches the filter.' : 'Nothing was recorded here.'}
        </Empty>
      ) : null}
      {pages.total !== undefined && pages.total > 0 ? (
        <Grid
          label={`Table ${table}`}
          columns={columns}
          total={pages.total}
          rowAt={pages.rowAt}
          height={tall ? 'calc(100vh - 240px)' : 420}
          rowHeight={26}
          sorting={sorting}
          onSort={({ key, order: next }) => change({ sort: key, order: next })}
          onVisible={pages.onVisible}
        />
      ) : null}
    </>
  );
}

function sortingOf(search: URLSearchParams): Sorting | null {
  const key = search.get('sort');
  return key === null ? null : { key, order: search.get('order') === 'desc' ? 'desc' : 'asc' };
}

function Filter({ where, onChange }: { where: string[]; onChange: (where: string[]) => void }) {
  const [text, setText] = useState(where.map(conditionText).join(', '));
  const apply = useDebouncedCallback((value: string) => onChange(conditions(value)), 500);
  return (
    <TextInput
      aria-label="Filter rows"
      placeholder="Filter: src_rank=3, status=failed, fct_ps>1000000"
      value={text}
      w={380}
      onChange={(event) => {
        setText(event.currentTarget.value);
        apply(event.currentTarget.value);
      }}
    />
  );
}

/** What is looked at first in a table of many columns; the others follow in the order of the record. */
const FIRST: Record<string, readonly string[]> = {
  chunks: [
    'job',
    'src_rank',
    'dst_rank',
    'step',
    'status',
    'payload_bytes',
    'start_ps',
    'completed_ps',
    'fct_ps',
    'retransmits',
    'out_of_order',
    'ecn_ce_rx',
    'qp',
  ],
};

/** Numbers that name something and do not count. */
const NAMES = new Set(['qp', 'port', 'udp_source_port', 'connection', 'transfer', 'block', 'priority']);

export function ordered(table: string, columns: Column[]): Column[] {
  const first = FIRST[table] ?? [];
  const rank = ({ name }: Column) => (first.includes(name) ? first.indexOf(name) : first.length);
  return columns.toSorted((a, b) => rank(a) - rank(b));
}

export function gridColumns(columns: Column[]): GridColumn<TableRow>[] {
  return columns.map((column) => ({
    key: column.name,
    title: heading(column.name),
    hint: column.name,
    width: widthOf(column),
    right: column.type !== 'String',
    sortable: true,
    cell: (row) => cellText(column.name, row[column.name] ?? null),
  }));
}

/** Times are shown in the unit that suits each, so their headings do without one. */
function heading(name: string) {
  return name.endsWith('_ps') ? name.slice(0, -3).replaceAll('_', ' ') : name.replaceAll('_', ' ');
}

function widthOf({ name, type }: Column) {
  const least = /_(bps|bytes)$|^bytes$/.test(name)
    ? 132
    : type === 'String' || name.endsWith('_ps')
      ? 92
      : 74;
  return Math.max(least, heading(name).length * 7.4 + 34);
}

export function cellText(name: string, value: Cell): string {
  if (value === null) return MISSING;
  if (NAMES.has(name)) return String(value);
  if (typeof value === 'number') return name.endsWith('_ps') ? simulatedTime(value) : counted(value);
  return String(value);
}
