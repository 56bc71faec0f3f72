/**
 * One field of the plan's form: label with unit, control for the kinds of values that the schema allows, reset button
 * and errors. Mappings become a group of fields, lists of mappings a ListField.
 */
import { ActionIcon, Text } from '@mantine/core';
import { IconArrowBackUp } from '@tabler/icons-react';
import type { ReactNode } from 'react';

import { usePlanForm } from './context';
import { errorText, isMissing } from '../planErrors';
import { ListField } from './ListField';
import { ObjectFields } from './ObjectFields';
import { type FieldPath, valueAt } from '../planYaml';
import { type Forms, formsOf, resolve, type Schema, unitOf } from './schema';
import { ScalarControl } from './ScalarControl';
import { UnionControl } from './UnionControl';

interface Props {
  path: FieldPath;
  schema: Schema;
  required?: boolean;
}

export function Field({ path, schema, required = false }: Props) {
  const { definitions, fields } = usePlanForm();
  const resolved = resolve(schema, definitions);
  const forms = formsOf(resolved, definitions);
  const value = valueAt(fields, path);
  const props = { path, schema: resolved, forms, value };
  if (isPlainObject(forms)) {
    return (
      <Group path={path} schema={resolved}>
        <ObjectFields path={path} schema={forms.objects[0]?.schema ?? resolved} value={value} />
      </Group>
    );
  }
  if (isObjectList(forms, resolved, definitions))
    return <ListField path={path} schema={resolved} value={value} />;
  return (
    <Row path={path} schema={resolved} required={required} isSet={value !== undefined}>
      {forms.list === null && forms.objects.length === 0 ? (
        <ScalarControl {...props} />
      ) : (
        <UnionControl {...props} />
      )}
    </Row>
  );
}

function isPlainObject({ objects, options, text, list }: Forms) {
  const [only] = objects;
  const isForm = only?.kind === null && only.schema.properties !== undefined;
  return objects.length === 1 && isForm && options.length === 0 && text === null && list === null;
}

function isObjectList(forms: Forms, schema: Schema, definitions: Record<string, Schema>) {
  if (forms.list === null || forms.options.length + forms.objects.length > 0 || forms.text !== null)
    return false;
  const items = forms.list.items;
  return schema.type === 'array' && items !== undefined && formsOf(items, definitions).objects.length > 0;
}

function Group({ path, schema, children }: { path: FieldPath; schema: Schema; children: ReactNode }) {
  const { explain } = usePlanForm();
  return (
    <fieldset className="plan-group" onFocus={() => explain({ field: path.join('.'), schema })}>
      <legend title={schema.description}>{labelOf(path)}</legend>
      <FieldErrors field={path.join('.')} />
      {children}
    </fieldset>
  );
}

interface RowProps extends Props {
  isSet: boolean;
  children: ReactNode;
}

function Row({ path, schema, required, isSet, children }: RowProps) {
  const { set, explain } = usePlanForm();
  const field = path.join('.');
  const unit = unitOf(schema);
  return (
    <div
      className="plan-row"
      data-field={field}
      onFocus={() => explain({ field, schema })}
      onMouseEnter={() => explain({ field, schema })}
    >
      <label htmlFor={`field-${field}`} className={isSet ? 'plan-label set' : 'plan-label'}>
        {labelOf(path)}
        {required ? (
          <span className="worse" aria-hidden>
            {' '}
            *
          </span>
        ) : null}
        {unit === '' ? null : <span className="muted"> [{unit}]</span>}
      </label>
      <div>
        {children}
        <FieldErrors field={field} />
      </div>
      {isSet && !required ? (
        <ActionIcon
          variant="subtle"
          color="gray"
          size={24}
          mt={3}
          aria-label={`Set ${field} back to its default`}
          title="Back to the default"
          onClick={() => set(path, undefined)}
        >
          <IconArrowBackUp size={14} />
        </ActionIcon>
      ) : (
        <span />
      )}
    </div>
  );
}

/** Errors of the server about exactly this field. */
function FieldErrors({ field }: { field: string }) {
  const { errors } = usePlanForm();
  const own = errors.filter((error) => error.field === field);
  return own.map((error) => (
    <Text
      key={error.message}
      size="xs"
      className={isMissing(error) ? 'muted' : 'worse'}
      role={isMissing(error) ? 'note' : 'alert'}
      mt={2}
    >
      {errorText(error)}
    </Text>
  ));
}

function labelOf(path: FieldPath): string {
  return String(path.at(-1)).replaceAll('_', ' ');
}
