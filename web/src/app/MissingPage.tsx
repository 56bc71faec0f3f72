/** Page for unknown URLs, with a link to the list of trials. */
import { Link } from 'react-router';

import { Empty } from '../components/QueryStates';

export function MissingPage() {
  return (
    <Empty title="There is no such page">
      <Link to="/trials">Go to the trials of this workspace</Link>
    </Empty>
  );
}
