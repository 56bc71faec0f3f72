/**
 * React hook for the live state of a run, received as server-sent events: progress, and samples of goodput, queue
 * depth, ECN marks and PFC pauses of the current trial, thinned to a limit.
 */
import { useEffect, useState } from 'react';

import { path } from './client';
import { FINAL_STATES, useRefreshing } from './queries';
import type { Progress, Run, Sample, Samples, TrialStarted } from './types';

const POINTS_MAX = 4_000;

export interface Live {
  progress: Progress | null;
  /** Trial of the points. */
  trial: string | null;
  goodput: Point[];
  queue: Point[];
  /** Frames marked by ECN per microsecond, and mean number of paused priorities, since the previous point. */
  marked: Point[];
  paused: Point[];
}

/** Value at a simulated time [ps]. */
export type Point = readonly [at: number, value: number];

const NO_POINTS = { goodput: [], queue: [], marked: [], paused: [] };
const EMPTY: Live = { progress: null, trial: null, ...NO_POINTS };

/** Live state of a run; receives events while `following`. */
export function useRunEvents(id: string, following: boolean): Live {
  const refreshing = useRefreshing();
  const [live, setLive] = useState<Live>(EMPTY);
  useEffect(() => {
    if (!following) return;
    const source = new EventSource(path('runs', id, 'events'));
    const on = (kind: string, take: (data: unknown) => void) =>
      source.addEventListener(kind, (event: MessageEvent<string>) => take(JSON.parse(event.data)));
    on('progress', (data) => setLive((before) => ({ ...before, progress: data as Progress })));
    on('samples', (data) => setLive((before) => withSamples(before, data as Samples)));
    on('trial_started', (data) => {
      const { id: trial, running } = data as TrialStarted;
      if (running === 1) setLive((before) => ({ ...before, trial, ...NO_POINTS }));
      refreshing.run();
    });
    on('trial', () => {
      refreshing.run();
      refreshing.trials();
    });
    on('state', (data) => {
      if (FINAL_STATES.includes((data as Run).state)) source.close();
      refreshing.run();
      refreshing.runs();
    });
    return () => source.close();
  }, [id, following, refreshing]);
  return live;
}

/** Adds points; a new trial starts without any, and points repeated after a lost connection are ignored. */
export function withSamples(before: Live, { trial, points }: Samples): Live {
  const current = before.trial === trial ? before : EMPTY;
  const line = (drawn: Point[], value: (sample: Sample) => number | undefined) =>
    joined(
      drawn,
      points.flatMap((point) => pointOf(point, value(point))),
    );
  return {
    ...before,
    trial,
    goodput: line(current.goodput, (sample) => sample.goodput_gb_per_s),
    queue: line(current.queue, (sample) => sample.queue_max_bytes),
    marked: line(current.marked, (sample) => sample.marks_per_us),
    paused: line(current.paused, (sample) => sample.paused_mean),
  };
}

function pointOf(sample: Sample, value: number | undefined): Point[] {
  return value === undefined ? [] : [[sample.sim_ps, value]];
}

function joined(drawn: Point[], received: Point[]): Point[] {
  const last = drawn.at(-1)?.[0] ?? -1;
  return thinned([...drawn, ...received.filter(([at]) => at > last)]);
}

/** Every second point if there are too many to draw. */
export function thinned(points: Point[]): Point[] {
  return points.length <= POINTS_MAX ? points : points.filter((_, index) => index % 2 === 0);
}
