/**
 * Page that compares results of this workspace with results published in papers and vendors' test reports: for each
 * shipped plan that repeats one, a chart and a table of the published value, that of the plan's newest trial here,
 * and the deviation.
 */
import { Anchor, Badge, Button, Group, Stack, Switch, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';

import { usePublished, usePublishedFigure } from '../../api/queries';
import type { MetricName, PublishedMetric, PublishedPlan } from '../../api/types';
import { MetricFigure } from '../../components/chart/MetricFigure';
import { Empty, Loaded } from '../../components/QueryStates';
import { MetricCell, MetricHead } from '../../components/table/MetricCells';
import { useSearch } from '../../components/useSearch';
import { dataSize } from '../../format/numbers';
import { coverage, deviationStyle, deviationText, metricNames } from './deviation';

/** Height of a chart with its heading and caption [px]. */
const CHART_PX = 370;

export function Component() {
  const { search, change } = useSearch();
  const onlyCovered = search.has('ours');
  const published = usePublished();
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Validation</Title>
        <Switch
          label="Only plans that ran here"
          checked={onlyCovered}
          onChange={(event) => change({ ours: event.currentTarget.checked ? 'true' : null })}
        />
      </Group>
      <Text size="sm" className="muted" maw={900}>
        Published results of test equipment and machines, and for each the newest trial in this workspace of
        the plan as it is shipped. Trials with another seed or changed parameters do not count. A deviation is
        our value less the published one, as a percentage of the published one.
      </Text>
      <Loaded query={published} name="Published results">
        {({ plans }) => (
          <Tables plans={onlyCovered ? plans.filter((plan) => coverage(plan).ours > 0) : plans} />
        )}
      </Loaded>
    </Stack>
  );
}

function Tables({ plans }: { plans: PublishedPlan[] }) {
  if (plans.length === 0) {
    return (
      <Empty title="Nothing published has run here">
        Run one of the plans below “Only plans that ran here”.
      </Empty>
    );
  }
  return (
    <>
      <nav aria-label="Published tables" className="panel" style={{ padding: '8px 12px' }}>
        <Group gap="md">
          {plans.map((plan) => {
            const { ours, all } = coverage(plan);
            return (
              <Anchor key={keyOf(plan)} href={`#${keyOf(plan)}`} size="sm">
                {nameOf(plan)}{' '}
                <Text span size="xs" className="muted">
                  {ours}/{all}
                </Text>
              </Anchor>
            );
          })}
        </Group>
      </nav>
      {plans.map((plan) => (
        <Table key={keyOf(plan)} plan={plan} />
      ))}
    </>
  );
}

function keyOf(plan: PublishedPlan) {
  return `${plan.plan}-${plan.variant}`;
}

function nameOf({ plan, variant }: PublishedPlan) {
  return variant === 'base' ? plan : `${plan}, ${variant}`;
}

function Table({ plan }: { plan: PublishedPlan }) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    // The browser looks for the table of the URL before it is rendered.
    if (window.location.hash === `#${keyOf(plan)}`) section.current?.scrollIntoView();
  }, [plan]);
  const names = metricNames(plan);
  const { ours, all } = coverage(plan);
  return (
    <section
      ref={section}
      className="panel"
      id={keyOf(plan)}
      style={{ scrollMarginTop: 52 }}
      aria-label={nameOf(plan)}
    >
      <Group justify="space-between" px="sm" py={8} wrap="nowrap" align="flex-start">
        <div>
          <Group gap="xs">
            <Title order={2}>{nameOf(plan)}</Title>
            <Badge color={ours === all ? 'teal' : 'gray'}>
              {ours} of {all} run here
            </Badge>
            {plan.changed > 0 ? <Badge color="gray">{plan.changed} changed, not counted</Badge> : null}
          </Group>
          <Text size="sm">{plan.title}</Text>
          <Text size="xs" className="muted" maw={900}>
            {plan.source} {plan.note}
          </Text>
        </div>
        <Button component={Link} to={`/configure?plan=${plan.plan}`} variant="default">
          Run this plan
        </Button>
      </Group>
      <WhenVisible height={CHART_PX}>
        <Chart plan={plan} />
      </WhenVisible>
      <div style={{ overflowX: 'auto' }} role="region" aria-label="Table" tabIndex={0}>
        <table className="plain" aria-label={`Published and ours, ${nameOf(plan)}`}>
          <MetricHead names={names} parts={['published', 'ours', 'deviation']}>
            <th rowSpan={2}>{plan.size_kind === 'message' ? 'Message size' : 'Data size'}</th>
            <th rowSpan={2}>Trial</th>
          </MetricHead>
          <tbody>
            {plan.rows.map((row) => (
              <tr key={row.data_size_bytes}>
                <th scope="row" style={{ fontWeight: 400 }}>
                  {dataSize(row.data_size_bytes)}
                </th>
                <td className="mono">
                  {row.trial === null ? '–' : <Link to={`/trials/${row.trial}`}>{row.trial}</Link>}
                </td>
                {names.map((name) => (
                  <Cells key={name} metric={row.metrics[name]} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Chart({ plan }: { plan: PublishedPlan }) {
  const [metric, setMetric] = useState<MetricName | null>(null);
  const query = usePublishedFigure({ plan: plan.plan, variant: plan.variant, metric });
  return (
    <div style={{ padding: '0 14px 8px' }}>
      <MetricFigure query={query} label={nameOf(plan)} onMetric={setMetric} />
    </div>
  );
}

function Cells({ metric }: { metric: PublishedMetric | undefined }) {
  const deviation = metric?.deviation_percent ?? null;
  return (
    <>
      <MetricCell value={metric?.published} />
      <MetricCell value={metric?.ours} />
      <td className={`right ${deviationStyle(deviation)}`}>{deviationText(deviation)}</td>
    </>
  );
}

/** Renders costly children when they are nearly visible, and reserves their height until then. */
function WhenVisible({ height, children }: { height: number; children: ReactNode }) {
  const container = useRef<HTMLDivElement>(null);
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setVisible(true);
      },
      { rootMargin: '300px' },
    );
    if (container.current !== null) observer.observe(container.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={container} style={{ minHeight: height }}>
      {visible ? children : null}
    </div>
  );
}
