/** Fabric of the results: a cluster, a shipped plan, or not known; and values that the output may lack. */
import {
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Title,
} from '@mantine/core';

import { useClusterChoices, useShippedPlans } from '../../api/queries';
import { Loaded } from '../../components/QueryStates';
import { ClusterFields } from '../expected/ClusterFields';
import { EXPLAIN_LABELS, type FabricKind, type FormValues } from './given';

interface Props {
  values: FormValues;
  onChange: (values: Partial<FormValues>) => void;
}

const KINDS: { value: FabricKind; label: string }[] = [
  { value: 'unknown', label: 'Not given' },
  { value: 'cluster', label: 'Cluster' },
  { value: 'plan', label: 'Plan' },
];

export function FabricPanel({ values, onChange }: Props) {
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Fabric of the results">
      <Stack gap="xs">
        <Title order={2}>Fabric</Title>
        <SegmentedControl
          data={KINDS}
          value={values.kind}
          onChange={(kind) => onChange({ kind })}
          aria-label="Fabric of the results"
          fullWidth
        />
        {values.kind === 'unknown' ? (
          <Text size="sm" className="muted">
            Without a fabric the output and the rate of the adapters decide. A pasted plan is the fabric, too.
          </Text>
        ) : null}
        {values.kind === 'cluster' ? <ClusterParts values={values} onChange={onChange} /> : null}
        {values.kind === 'plan' ? <PlanField values={values} onChange={onChange} /> : null}
        <MissingValues values={values} onChange={onChange} />
      </Stack>
    </section>
  );
}

function ClusterParts({ values, onChange }: Props) {
  const choices = useClusterChoices();
  return (
    <Loaded query={choices} name="Choices">
      {(data) => {
        const cluster = values.cluster ?? {
          cluster: '',
          servers: 2,
          topology: data.topologies[0] ?? '',
        };
        return (
          <ClusterFields
            choices={data}
            cluster={cluster}
            onChange={(changed) => onChange({ cluster: { ...cluster, ...changed } })}
          />
        );
      }}
    </Loaded>
  );
}

function PlanField({ values, onChange }: Props) {
  const plans = useShippedPlans().data?.plans ?? [];
  return (
    <Select
      label={EXPLAIN_LABELS.plan}
      placeholder="A shipped plan"
      data={plans.filter(({ error }) => error === '').map(({ name }) => name)}
      value={values.plan === '' ? null : values.plan}
      onChange={(plan) => onChange({ plan: plan ?? '' })}
      searchable
      clearable
    />
  );
}

function MissingValues({ values, onChange }: Props) {
  const text = (name: 'rate' | 'nccl' | 'benchmark', placeholder: string) => (
    <TextInput
      label={EXPLAIN_LABELS[name]}
      placeholder={placeholder}
      value={values[name]}
      maxLength={100}
      onChange={(event) => onChange({ [name]: event.currentTarget.value })}
    />
  );
  const number = (name: 'adapters' | 'ranks') => (
    <TextInput
      label={EXPLAIN_LABELS[name]}
      value={values[name]}
      inputMode="numeric"
      onChange={(event) => onChange({ [name]: event.currentTarget.value.replace(/\D/g, '') })}
    />
  );
  return (
    <>
      <SimpleGrid cols={2} spacing="xs">
        {text('rate', '400Gbps')}
        {number('adapters')}
      </SimpleGrid>
      <details>
        <summary className="muted" style={{ cursor: 'pointer', fontSize: 13 }}>
          Other values that the output may lack
        </summary>
        <SimpleGrid cols={2} spacing="xs" mt={6}>
          {text('benchmark', 'all_reduce_perf')}
          {number('ranks')}
          {text('nccl', 'By the log')}
          <TagsInput
            label={EXPLAIN_LABELS.uplinks}
            description="ports of the counters"
            value={values.uplinks}
            onChange={(uplinks) => onChange({ uplinks })}
          />
        </SimpleGrid>
      </details>
    </>
  );
}
