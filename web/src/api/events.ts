/** Events of a run as the server sends them. The browser connects again by itself and says what it had last. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { path } from './client';
import { FINAL_STATES } from './states';
import type { Progress, Run, Sample, Samples } from './types';

const POINTS_MAX = 4_000;

export interface Live {
  progress: Progress | null;
  /** The trial that the points are of. */
  trial: string | null;
  goodput: Point[];
  queue: Point[];
}

/** A value at a moment of simulated time [ps]. */
export type Point = readonly [at: number, value: number];

const NOTHING: Live = { progress: null, trial: null, goodput: [], queue: [] };

/** What a run says while it runs; `following` is whether there is something to wait for. */
export function useRunEvents(id: string, following: boolean): Live {
  const client = useQueryClient();
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    if (!following) return;
    const source = new EventSource(path('runs', id, 'events'));
    const again = () => void client.invalidateQueries({ queryKey: ['run', id] });
    const on = (kind: string, take: (data: unknown) => void) =>
      source.addEventListener(kind, (event: MessageEvent<string>) => take(JSON.parse(event.data)));
    on('progress', (data) => setLive((before) => ({ ...before, progress: data as Progress })));
    on('samples', (data) => setLive((before) => withSamples(before, data as Samples)));
    on('trial_started', again);
    on('trial', () => {
      again();
      void client.invalidateQueries({ queryKey: ['trials'] });
    });
    on('state', (data) => {
      if (FINAL_STATES.includes((data as Run).state)) source.close();
      again();
      void client.invalidateQueries({ queryKey: ['runs'] });
    });
    return () => source.close();
  }, [id, following, client]);
  return live;
}

/** Add points; a new trial begins with none, and what comes again after a lost connection is left out. */
export function withSamples(before: Live, { trial, points }: Samples): Live {
  const same = before.trial === trial;
  const goodput = points.flatMap((point) => pointOf(point, point.goodput_gb_per_s));
  const queue = points.flatMap((point) => pointOf(point, point.queue_max_bytes));
  return {
    ...before,
    trial,
    goodput: joined(same ? before.goodput : [], goodput),
    queue: joined(same ? before.queue : [], queue),
  };
}

function pointOf(sample: Sample, value: number | undefined): Point[] {
  return value === undefined ? [] : [[sample.sim_ps, value]];
}

function joined(kept: Point[], fresh: Point[]): Point[] {
  const last = kept.at(-1)?.[0] ?? -1;
  return thinned([...kept, ...fresh.filter(([at]) => at > last)]);
}

/** Every second point, once there are too many to draw. */
export function thinned(points: Point[]): Point[] {
  return points.length <= POINTS_MAX ? points : points.filter((_, index) => index % 2 === 0);
}
