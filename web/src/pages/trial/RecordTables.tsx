/**
 * Tables of a trial's record (its results as Parquet tables, such as `chunks` and `ports`): selection of a table,
 * filter of rows, downloads, and a grid that the server sorts and pages.
 */
import { Anchor, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useMemo, useState } from 'react';

import { path } from '../../api/client';
import { rowsOf } from '../../api/queries';
import type { Cell, Column, TablePage, TableRow, TrialDetail } from '../../api/types';
import { Grid, type GridColumn, type Sorting } from '../../components/table/Grid';
import { Empty, Failure, Loading } from '../../components/QueryStates';
import { usePages } from '../../components/table/usePages';
import { useSearch } from '../../components/useSearch';
import { counted, MISSING, significant, simulatedTime } from '../../format/numbers';
import { conditions, conditionText } from './rowConditions';
import { hasFigures, type View } from './views';

/** Tables of a view, one at a time. */
export function RecordTables({ trial, view }: { trial: TrialDetail; view: View }) {
  const { search, change } = useSearch();
  const selected = search.get('table');
  const table = view.tables.find((name) => name === selected) ?? view.tables[0];
  if (table === undefined || trial.shown === null) return null;
  return (
    <Stack gap="xs">
      {view.tables.length > 1 ? (
        <SegmentedControl
          aria-label="Table"
          data={[...view.tables]}
          value={table}
          onChange={(name) => change({ table: name, sort: null, order: null, where: null })}
          style={{ alignSelf: 'start' }}
        />
      ) : null}
      <RecordTable key={table} trial={trial.id} table={table} tall={!hasFigures(view.key)} />
    </Stack>
  );
}

interface Props {
  trial: string;
  table: string;
  tall: boolean;
}

/** Rows are sorted, filtered and paged by the server. */
function RecordTable({ trial, table, tall }: Props) {
  const { search, change } = useSearch();
  const sorting = sortingOf(search);
  const where = search.getAll('where');
  const order = sorting === null ? {} : { sort: sorting.key, order: sorting.order };
  const pages = usePages<TablePage, TableRow>(
    ['table', trial, table, order, where],
    (offset, limit, signal) => rowsOf(trial, table, { offset, limit, ...order, where }, signal),
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
        <Failure error={pages.error} name={`Table ${table}`} retry={pages.refetch} />
      ) : null}
      {pages.error === null && pages.total === undefined ? <Loading name={table} /> : null}
      {pages.total === 0 ? (
        <Empty title="No rows">
          {where.length > 0 ? 'No row matches the filter.' : (EMPTY[table] ?? 'Nothing was recorded here.')}
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

/** Reasons why tables have no rows. */
const EMPTY: Record<string, string> = {
  paths:
    'No flow has a path of its own between switches: all data stays below one switch, or load balancing spreads ' +
    'the packets of a flow over several paths.',
  connections: 'The plan has no TCP traffic.',
  events: 'No link or host failed, and no watchdog detected a storm.',
  priorities: 'No port was paused, requested a pause or lost frames.',
  reordering: 'Every frame arrived in order.',
  series: 'Nothing was sampled: observe.series_points is 0, or the trial was too short.',
};

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

/** First columns of wide tables; the others follow in the order of the record. */
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

/** Columns of numbers that are identifiers. */
const NAMES = new Set(['qp', 'port', 'udp_source_port', 'connection', 'transfer', 'block', 'priority']);

export function ordered(table: string, columns: Column[]): Column[] {
  const first = FIRST[table] ?? [];
  const rank = ({ name }: Column) => (first.includes(name) ? first.indexOf(name) : first.length);
  return columns.toSorted((a, b) => rank(a) - rank(b));
}

/** Width of a table up to which its columns share the width of the page [px]. */
const NARROW = 1200;

export function gridColumns(columns: Column[]): GridColumn<TableRow>[] {
  const isNarrow = columns.reduce((total, column) => total + widthOf(column), 0) <= NARROW;
  return columns.map((column) => ({
    key: column.name,
    title: heading(column.name),
    hint: column.name,
    width: isNarrow ? `minmax(${widthOf(column)}px, ${column.type === 'String' ? 2 : 1}fr)` : widthOf(column),
    right: column.type !== 'String',
    sortable: true,
    cell: (row) => cellText(column.name, row[column.name] ?? null),
  }));
}

/** Headings of times and rates have no unit: each cell has its own. */
function heading(name: string) {
  return name.replace(/_(ps|bps)$/, '').replaceAll('_', ' ');
}

function widthOf({ name, type }: Column) {
  const least = /_(bps|bytes)$|^bytes$/.test(name)
    ? 132
    : type === 'String' || name.endsWith('_ps')
      ? 92
      : 74;
  return Math.max(least, heading(name).length * 7.4 + 34);
}

function numberText(name: string, value: number): string {
  if (name.endsWith('_ps')) return simulatedTime(value);
  return name.endsWith('_bps') ? `${significant(value / 1e9, 5)} Gb/s` : counted(value);
}

export function cellText(name: string, value: Cell): string {
  if (value === null) return MISSING;
  if (NAMES.has(name)) return String(value);
  if (typeof value === 'number') return numberText(name, value);
  return String(value);
}
