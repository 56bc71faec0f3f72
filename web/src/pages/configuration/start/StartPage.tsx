/** Start of a plan: a gallery of plans, five questions about a cluster, or a file of a device. */
import { Anchor, Group, Stack, Tabs, Title } from '@mantine/core';

import type { MadePlan } from '../../../api/types';
import { ClusterQuestions } from './ClusterQuestions';
import { DeviceFile } from './DeviceFile';
import type { StartPlan } from './gallery';
import { PlanGallery } from './PlanGallery';

export const STARTS = [
  { key: 'plans', label: 'Plans' },
  { key: 'questions', label: 'Five questions' },
  { key: 'file', label: 'File of a device' },
] as const;

interface Props {
  /** Key of the open tab. */
  start: string;
  onStart: (key: string) => void;
  onOpen: (plan: StartPlan) => void;
  onMade: (plan: MadePlan) => void;
  onBack: () => void;
}

export function StartPage({ start, onStart, onOpen, onMade, onBack }: Props) {
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Start a plan</Title>
        <Anchor component="button" type="button" size="sm" onClick={onBack}>
          Back to the editor
        </Anchor>
      </Group>
      <Tabs value={start} onChange={(key) => onStart(key ?? 'plans')} keepMounted={false}>
        <Tabs.List mb="sm">
          {STARTS.map(({ key, label }) => (
            <Tabs.Tab key={key} value={key}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="plans">
          <PlanGallery onOpen={onOpen} />
        </Tabs.Panel>
        <Tabs.Panel value="questions">
          <ClusterQuestions onMade={onMade} />
        </Tabs.Panel>
        <Tabs.Panel value="file">
          <DeviceFile onMade={onMade} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
