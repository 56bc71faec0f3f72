/**
 * Form of the options of an import of benchmark output: format, tags, name, plan that simulates the benchmark, number
 * of ranks, name of the benchmark.
 */
import { Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core';

import { type Import, useChoices, useShippedPlans } from '../../api/queries';

export type Options = Omit<Import, 'file'>;

export const NO_OPTIONS: Options = { format: null, plan: null, name: '', tags: [], ranks: '', benchmark: '' };

const FORMATS = [
  { value: 'nccl-tests', label: 'nccl-tests' },
  { value: 'perftest', label: 'perftest' },
  { value: 'osu', label: 'OSU micro-benchmarks' },
  { value: 'imb', label: 'Intel MPI Benchmarks' },
  { value: 'nccom-test', label: 'nccom-test' },
  { value: 'nccl-inspector', label: 'NCCL Inspector' },
];

interface Props {
  options: Options;
  onChange: (options: Options) => void;
}

export function ImportOptions({ options, onChange }: Props) {
  const set = (values: Partial<Options>) => onChange({ ...options, ...values });
  const tags = useChoices().data?.tag ?? [];
  const plans = useShippedPlans().data?.plans ?? [];
  return (
    <section className="panel" style={{ padding: '10px 14px' }} aria-label="Options">
      <SimpleGrid cols={{ base: 2, md: 3 }} spacing="sm">
        <Select
          label="Format"
          placeholder="Detected automatically"
          data={FORMATS}
          value={options.format}
          onChange={(format) => set({ format: format as Options['format'] })}
          clearable
        />
        <TagsInput
          label="Tags"
          data={tags}
          value={options.tags}
          onChange={(tags) => set({ tags })}
          maxLength={64}
        />
        <TextInput
          label="Name"
          placeholder="Name of the benchmark or the plan"
          value={options.name}
          maxLength={100}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Select
          label="Plan that simulates it"
          description="Its line rate and MTU give the percentage of the ideal"
          placeholder="None"
          data={plans.filter(({ error }) => error === '').map(({ name }) => name)}
          value={options.plan}
          onChange={(plan) => set({ plan })}
          searchable
          clearable
        />
        <TextInput
          label="Ranks"
          description="Required if the output lacks it"
          value={options.ranks}
          inputMode="numeric"
          onChange={(event) => set({ ranks: event.currentTarget.value.replace(/\D/g, '') })}
        />
        <TextInput
          label="Benchmark"
          description="Required if the output lacks it"
          value={options.benchmark}
          maxLength={100}
          onChange={(event) => set({ benchmark: event.currentTarget.value })}
        />
      </SimpleGrid>
    </section>
  );
}
