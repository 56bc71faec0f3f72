/**
 * Page to configure and run a plan. With `start` in its URL it offers plans to start from; otherwise it has form, YAML
 * editor, map of the fabric, the server's check of the plan, and the run target (simulator or hosts).
 */
import { useState } from 'react';

import type { MadePlan } from '../../api/types';
import { Loaded } from '../../components/QueryStates';
import { useSearch } from '../../components/useSearch';
import { PlanWorkbench } from './PlanWorkbench';
import { EMPTY_PLAN } from './planYaml';
import { StartPage } from './start/StartPage';
import { storeDraft, useSchema, useStart } from './usePlan';

/** Query parameters that select the plan to start from. */
const NO_PLAN = { plan: null, trial: null, run: null, set: null };

export function Component() {
  const { search, change } = useSearch();
  const [made, setMade] = useState<MadePlan | null>(null);
  const [version, setVersion] = useState(0);
  const start = search.get('start');
  /** Opens a text in the editor in place of the plan of the URL. */
  const open = (yaml: string, origin: MadePlan | null) => {
    storeDraft(yaml);
    setMade(origin);
    setVersion(version + 1);
    change({ ...NO_PLAN, start: null, section: null });
  };
  if (start !== null) {
    return (
      <StartPage
        start={start}
        onStart={(key) => change({ start: key })}
        onOpen={(plan) => {
          setMade(null);
          change({ ...NO_PLAN, ...plan.open, start: null, section: null });
        }}
        onMade={(plan) => open(plan.yaml, plan.read.length > 0 ? plan : null)}
        onBack={() => change({ start: null })}
      />
    );
  }
  return (
    <Editor
      version={version}
      made={made}
      onClose={() => setMade(null)}
      onStart={(key) => change({ start: key })}
      onBlank={() => open(EMPTY_PLAN, null)}
    />
  );
}

interface Props {
  /** Number of the text in the editor, which changes as another replaces it. */
  version: number;
  made: MadePlan | null;
  onClose: () => void;
  onStart: (key: string) => void;
  onBlank: () => void;
}

/** Editor of the plan that the URL selects, or of the stored draft. */
function Editor({ version, ...props }: Props) {
  const { search } = useSearch();
  const selected = {
    plan: search.get('plan'),
    trial: search.get('trial'),
    run: search.get('run'),
    set: search.getAll('set'),
  };
  const start = useStart(selected, version);
  const schema = useSchema();
  return (
    <Loaded query={schema} name="The schema of plans">
      {(root) => (
        <Loaded query={start} name="The plan">
          {(text) => (
            <PlanWorkbench key={JSON.stringify([selected, version])} start={text} root={root} {...props} />
          )}
        </Loaded>
      )}
    </Loaded>
  );
}
