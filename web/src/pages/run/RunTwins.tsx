import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { TwinTables } from '../../components/TwinTables';

/** What a run has measured so far beside its prediction; asked for again with each trial and at the end. */
export function RunTwins({ trial, finished, state }: { trial: string; finished: number; state: string }) {
  const client = useQueryClient();
  useEffect(() => {
    for (const key of ['compare', 'figures', 'figure']) void client.invalidateQueries({ queryKey: [key] });
  }, [client, finished, state]);
  return <TwinTables trial={trial} />;
}
