/** How far the campaigns are that run in the workspace beside this server. */
import { Progress, Text } from '@mantine/core';
import { Link } from 'react-router';

import { useCampaigns } from '../../api/queries';
import type { Campaign } from '../../api/types';
import { StatusBadge } from '../../components/StatusBadge';
import { counted, duration, moment } from '../../format/numbers';
import { endedText } from './runText';

/** So many are shown, the newest first. */
const SHOWN = 10;

export function Campaigns() {
  const campaigns = useCampaigns().data?.campaigns ?? [];
  if (campaigns.length === 0) return null;
  return (
    <div className="panel" style={{ overflowX: 'auto' }}>
      <table className="plain" aria-label="Campaigns">
        <thead>
          <tr>
            <th>State</th>
            <th>Campaign</th>
            <th style={{ width: 220 }}>Estimated work</th>
            <th>Trials</th>
            <th>Failed</th>
            <th>Left</th>
            <th>As of</th>
          </tr>
        </thead>
        <tbody>
          {campaigns.slice(0, SHOWN).map((campaign) => (
            <Row key={campaign.name} campaign={campaign} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ campaign }: { campaign: Campaign }) {
  const share = campaign.percent.toFixed(0);
  return (
    <tr>
      <td>
        <StatusBadge status={campaign.state} />
      </td>
      <td>
        <Link to={`/campaigns/${campaign.name}`}>{campaign.name}</Link>
      </td>
      <td>
        <Progress value={campaign.percent} size="sm" aria-label={`${share} %`} />
        {campaign.waits !== '' && (
          <Text size="xs" className="muted" style={{ whiteSpace: 'normal' }}>
            Waiting: {campaign.waits}
          </Text>
        )}
      </td>
      <td>{endedText(campaign)}</td>
      <td className="num">{counted(campaign.failed)}</td>
      <td className="num">{duration(campaign.left_s)}</td>
      <td className="num">{moment(campaign.noted_at)}</td>
    </tr>
  );
}
