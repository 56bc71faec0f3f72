/** Gallery of plans to start from: search by words, buttons of topics, a card for each plan. */
import { Group, Stack, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useMemo, useState } from 'react';

import { Loaded } from '../../../components/QueryStates';
import { ownPlans, searchPlans, shippedPlans, type StartPlan, topicsOf } from './gallery';
import { PlanCard } from './PlanCard';
import { useGallery, useNewestRuns } from './queries';

export function PlanGallery({ onOpen }: { onOpen: (plan: StartPlan) => void }) {
  const gallery = useGallery();
  const runs = useNewestRuns().data?.runs;
  const plans = useMemo(() => {
    const shipped = gallery.data?.plans ?? [];
    return [...ownPlans(runs ?? [], shipped), ...shippedPlans(shipped)];
  }, [gallery.data, runs]);
  return (
    <Loaded query={gallery} name="The list of plans">
      {() => <SearchedPlans plans={plans} onOpen={onOpen} />}
    </Loaded>
  );
}

interface Props {
  plans: StartPlan[];
  onOpen: (plan: StartPlan) => void;
}

function SearchedPlans({ plans, onOpen }: Props) {
  const [text, setText] = useState('');
  const [topic, setTopic] = useState('');
  const found = searchPlans(plans, text, topic);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <TextInput
          aria-label="Search plans"
          placeholder="all-to-all, link failure, DCQCN, 512 …"
          leftSection={<IconSearch size={14} aria-hidden />}
          w={340}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Text size="sm" className="muted" role="status">
          {found.length === plans.length
            ? `${plans.length} plans`
            : `${found.length} of ${plans.length} plans`}
        </Text>
      </Group>
      <Group gap={6} role="group" aria-label="Topics">
        {topicsOf(plans).map(({ topic: each, label, count }) => (
          <button
            key={each}
            type="button"
            className="topic"
            aria-pressed={topic === each}
            onClick={() => setTopic(topic === each ? '' : each)}
          >
            {label} <span className="muted num">{count}</span>
          </button>
        ))}
      </Group>
      <div className="plan-cards">
        {found.map((plan) => (
          <PlanCard key={plan.name} plan={plan} onOpen={onOpen} />
        ))}
      </div>
    </Stack>
  );
}
