/** Form, YAML editor, map of the fabric and check of a plan, side by side; a click on an error focuses its field. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import type { MadePlan } from '../../api/types';
import { Failure } from '../../components/QueryStates';
import { useSearch } from '../../components/useSearch';
import { type Help, type PlanForm, PlanFormContext } from './form/context';
import { FieldSearch } from './form/FieldSearch';
import { PlanFormPanel } from './form/PlanFormPanel';
import type { Schema } from './form/schema';
import type { FoundField } from './form/searchFields';
import { sectionOf } from './form/sections';
import { MadePlanNotes } from './MadePlanNotes';
import { FabricPanel } from './map/FabricPanel';
import { PlanCheck } from './PlanCheck';
import { PlanEditor } from './PlanEditor';
import { runTargetOf } from './runTarget';
import { RunTargetPanel } from './RunTargetPanel';
import { useFabric } from './start/queries';
import { STARTS } from './start/StartPage';
import { usePlan } from './usePlan';

interface Props {
  start: string;
  root: Schema;
  made: MadePlan | null;
  onClose: () => void;
  onStart: (key: string) => void;
  onBlank: () => void;
}

export function PlanWorkbench({ start, root, made, onClose, onStart, onBlank }: Props) {
  const { search, change } = useSearch();
  const target = runTargetOf(search);
  const plan = usePlan(start, target);
  const name = search.get('plan');
  // The server has the fabric of a shipped plan sooner than the check of its text.
  const shipped = useFabric({ open: { plan: name ?? '' } }, name !== null);
  const isShipped = plan.check.isPending && plan.text === start;
  const backend = plan.fields?.backend;
  const [help, setHelp] = useState<Help | null>(null);
  const [revealed, setRevealed] = useState<string | null>(null);
  const focusField = useRef<string | null>(null);
  const errors = useMemo(() => plan.check.data?.errors ?? [], [plan.check.data]);
  const form: PlanForm = useMemo(
    () => ({
      definitions: root.$defs ?? {},
      fields: plan.fields ?? {},
      errors,
      revealed,
      set: plan.setField,
      explain: setHelp,
    }),
    [root, plan.fields, errors, revealed, plan.setField],
  );
  const goTo = useCallback(
    (field: string) => {
      focusField.current = field;
      setRevealed(field);
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
  const goToFound = (found: FoundField) => {
    if (found.insert !== null) plan.setField(found.path, found.insert);
    goTo(found.target);
    setHelp({ field: found.name, schema: found.schema });
  };
  return (
    <Stack gap="sm">
      <PageHeader onStart={onStart} onBlank={onBlank} />
      <div className="configuration">
        <Stack gap="sm">
          {made === null ? null : <MadePlanNotes made={made} onClose={onClose} />}
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
              <FieldSearch root={root} onField={goToFound} />
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
            <FabricPanel map={(isShipped ? shipped.data : plan.check.data?.topology) ?? null} />
          </section>
          <section className="panel" aria-label="YAML">
            <PlanEditor text={plan.text} errors={errors} onChange={plan.change} />
          </section>
        </Stack>
      </div>
    </Stack>
  );
}

/** Ways to start another plan. */
function PageHeader({ onStart, onBlank }: Pick<Props, 'onStart' | 'onBlank'>) {
  return (
    <Group justify="space-between">
      <Title order={1}>Configure</Title>
      <Group gap="xs">
        <Text size="sm" className="muted">
          Start from
        </Text>
        {STARTS.map(({ key, label }) => (
          <Button key={key} variant="default" onClick={() => onStart(key)}>
            {label}
          </Button>
        ))}
        <Button variant="default" onClick={onBlank}>
          Blank plan
        </Button>
      </Group>
    </Group>
  );
}
