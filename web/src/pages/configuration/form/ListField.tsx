/**
 * List of mappings in the plan's form, such as its jobs: a box of fields for each, and buttons that add and remove
 * one.
 */
import { ActionIcon, Button, Group, Stack, Text, Title } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';

import { usePlanForm } from './context';
import type { FieldPath } from '../planYaml';
import { formsOf, resolve, type Schema } from './schema';
import { ObjectFields } from './ObjectFields';
import { UnionControl } from './UnionControl';

interface Props {
  path: FieldPath;
  schema: Schema;
  value: unknown;
}

export function ListField({ path, schema, value }: Props) {
  const { set, explain, errors } = usePlanForm();
  const name = String(path.at(-1)).replaceAll('_', ' ');
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const own = errors.filter((error) => error.field === path.join('.'));
  return (
    <section aria-label={name} onFocus={() => explain({ field: path.join('.'), schema })}>
      <Group justify="space-between" mb={4}>
        <Title order={3}>
          {name}{' '}
          <Text span size="xs" className="muted">
            {items.length}
          </Text>
        </Title>
        <Button
          variant="default"
          leftSection={<IconPlus size={13} />}
          onClick={() => set([...path, items.length], {})}
        >
          Add
        </Button>
      </Group>
      {own.map((error) => (
        <Text key={error.message} size="xs" className="worse" role="alert">
          {error.found ? `found ${error.found}` : error.message}
        </Text>
      ))}
      <Stack gap="xs" mb="xs">
        {items.map((item, index) => (
          <div key={index} className="plan-item">
            <Group justify="space-between" mb={2}>
              <Text size="sm" fw={600}>
                {titleOf(item, index, name)}
              </Text>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove ${name} ${index + 1}`}
                onClick={() => set([...path, index], undefined)}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Group>
            <Item path={[...path, index]} schema={schema.items ?? {}} value={item} />
          </div>
        ))}
      </Stack>
    </section>
  );
}

function titleOf(item: unknown, index: number, name: string) {
  const named = typeof item === 'object' && item !== null && 'name' in item ? item.name : null;
  return typeof named === 'string' ? named : `${name} ${index + 1}`;
}

/** A mapping of the list; if there are several kinds, with a selection of its kind. */
function Item({ path, schema, value }: Props) {
  const { definitions } = usePlanForm();
  const resolved = resolve(schema, definitions);
  const forms = formsOf(resolved, definitions);
  const [only] = forms.objects;
  if (forms.objects.length === 1 && only)
    return <ObjectFields path={path} schema={only.schema} value={value} />;
  return <UnionControl path={path} schema={resolved} forms={forms} value={value} />;
}
