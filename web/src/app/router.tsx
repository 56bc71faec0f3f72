/** Routes of the application: its pages, redirections and the page for unknown URLs. */
import {
  createBrowserRouter,
  type LoaderFunctionArgs,
  Navigate,
  type ShouldRevalidateFunctionArgs,
  useLocation,
} from 'react-router';

import { MissingPage } from './MissingPage';
import { type Page, PAGES } from './pages';
import { RouteFailure } from './RouteFailure';
import { Shell } from './Shell';

/** The list of trials is a view of the list of runs. */
function TrialsAddress() {
  return <Navigate to={{ pathname: '/runs', search: useLocation().search }} replace />;
}

/** Route of a page, whose first requests are sent once for each path. */
function routeOf(page: Page) {
  return {
    path: page.path,
    lazy: page.load,
    handle: page,
    loader: ({ params, request }: LoaderFunctionArgs) => {
      const { searchParams: search } = new URL(request.url);
      page.prefetch?.({ params, search }).catch(() => undefined);
      return null;
    },
    shouldRevalidate: ({ currentUrl, nextUrl }: ShouldRevalidateFunctionArgs) =>
      currentUrl.pathname !== nextUrl.pathname,
  };
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
          ...PAGES.map(routeOf),
          { path: '*', element: <MissingPage /> },
        ],
      },
    ],
  },
]);
