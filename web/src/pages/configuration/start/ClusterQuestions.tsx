/**
 * Five questions about a cluster of GPU servers with the fabric that the answers give; the plan is that of
 * `fabricbench new --cluster`.
 */
import {
  Alert,
  Button,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Text,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';

import type { MadePlan, PlanChoices } from '../../../api/types';
import { Loaded, problemText } from '../../../components/QueryStates';
import { FabricPanel } from '../map/FabricPanel';
import { rateText } from '../map/layout';
import { type Answers, useClusterPlan, usePlanChoices } from './queries';

const RAILS = 'rail-optimised';
const SINGLE = 'single-switch';

const FIRST: Answers = {
  cluster: 'dgx-h100',
  servers: 16,
  adapters: null,
  topology: RAILS,
  tiers: 2,
  oversubscription: 1,
  load_balancing: null,
  collective: 'all-reduce',
};

const CABLINGS = [
  { value: RAILS, label: 'A switch for each adapter (rails)' },
  { value: 'leaf-spine', label: 'All adapters of a server on one leaf' },
];

const TIERS = [
  { value: '1', label: '1: one switch' },
  { value: '2', label: '2: leaves, spines' },
  { value: '3', label: '3: pods, cores' },
];

export function ClusterQuestions({ onMade }: { onMade: (plan: MadePlan) => void }) {
  const choices = usePlanChoices();
  return (
    <Loaded query={choices} name="The choices">
      {(data) => <Questions choices={data} onMade={onMade} />}
    </Loaded>
  );
}

interface Props {
  choices: PlanChoices;
  onMade: (plan: MadePlan) => void;
}

function Questions({ choices, onMade }: Props) {
  const [answers, setAnswers] = useState(FIRST);
  const [settled] = useDebouncedValue(answers, 250);
  const plan = useClusterPlan(settled);
  const isCurrent = settled === answers && plan.isSuccess && !plan.isPlaceholderData;
  const set = (values: Partial<Answers>) => setAnswers({ ...answers, ...values });
  const props = { choices, answers, set };
  return (
    <form
      className="configuration"
      onSubmit={(event) => {
        event.preventDefault();
        if (isCurrent) onMade(plan.data.made);
      }}
    >
      <Stack gap="sm">
        <ServersQuestion {...props} />
        <AdaptersQuestion {...props} />
        <TiersQuestion {...props} />
        <OversubscriptionQuestion {...props} />
        <LoadBalancingQuestion {...props} />
        <Group align="end" gap="sm">
          <Select
            label="Collective to run"
            data={choices.collectives}
            value={answers.collective}
            allowDeselect={false}
            onChange={(collective) => collective !== null && set({ collective })}
          />
          <Button type="submit" disabled={!isCurrent}>
            Open the plan
          </Button>
        </Group>
      </Stack>
      <section className="panel" aria-label="Fabric">
        {plan.isError ? <Refused error={plan.error} /> : <FabricPanel map={plan.data?.map ?? null} />}
      </section>
    </form>
  );
}

interface QuestionProps {
  choices: PlanChoices;
  answers: Answers;
  set: (values: Partial<Answers>) => void;
}

function ServersQuestion({ choices, answers, set }: QuestionProps) {
  return (
    <Question title="1. Servers">
      <Select
        label="Kind"
        w={330}
        data={choices.servers.map(({ name, description }) => ({ value: name, label: description || name }))}
        value={answers.cluster}
        onChange={(cluster) => cluster !== null && set({ cluster, adapters: null })}
        allowDeselect={false}
        searchable
      />
      <NumberInput
        label="How many"
        w={110}
        min={1}
        max={choices.servers_max}
        allowDecimal={false}
        value={answers.servers}
        onChange={(servers) => set({ servers: Number(servers) || 1 })}
      />
    </Question>
  );
}

function AdaptersQuestion({ choices, answers, set }: QuestionProps) {
  const server = choices.servers.find(({ name }) => name === answers.cluster);
  const isSingle = answers.topology === SINGLE;
  return (
    <Question title="2. Adapters">
      <NumberInput
        label="Of each server"
        w={110}
        min={1}
        max={server?.adapters ?? 1}
        allowDecimal={false}
        value={answers.adapters ?? server?.adapters ?? 1}
        onChange={(adapters) => set({ adapters: Number(adapters) || null })}
      />
      <Text size="sm" className="muted" pb={6}>
        {server ? `of ${server.adapters} with ${rateText([server.rate_bps])}` : ''}
      </Text>
      <Select
        label="Cabling"
        w={290}
        data={CABLINGS}
        value={isSingle ? RAILS : answers.topology}
        disabled={isSingle}
        allowDeselect={false}
        onChange={(topology) => topology !== null && set({ topology })}
      />
    </Question>
  );
}

function TiersQuestion({ choices, answers, set }: QuestionProps) {
  const change = (tiers: number) => {
    const topology = answers.topology === SINGLE ? RAILS : answers.topology;
    set({ tiers, topology: tiers === 1 ? SINGLE : topology });
  };
  return (
    <Question title="3. Tiers of switches">
      <SegmentedControl
        aria-label="Tiers of switches"
        data={TIERS.filter(({ value }) => Number(value) <= choices.tiers_max)}
        value={String(answers.tiers)}
        onChange={(value) => change(Number(value))}
      />
    </Question>
  );
}

function OversubscriptionQuestion({ choices, answers, set }: QuestionProps) {
  return (
    <Question title="4. Oversubscription at the leaves">
      <NumberInput
        aria-label="Oversubscription at the leaves"
        w={110}
        min={1}
        max={choices.oversubscription_max}
        allowDecimal={false}
        suffix=":1"
        disabled={answers.topology === SINGLE}
        value={answers.oversubscription}
        onChange={(value) => set({ oversubscription: Number(value) || 1 })}
      />
    </Question>
  );
}

function LoadBalancingQuestion({ choices, answers, set }: QuestionProps) {
  return (
    <Question title="5. Load balancing">
      <Select
        aria-label="Load balancing"
        placeholder="As the servers' transport has it"
        w={250}
        data={choices.load_balancing}
        value={answers.load_balancing}
        onChange={(load_balancing) => set({ load_balancing })}
        clearable
      />
    </Question>
  );
}

function Refused({ error }: { error: unknown }) {
  const { message, hint } = problemText(error);
  return (
    <Alert color="red" variant="light" role="alert">
      <Text size="sm">{message}</Text>
      {hint ? (
        <Text size="sm" className="muted">
          hint: {hint}
        </Text>
      ) : null}
    </Alert>
  );
}

function Question({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Fieldset legend={title} className="question" p="xs">
      <Group gap="sm" align="end">
        {children}
      </Group>
    </Fieldset>
  );
}
