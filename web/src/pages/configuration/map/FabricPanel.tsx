/**
 * Panel with the map of the plan's fabric: its shape in words, a search for a host or switch, the drawing, details of
 * the selected box, and a legend of the jobs.
 */
import { Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { FabricMap } from '../../../api/types';
import { counted } from '../../../format/numbers';
import { BoxDetails } from './BoxDetails';
import { colourOf } from './colours';
import { FabricPicture } from './FabricPicture';
import { findOnMap } from './find';

const JOBS_NAMED = 16;

export function FabricPanel({ map }: { map: FabricMap | null }) {
  if (map === null) {
    return (
      <Text size="sm" className="muted" p="md">
        The fabric is drawn here once the plan has one.
      </Text>
    );
  }
  if (map.boxes.length === 0) {
    return (
      <Text size="sm" className="muted" p="md">
        {map.shape}: too large to draw.
      </Text>
    );
  }
  return <Drawn map={map} />;
}

function Drawn({ map }: { map: FabricMap }) {
  const [text, setText] = useState('');
  const [selected, setSelected] = useState<number | null>(null);
  const match = text.trim() === '' ? null : findOnMap(map, text);
  const box = match?.box ?? selected;
  const select = (index: number) => {
    setText('');
    setSelected(index === box ? null : index);
  };
  return (
    <div style={{ padding: '6px 10px' }}>
      <Group gap="sm" mb={4} justify="space-between">
        <Text size="sm" fw={600}>
          {map.shape}
          {map.scheduled ? ', scheduled' : ''}
        </Text>
        <Group gap="xs">
          <Text size="xs" className="muted" role="status">
            {text.trim() === '' ? '' : (match?.text ?? 'no such host or switch')}
          </Text>
          <TextInput
            size="xs"
            w={170}
            aria-label="Find a host or a switch"
            placeholder="find: host17, 17, leaf3"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </Group>
      </Group>
      <FabricPicture map={map} selection={{ box, host: match?.host ?? null, select }} />
      {box === null ? null : <BoxDetails map={map} index={box} host={match?.host ?? null} />}
      <Jobs map={map} />
    </div>
  );
}

function Jobs({ map }: { map: FabricMap }) {
  const { jobs, scale_up_bps } = map;
  return (
    <Group gap="md" mt={4}>
      {jobs.slice(0, JOBS_NAMED).map((job, index) => (
        <Text key={job.name} size="xs">
          <svg width="10" height="10" aria-hidden style={{ marginRight: 5 }}>
            <rect width="10" height="10" rx="2" fill={colourOf(index)} />
          </svg>
          {job.name}, {counted(job.hosts.length)} ranks
        </Text>
      ))}
      {jobs.length > JOBS_NAMED ? (
        <Text size="xs" className="muted">
          and {jobs.length - JOBS_NAMED} more
        </Text>
      ) : null}
      {scale_up_bps ? (
        <Text size="xs" className="muted">
          within a server {scale_up_bps / 1e9} Gb/s per GPU
        </Text>
      ) : null}
    </Group>
  );
}
