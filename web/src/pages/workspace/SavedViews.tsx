/** Menu of saved views: applies, saves and deletes named filters, orders and layouts of the list of trials. */
import { Button, Menu, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBookmark, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';

import { useViewDeleting, useViews, useViewSaving } from '../../api/queries';
import { DialogButtons } from '../../components/DialogButtons';
import type { useSearch } from '../../components/useSearch';
import { NO_SETTINGS, sameSettings, type ViewSettings, viewSettings } from './filters';

const NAME_LENGTH_MAX = 64;

export function SavedViews({ search, change }: ReturnType<typeof useSearch>) {
  const views = useViews().data?.views ?? [];
  const deleting = useViewDeleting();
  const [saving, dialog] = useDisclosure(false);
  const settings = viewSettings(search);
  const current = views.find((view) => sameSettings(view.asked, settings));
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
            <Menu.Item key={view.name} onClick={() => change({ ...NO_SETTINGS, ...view.asked })}>
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
              Delete view {current.name}
            </Menu.Item>
          ) : null}
        </Menu.Dropdown>
      </Menu>
      {saving ? (
        <SaveDialog
          settings={settings}
          names={views.map(({ name }) => name)}
          start={current?.name ?? ''}
          onClose={dialog.close}
        />
      ) : null}
    </>
  );
}

interface SaveProps {
  settings: ViewSettings;
  names: readonly string[];
  start: string;
  onClose: () => void;
}

function SaveDialog({ settings, names, start, onClose }: SaveProps) {
  const [typed, setTyped] = useState(start);
  const saving = useViewSaving();
  const name = typed.trim();
  const save = () => saving.mutate({ name, asked: settings }, { onSuccess: onClose });
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
            {names.includes(name) ? 'It replaces the view of this name. ' : ''}
            Filters, order and layout are stored; the trials are loaded each time.
          </Text>
          <DialogButtons error={saving.error} onClose={onClose}>
            <Button type="submit" loading={saving.isPending} disabled={name === ''}>
              Save
            </Button>
          </DialogButtons>
        </Stack>
      </form>
    </Modal>
  );
}
