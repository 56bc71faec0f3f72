/** Routes of the application: its pages, redirections and the page for unknown URLs. */
import { createBrowserRouter, Navigate, useLocation } from 'react-router';

import { MissingPage } from './MissingPage';
import { PAGES } from './pages';
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
          { path: 'trials', element: <TrialsAddress /> },
          ...PAGES.map((page) => ({ path: page.path, lazy: page.load, handle: page })),
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
]);
