/**
 * Form of a plan: tabs of its sections with counts of errors, the fields of the open section, and the description of
 * the focused field. Fields are located in the plan's JSON Schema by dotted names.
 */
import { Anchor, Badge, Tabs, Text } from '@mantine/core';
import { useState } from 'react';

import { type Help, usePlanForm } from './context';
import { isMissing } from '../planErrors';
import { Field } from './Field';
import { valueAt } from '../planYaml';
import { isWithin } from './ObjectFields';
import { type Schema, resolve } from './schema';
import { type Section, sectionOf, SECTIONS } from './sections';
import { SweptFields } from './SweptFields';

interface Props {
  root: Schema;
  section: string;
  onSection: (key: string) => void;
  help: Help | null;
}

export function PlanFormPanel({ root, section, onSection, help }: Props) {
  const { errors } = usePlanForm();
  const current = SECTIONS.find(({ key }) => key === section) ?? SECTIONS[0];
  const bySection = errors.map((error) => ({ key: sectionOf(error.field)?.key, isWrong: !isMissing(error) }));
  return (
    <section className="panel plan-form" aria-label="Form">
      <Tabs value={current?.key ?? ''} onChange={(key) => onSection(key ?? 'test')}>
        <Tabs.List aria-label="Sections of the plan">
          {SECTIONS.map(({ key, title }) => {
            const own = bySection.filter((each) => each.key === key);
            const isWrong = own.some((each) => each.isWrong);
            return (
              <Tabs.Tab key={key} value={key} px={9} py={8}>
                {title}
                {own.length > 0 ? (
                  <Badge
                    color={isWrong ? 'red' : 'gray'}
                    size="xs"
                    ml={5}
                    aria-label={`${own.length} ${isWrong ? 'errors' : 'missing'}`}
                  >
                    {own.length}
                  </Badge>
                ) : null}
              </Tabs.Tab>
            );
          })}
        </Tabs.List>
        <Tabs.Panel value={current?.key ?? ''} className="plan-fields">
          {current ? <SectionFields key={current.key} section={current} root={root} /> : null}
        </Tabs.Panel>
      </Tabs>
      <HelpText help={help} />
    </section>
  );
}

function SectionFields({ section, root }: { section: Section; root: Schema }) {
  const { errors, fields, revealed } = usePlanForm();
  const isWrong = section.more.some((name) => errors.some((error) => error.field.startsWith(name)));
  const [open, setOpen] = useState(false);
  const all = open || isWrong;
  const isShown = (name: string) =>
    all || isWithin(revealed, name) || valueAt(fields, name.split('.')) !== undefined;
  const shown = [...section.fields, ...section.more.filter(isShown)];
  const hidden = section.fields.length + section.more.length - shown.length;
  return (
    <>
      {shown.map((name) => (
        <NamedField key={name} name={name} root={root} />
      ))}
      {hidden > 0 ? (
        <Anchor component="button" type="button" size="xs" onClick={() => setOpen(true)}>
          {hidden} more fields
        </Anchor>
      ) : null}
    </>
  );
}

/** Control of a field by its dotted name. */
function NamedField({ name, root }: { name: string; root: Schema }) {
  const path = name.split('.');
  const field = schemaAt(root, path);
  if (field !== null && name === 'sweep') return <SweptFields schema={field.schema} />;
  return field === null ? null : <Field path={path} schema={field.schema} required={field.required} />;
}

interface FieldSchema {
  schema: Schema;
  required: boolean;
}

function schemaAt(root: Schema, path: readonly string[]): FieldSchema | null {
  const definitions = root.$defs ?? {};
  let schema: Schema = root;
  let required = false;
  for (const part of path) {
    const owner: Schema = firstObject(resolve(schema, definitions), definitions);
    const next: Schema | undefined = owner.properties?.[part];
    if (next === undefined) return null;
    required = owner.required?.includes(part) ?? false;
    schema = next;
  }
  return { schema, required };
}

/** Mapping among the alternatives of a schema, as of `sweep`, which may also be null. */
function firstObject(schema: Schema, definitions: Record<string, Schema>): Schema {
  const among = (schema.anyOf ?? []).map((each) => resolve(each, definitions));
  return schema.properties ? schema : (among.find((each) => each.properties) ?? schema);
}

function HelpText({ help }: { help: Help | null }) {
  return (
    <div className="plan-help" aria-live="off">
      {help === null ? (
        <Text size="xs" className="muted">
          Focus a field or point at it to see its description here.
        </Text>
      ) : (
        <Text size="xs">
          <b className="mono">{help.field}</b>: {help.schema.description ?? ''}
        </Text>
      )}
    </div>
  );
}
