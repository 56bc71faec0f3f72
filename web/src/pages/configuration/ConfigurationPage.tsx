/**
 * Page to configure and run a plan: selection of a shipped plan, form, YAML editor, map of the fabric, the server's
 * check of the plan, run target (simulator or hosts). A click on an error focuses its field.
 */
import { Button, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { useShippedPlans } from '../../api/queries';
import { Failure, Loaded } from '../../components/QueryStates';
import { useSearch } from '../../components/useSearch';
import { type Help, type PlanForm, PlanFormContext } from './form/context';
import { PlanFormPanel } from './form/PlanFormPanel';
import type { Schema } from './form/schema';
import { sectionOf } from './form/sections';
import { TopologyMap } from './map/TopologyMap';
import { PlanCheck } from './PlanCheck';
import { PlanEditor } from './PlanEditor';
import { EMPTY_PLAN } from './planYaml';
import { runTargetOf } from './runTarget';
import { RunTargetPanel } from './RunTargetPanel';
import { usePlan, useSchema, useStart } from './usePlan';

export function Component() {
  const { search } = useSearch();
  const start = useStart({
    plan: search.get('plan'),
    trial: search.get('trial'),
    set: search.getAll('set'),
  });
  const schema = useSchema();
  const [fresh, setFresh] = useState(0);
  return (
    <Loaded query={schema} name="The schema of plans">
      {(root) => (
        <Loaded query={start} name="The plan">
          {(text) => (
            <Configuration
              key={`${search.get('plan') ?? ''} ${search.get('trial') ?? ''} ${search.getAll('set').join()} ${fresh}`}
              start={fresh > 0 && !search.has('plan') && !search.has('trial') ? EMPTY_PLAN : text}
              root={root}
              onEmpty={() => setFresh(fresh + 1)}
            />
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

interface Props {
  start: string;
  root: Schema;
  onEmpty: () => void;
}

function Configuration({ start, root, onEmpty }: Props) {
  const { search, change } = useSearch();
  const target = runTargetOf(search);
  const plan = usePlan(start, target);
  const backend = plan.fields?.backend;
  const [help, setHelp] = useState<Help | null>(null);
  const focusField = useRef<string | null>(null);
  const errors = useMemo(() => plan.check.data?.errors ?? [], [plan.check.data]);
  const form: PlanForm = useMemo(
    () => ({
      definitions: root.$defs ?? {},
      fields: plan.fields ?? {},
      errors,
      set: plan.setField,
      explain: setHelp,
    }),
    [root, plan.fields, errors, plan.setField],
  );
  const goTo = useCallback(
    (field: string) => {
      focusField.current = field;
      change({ section: sectionOf(field)?.key ?? search.get('section') });
    },
    [change, search],
  );
  // The control exists once its section is rendered, which may be some commits after the click.
  useEffect(() => {
    const control = focusField.current && document.getElementById(`field-${focusField.current}`);
    if (!control) return;
    control.focus();
    focusField.current = null;
  });
  return (
    <Stack gap="sm">
      <PageHeader onEmpty={onEmpty} />
      <div className="configuration">
        <Stack gap="sm">
          <RunTargetPanel backend={typeof backend === 'string' ? backend : undefined} />
          <PlanCheck
            text={plan.text}
            target={target}
            check={plan.check.data}
            isCurrent={plan.isCurrent}
            onField={goTo}
          />
          {plan.check.isError ? <Failure error={plan.check.error} name="The check of the plan" /> : null}
          {plan.fields === null ? (
            <Text size="sm" className="worse panel" p="sm" role="alert">
              The text is no valid YAML; the form waits until it is.
            </Text>
          ) : (
            <PlanFormContext value={form}>
              <PlanFormPanel
                root={root}
                section={search.get('section') ?? 'test'}
                onSection={(section) => {
                  focusField.current = null;
                  change({ section });
                }}
                help={help}
              />
            </PlanFormContext>
          )}
        </Stack>
        <Stack gap="sm">
          <section className="panel" aria-label="Fabric">
            <TopologyMap topology={plan.check.data?.topology ?? null} />
          </section>
          <section className="panel" aria-label="YAML">
            <PlanEditor text={plan.text} errors={errors} onChange={plan.change} />
          </section>
        </Stack>
      </div>
    </Stack>
  );
}

/** Selection of a shipped plan, and a button for an empty one. */
function PageHeader({ onEmpty }: { onEmpty: () => void }) {
  const { search, change } = useSearch();
  const plans = useShippedPlans().data?.plans ?? [];
  return (
    <Group justify="space-between">
      <Title order={1}>Configure</Title>
      <Group gap="xs">
        <Select
          aria-label="Start from a shipped plan"
          placeholder="Start from a shipped plan"
          w={380}
          searchable
          data={plans.map(({ name, title, error }) => ({
            value: name,
            label: `${name}: ${title}`,
            disabled: error !== '',
          }))}
          value={search.get('plan')}
          onChange={(plan) => plan !== null && change({ plan, trial: null, set: null })}
        />
        <Button
          variant="default"
          onClick={() => {
            sessionStorage.removeItem('fabricbench.draft');
            change({ plan: null, trial: null, set: null, section: null });
            onEmpty();
          }}
        >
          Blank plan
        </Button>
      </Group>
    </Group>
  );
}
