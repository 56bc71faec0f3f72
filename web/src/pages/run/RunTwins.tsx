import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { TwinTables } from '../../components/TwinTables';

/** What a run has measured so far beside its prediction; asked for again with each trial that has finished. */
export function RunTwins({ trial, finished }: { trial: string; finished: number }) {
  const client = useQueryClient();
  useEffect(() => {
    for (const key of ['compare', 'figures', 'figure']) void client.invalidateQueries({ queryKey: [key] });
  }, [client, finished]);
  return <TwinTables trial={trial} />;
}
