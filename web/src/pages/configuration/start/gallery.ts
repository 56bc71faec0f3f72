/** Plans of the gallery: those that are shipped and those of the workspace, their topics, and the search by words. */
import type { GalleryPlan, RunListRow } from '../../../api/types';

/** A plan to start from. */
export interface StartPlan {
  /** Query parameter that opens it on the page of plans. */
  open: { plan: string } | { run: string };
  name: string;
  title: string;
  description: string;
  topic: string;
}

export const OWN = 'own';

/** Names of topics, in the order of their buttons. */
export const TOPICS: Readonly<Record<string, string>> = {
  [OWN]: 'This workspace',
  cluster: 'GPU clusters',
  jct: 'Job completion time',
  cc: 'Congestion control',
  lb: 'Load balancing',
  spray: 'Packet spraying',
  isolation: 'Tenants',
  bmwg: 'BMWG tests',
  ddc: 'Scheduled fabric',
  imb: 'Link failures, ECN, TCP',
  interconnect: 'InfiniBand and Ethernet',
  sonic: 'SONiC',
  cx5: 'NICs',
  dfs: 'Storage',
  scale: 'Large fabrics',
  traffic: 'Random traffic',
};

/** Shipped plans in the order of their topics. */
export function shippedPlans(plans: readonly GalleryPlan[]): StartPlan[] {
  const order = Object.keys(TOPICS);
  const place = ({ topic }: StartPlan) => (order.includes(topic) ? order.indexOf(topic) : order.length);
  return plans
    .map(({ name, title, description, group }) => ({
      open: { plan: name },
      name,
      title,
      description,
      topic: group,
    }))
    .sort((a, b) => place(a) - place(b));
}

/** The newest run of each plan of the workspace that is not shipped; imported results have no plan. */
export function ownPlans(runs: readonly RunListRow[], shipped: readonly GalleryPlan[]): StartPlan[] {
  const names = new Set(shipped.map(({ name }) => name));
  const own = new Map<string, StartPlan>();
  for (const { plan, title, suite, backend } of runs) {
    if (backend === 'imported' || plan === '' || names.has(plan) || own.has(plan)) continue;
    own.set(plan, { open: { run: suite }, name: plan, title, description: '', topic: OWN });
  }
  return [...own.values()];
}

/** Plans of a topic, of all if it is empty, that have every word; those with a word in the name or title first. */
export function searchPlans(plans: readonly StartPlan[], text: string, topic: string): StartPlan[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = plans
    .filter((plan) => topic === '' || plan.topic === topic)
    .map((plan) => ({ plan, rank: rankOf(plan, words) }))
    .filter(({ rank }) => rank !== null);
  return ranked.sort((a, b) => (b.rank ?? 0) - (a.rank ?? 0)).map(({ plan }) => plan);
}

/** How many words are in the name or title; null if one is nowhere in the plan. */
function rankOf({ name, title, description, topic }: StartPlan, words: readonly string[]): number | null {
  const head = `${name} ${title}`.toLowerCase();
  const all = `${head} ${description} ${TOPICS[topic] ?? topic}`.toLowerCase();
  const plain = all.replaceAll('-', '');
  if (!words.every((word) => all.includes(word) || plain.includes(word.replaceAll('-', '')))) return null;
  return words.filter((word) => head.includes(word)).length;
}

/** Topics that some plans have, in order, with the number of plans. */
export function topicsOf(plans: readonly StartPlan[]): { topic: string; label: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { topic } of plans) counts.set(topic, (counts.get(topic) ?? 0) + 1);
  const order = [...new Set([...Object.keys(TOPICS), ...counts.keys()])];
  return order.flatMap((topic) => {
    const count = counts.get(topic);
    return count === undefined ? [] : [{ topic, label: TOPICS[topic] ?? topic, count }];
  });
}
