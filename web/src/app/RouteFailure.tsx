import { useRouteError } from 'react-router';

import { Failure } from '../components/QueryStates';

/** A page that broke, or whose code could not be fetched. */
export function RouteFailure() {
  const error = useRouteError();
  const isFetch = error instanceof TypeError && /import|fetch/i.test(error.message);
  return (
    <Failure error={isFetch ? new Error('The page cannot be fetched: the server does not answer.') : error} />
  );
}
