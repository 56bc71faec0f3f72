/** Routes of the application: URL and page component of each page, loaded when it is first opened. */
import { createBrowserRouter, Navigate, useLocation } from 'react-router';

import { MissingPage } from './MissingPage';
import { RouteFailure } from './RouteFailure';
import { Shell } from './Shell';

/** The list of trials is a view of the list of runs. */
function TrialsAddress() {
  return <Navigate to={{ pathname: '/runs', search: useLocation().search }} replace />;
}

export const router = createBrowserRouter([
  {
    path: '/',
    element: <Shell />,
    hydrateFallbackElement: <></>,
    children: [
      {
        errorElement: <RouteFailure />,
        children: [
          { index: true, element: <Navigate to="/runs" replace /> },
          { path: 'runs', lazy: () => import('../pages/workspace/WorkspacePage') },
          { path: 'runs/:id', lazy: () => import('../pages/run/RunPage') },
          { path: 'trials', element: <TrialsAddress /> },
          { path: 'trials/:id', lazy: () => import('../pages/trial/TrialPage') },
          { path: 'trials/:id/:view', lazy: () => import('../pages/trial/TrialPage') },
          { path: 'import', lazy: () => import('../pages/imports/ImportPage') },
          { path: 'expected', lazy: () => import('../pages/expected/ExpectedPage') },
          { path: 'explain', lazy: () => import('../pages/explain/ExplainPage') },
          { path: 'configure', lazy: () => import('../pages/configuration/ConfigurationPage') },
          { path: 'campaigns/:name', lazy: () => import('../pages/campaign/CampaignPage') },
          { path: 'hosts', lazy: () => import('../pages/hosts/HostsPage') },
          { path: 'compare', lazy: () => import('../pages/compare/ComparePage') },
          { path: 'validation', lazy: () => import('../pages/validation/ValidationPage') },
          { path: 'docs', lazy: () => import('../pages/docs/ApiPage') },
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
]);
