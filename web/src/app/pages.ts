/** Pages of the application, in the order of the navigation: the one list that router and header read. */
import {
  IconAdjustments,
  IconArrowsDiff,
  IconChartLine,
  IconChecklist,
  IconServer2,
  IconStethoscope,
  IconTable,
  type TablerIcon,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';

import { type PageAddress, prefetchRun, prefetchTrial } from './prefetch';

export interface Page {
  /** URL, with a colon before the name of a parameter. */
  path: string;
  /** Title of the window and label in the navigation; null where the page makes a title of its content. */
  title: string | null;
  /** Loads the page when it is first opened. */
  load: () => Promise<{ Component: ComponentType }>;
  /** Sends its first requests in the meantime. */
  prefetch?: (address: PageAddress) => Promise<void>;
  /** Of a page in the navigation. */
  icon?: TablerIcon;
  /** Path of the page in the navigation that stands for this one. */
  under?: string;
}

const TRIAL = {
  title: null,
  under: 'runs',
  load: () => import('../pages/trial/TrialPage'),
  prefetch: prefetchTrial,
};

export const PAGES: readonly Page[] = [
  {
    path: 'runs',
    title: 'Runs',
    icon: IconTable,
    load: () => import('../pages/workspace/WorkspacePage'),
  },
  {
    path: 'runs/:id',
    title: null,
    under: 'runs',
    load: () => import('../pages/run/RunPage'),
    prefetch: prefetchRun,
  },
  { path: 'trials/:id', ...TRIAL },
  { path: 'trials/:id/:view', ...TRIAL },
  {
    path: 'campaigns/:name',
    title: null,
    under: 'runs',
    load: () => import('../pages/campaign/CampaignPage'),
  },
  { path: 'import', title: 'Import', under: 'runs', load: () => import('../pages/imports/ImportPage') },
  {
    path: 'configure',
    title: 'Configure',
    icon: IconAdjustments,
    load: () => import('../pages/configuration/ConfigurationPage'),
  },
  {
    path: 'expected',
    title: 'Expected',
    icon: IconChartLine,
    load: () => import('../pages/expected/ExpectedPage'),
  },
  {
    path: 'explain',
    title: 'Explain',
    icon: IconStethoscope,
    load: () => import('../pages/explain/ExplainPage'),
  },
  { path: 'hosts', title: 'Hosts', icon: IconServer2, load: () => import('../pages/hosts/HostsPage') },
  {
    path: 'compare',
    title: 'Compare',
    icon: IconArrowsDiff,
    load: () => import('../pages/compare/ComparePage'),
  },
  {
    path: 'validation',
    title: 'Validation',
    icon: IconChecklist,
    load: () => import('../pages/validation/ValidationPage'),
  },
  { path: 'docs', title: 'API', load: () => import('../pages/docs/ApiPage') },
];
