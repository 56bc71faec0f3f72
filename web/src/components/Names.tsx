/** The first names of a list in a sentence; a button with the number of the others opens a table of all. */
import { Button, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Fragment } from 'react';
import { Link } from 'react-router';

import { DataTable, Scrolled } from './table/DataTable';

/** Number of names in a sentence. */
const SHOWN = 5;

interface Props {
  /** Name of the list, such as "flows". */
  label: string;
  names: readonly string[];
  /** Address of the page about a name; null if there is none. */
  linkOf?: (name: string) => string | null;
}

export function Names({ label, names, linkOf = () => null }: Props) {
  const [opened, dialog] = useDisclosure(false);
  const shown = names.slice(0, SHOWN);
  const more = names.length - shown.length;
  const cell = (name: string) => {
    const address = linkOf(name);
    return address === null ? name : <Link to={address}>{name}</Link>;
  };
  return (
    <>
      {shown.map((name, index) => (
        <Fragment key={`${name} ${index}`}>
          {index === 0 ? '' : ', '}
          {cell(name)}
        </Fragment>
      ))}
      {more > 0 ? (
        <>
          {' '}
          <Button variant="transparent" size="compact-xs" px={0} onClick={dialog.open}>
            and {more} more
          </Button>
          <Modal opened={opened} onClose={dialog.close} title={`${label}: ${names.length}`}>
            <Scrolled label={label} heightMax={480}>
              <DataTable label={label} columns={[{ title: label, cell }]} rows={names} />
            </Scrolled>
          </Modal>
        </>
      ) : null}
    </>
  );
}
