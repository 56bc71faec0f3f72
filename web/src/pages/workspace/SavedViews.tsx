/** Saved views: keeps the list as it is under a name, and brings one back. The command line has the same. */
import { Button, Menu, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBookmark, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';

import { useViewDeleting, useViews, useViewSaving } from '../../api/queries';
import { DialogFoot } from '../../components/DialogButtons';
import type { useSearch } from '../../components/useSearch';
import { askedOf, NOTHING_ASKED, sameAsked } from './filters';

const NAME_LENGTH_MAX = 64;

export function Views({ search, change }: ReturnType<typeof useSearch>) {
  const views = useViews().data?.views ?? [];
  const deleting = useViewDeleting();
  const [saving, dialog] = useDisclosure(false);
  const asked = askedOf(search);
  const current = views.find((view) => sameAsked(view.asked, asked));
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" leftSection={<IconBookmark size={14} />}>
            {current ? `View: ${current.name}` : 'Views'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.length > 0 ? <Menu.Label>Saved views</Menu.Label> : null}
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => change({ ...NOTHING_ASKED, ...view.asked })}>
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<IconBookmark size={14} />} onClick={dialog.open}>
            Save this list…
          </Menu.Item>
          {current ? (
            <Menu.Item
              color="red"
              leftSection={<IconTrash size={14} />}
              onClick={() => deleting.mutate(current.name)}
            >
              Forget view {current.name}
            </Menu.Item>
          ) : null}
        </Menu.Dropdown>
      </Menu>
      {saving ? (
        <SaveDialog
          asked={asked}
          names={views.map(({ name }) => name)}
          start={current?.name ?? ''}
          onClose={dialog.close}
        />
      ) : null}
    </>
  );
}

interface SaveProps {
  asked: ReturnType<typeof askedOf>;
  names: readonly string[];
  start: string;
  onClose: () => void;
}

function SaveDialog({ asked, names, start, onClose }: SaveProps) {
  const [typed, setTyped] = useState(start);
  const saving = useViewSaving();
  const name = typed.trim();
  const save = () => saving.mutate({ name, asked }, { onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title="Save this list as a view">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== '') save();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            value={typed}
            maxLength={NAME_LENGTH_MAX}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
          />
          <Text size="sm" className="muted">
            {names.includes(name) ? 'It takes the place of the view of this name. ' : ''}
            Filters, order and layout are kept; the trials are looked up each time.
          </Text>
          <DialogFoot error={saving.error} onClose={onClose}>
            <Button type="submit" loading={saving.isPending} disabled={name === ''}>
              Save
            </Button>
          </DialogFoot>
        </Stack>
      </form>
    </Modal>
  );
}
