/** Card of a plan in the gallery: picture of its fabric, title, the question it answers, name; a click opens it. */
import { Text } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { useState } from 'react';

import { FabricPicture } from '../map/FabricPicture';
import type { StartPlan } from './gallery';
import { useFabric } from './queries';

interface Props {
  plan: StartPlan;
  onOpen: (plan: StartPlan) => void;
}

export function PlanCard({ plan, onOpen }: Props) {
  const { ref, inViewport } = useInViewport<HTMLButtonElement>();
  const [wasVisible, setWasVisible] = useState(false);
  if (inViewport && !wasVisible) setWasVisible(true);
  const fabric = useFabric(plan, wasVisible).data;
  return (
    <button type="button" ref={ref} className="panel plan-card" onClick={() => onOpen(plan)}>
      <div className="plan-card-picture" aria-hidden>
        {fabric && fabric.boxes.length > 0 ? <FabricPicture map={fabric} /> : null}
      </div>
      <Text size="sm" fw={600}>
        {plan.title}
      </Text>
      <Text size="xs" className="muted" lineClamp={3} title={plan.description}>
        {plan.description}
      </Text>
      <Text size="xs" className="plan-card-name">
        <span className="mono">{plan.name}</span>
        {fabric ? ` · ${fabric.shape}` : ''}
      </Text>
    </button>
  );
}
