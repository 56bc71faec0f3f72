/** Events of a run as the server sends them. The browser connects again by itself and says what it had last. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { path } from './client';
import type { Progress, Run, RunState, Sample } from './types';

export const FINAL_STATES: readonly RunState[] = ['complete', 'cancelled', 'failed', 'interrupted'];

const SAMPLES_MAX = 4_000;

export interface Live {
  progress: Progress | null;
  samples: Sample[];
  connected: boolean;
}

const NOTHING: Live = { progress: null, samples: [], connected: false };

/** What a run says while it runs; `following` is whether there is something to wait for. */
export function useRunEvents(id: string, following: boolean): Live {
  const client = useQueryClient();
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    if (!following) return;
    const source = new EventSource(path('runs', id, 'events'));
    const again = () => void client.invalidateQueries({ queryKey: ['run', id] });
    source.onopen = () => setLive((before) => ({ ...before, connected: true }));
    source.onerror = () => setLive((before) => ({ ...before, connected: false }));
    source.addEventListener('progress', (event) => {
      const progress = JSON.parse(String(event.data)) as Progress;
      setLive((before) => withProgress(before, progress));
    });
    source.addEventListener('trial', () => {
      again();
      void client.invalidateQueries({ queryKey: ['trials'] });
    });
    source.addEventListener('state', (event) => {
      const { state } = JSON.parse(String(event.data)) as Pick<Run, 'state'>;
      if (FINAL_STATES.includes(state)) source.close();
      again();
      void client.invalidateQueries({ queryKey: ['runs'] });
    });
    return () => source.close();
  }, [id, following, client]);
  return live;
}

/** Add the samples of an event; a new trial begins with none, and what came twice is left out. */
export function withProgress(before: Live, progress: Progress): Live {
  const fresh = progress.samples ?? [];
  const same = before.progress?.trial === progress.trial;
  const kept = same ? before.samples : [];
  const last = kept.at(-1)?.at_ps ?? -1;
  const samples = [...kept, ...fresh.filter((sample) => sample.at_ps > last)];
  return { progress, samples: thinned(samples), connected: true };
}

/** Every second sample, once there are too many to draw. */
export function thinned(samples: Sample[]): Sample[] {
  return samples.length <= SAMPLES_MAX ? samples : samples.filter((_, index) => index % 2 === 0);
}
