/** Error page of a route: a page that threw an error, or its code that could not be loaded. */
import { useRouteError } from 'react-router';

import { Failure } from '../components/QueryStates';

export function RouteFailure() {
  const error = useRouteError();
  const isFetch = error instanceof TypeError && /import|fetch/i.test(error.message);
  return (
    <Failure error={isFetch ? new Error('The page cannot be loaded: the server does not answer.') : error} />
  );
}
