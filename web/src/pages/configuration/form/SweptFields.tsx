/**
 * Swept fields of a plan (each value gives trials of its own) in the form, other than sizes: values of each, buttons
 * to add and remove a field.
 */
import { ActionIcon, Button, Group, Text, TextInput, Title } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';

import { usePlanForm } from './context';
import { errorText } from '../planErrors';
import { valueAt } from '../planYaml';
import { ListText } from './ScalarControl';
import type { Schema } from './schema';

/** Fields of `sweep` with controls of their own. */
const OWN = ['data_size', 'message_size', 'zip'];

function isOfScalars(value: unknown): boolean {
  return [value].flat().every((each) => typeof each !== 'object' || each === null);
}

export function SweptFields({ schema }: { schema: Schema }) {
  const { fields, set, errors, explain } = usePlanForm();
  const [name, setName] = useState('');
  const sweep = valueAt(fields, ['sweep']);
  const keys = typeof sweep === 'object' && sweep !== null ? Object.keys(sweep) : [];
  const names = keys.filter((each) => !OWN.includes(each));
  const add = () => {
    set(['sweep', name.trim()], [1]);
    setName('');
  };
  return (
    <section aria-label="swept fields" onFocus={() => explain({ field: 'sweep', schema })}>
      <Title order={3} mt="xs" mb={4}>
        swept fields
      </Title>
      {names.map((each) => (
        <div key={each} className="plan-row" data-field={`sweep.${each}`}>
          <span className="plan-label set mono">{each}</span>
          <div>
            {isOfScalars(valueAt(fields, ['sweep', each])) ? (
              <ListText path={['sweep', each]} value={[valueAt(fields, ['sweep', each])].flat()} />
            ) : (
              <Text size="xs" className="muted" mt={6}>
                Its values are mappings: change them in the text.
              </Text>
            )}
            {errors
              .filter(({ field }) => field === `sweep.${each}` || field === each)
              .map((error) => (
                <Text key={error.message} size="xs" className="worse" role="alert" mt={2}>
                  {errorText(error)}
                </Text>
              ))}
          </div>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={24}
            mt={4}
            aria-label={`Remove ${each} from the sweep`}
            onClick={() => set(['sweep', each], undefined)}
          >
            <IconTrash size={14} />
          </ActionIcon>
        </div>
      ))}
      <Group gap="xs" mt={4}>
        <TextInput
          aria-label="Field to sweep"
          size="xs"
          w={280}
          placeholder="fabric.switch.ecn.kmin"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && name.trim() !== '') add();
          }}
        />
        <Button
          variant="default"
          leftSection={<IconPlus size={13} />}
          disabled={name.trim() === ''}
          onClick={add}
        >
          Sweep it
        </Button>
      </Group>
    </section>
  );
}
