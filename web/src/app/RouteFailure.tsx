/** Error page of the router: shows the error that a page threw, or that the code of a page could not be loaded. */
import { useRouteError } from 'react-router';

import { Failure } from '../components/QueryStates';

export function RouteFailure() {
  const error = useRouteError();
  const isFetch = error instanceof TypeError && /import|fetch/i.test(error.message);
  return (
    <Failure error={isFetch ? new Error('The page cannot be loaded: the server does not answer.') : error} />
  );
}
