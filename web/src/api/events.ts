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
  /** Frames marked by ECN per microsecond, and paused priorities of ports on average, since the point before. */
  marked: Point[];
  paused: Point[];
}

/** A value at a moment of simulated time [ps]. */
export type Point = readonly [at: number, value: number];

const NO_POINTS = { goodput: [], queue: [], marked: [], paused: [] };
const NOTHING: Live = { progress: null, trial: null, ...NO_POINTS };

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
    on('trial_started', (data) => {
      const { id: trial, running } = data as { id: string; running: number };
      if (running === 1) setLive((before) => ({ ...before, trial, ...NO_POINTS }));
      again();
    });
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
  const kept = before.trial === trial ? before : NOTHING;
  const line = (shown: Point[], value: (sample: Sample) => number | undefined) =>
    joined(
      shown,
      points.flatMap((point) => pointOf(point, value(point))),
    );
  return {
    ...before,
    trial,
    goodput: line(kept.goodput, (sample) => sample.goodput_gb_per_s),
    queue: line(kept.queue, (sample) => sample.queue_max_bytes),
    marked: line(kept.marked, (sample) => sample.marks_per_us),
    paused: line(kept.paused, (sample) => sample.paused_mean),
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
