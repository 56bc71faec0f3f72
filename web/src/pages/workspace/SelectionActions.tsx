/** Toolbar for the selected trials: compare, tag, delete with undo, restore, clear the selection. */
import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconArrowsDiff, IconRestore, IconTag, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';

import { useDeleting, useRestoring } from '../../api/queries';
import { query } from '../../api/client';
import { problemText } from '../../components/QueryStates';
import { TagDialog } from '../../components/TagDialog';
import type { useSelection } from './useSelection';

interface Props {
  selection: ReturnType<typeof useSelection>;
  deleted: boolean;
}

export function SelectionActions({ selection, deleted }: Props) {
  const [tagging, setTagging] = useState(false);
  const { remove, restore } = useRemoval(selection.clear);
  const { ids } = selection;
  return (
    <Group gap="xs" role="toolbar" aria-label="Selected trials" mih={30}>
      <Text size="sm" className="muted" miw={86}>
        {ids.length === 0 ? 'None selected' : `${ids.length} selected`}
      </Text>
      <Button
        component={Link}
        to={`/compare${query({ trial: ids })}`}
        variant="default"
        leftSection={<IconArrowsDiff size={14} />}
        {...(ids.length < 2 ? { 'data-disabled': true } : {})}
        aria-disabled={ids.length < 2}
        tabIndex={ids.length < 2 ? -1 : 0}
        onClick={(event) => ids.length < 2 && event.preventDefault()}
      >
        Compare
      </Button>
      <Button
        variant="default"
        leftSection={<IconTag size={14} />}
        disabled={ids.length === 0}
        onClick={() => setTagging(true)}
      >
        Tags
      </Button>
      {deleted ? (
        <Button
          variant="default"
          leftSection={<IconRestore size={14} />}
          disabled={ids.length === 0}
          onClick={() => restore([...ids])}
        >
          Restore
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<IconTrash size={14} />}
          disabled={ids.length === 0}
          onClick={() => remove([...ids])}
        >
          Delete
        </Button>
      )}
      <Button variant="subtle" disabled={ids.length === 0} onClick={selection.clear}>
        Clear selection
      </Button>
      {tagging ? <TagDialog ids={[...ids]} onClose={() => setTagging(false)} /> : null}
    </Group>
  );
}

/** Deletion with an undo button in its notification; deleted trials can be restored from their list as well. */
function useRemoval(done: () => void) {
  const deleting = useDeleting();
  const restoring = useRestoring();
  const failed = (error: unknown) =>
    notifications.show({ color: 'red', message: problemText(error).message });
  const restore = (ids: string[]) =>
    restoring.mutate(ids, {
      onSuccess: () => {
        done();
        notifications.show({ message: `Restored ${counted(ids.length)}` });
      },
      onError: failed,
    });
  const remove = (ids: string[]) =>
    deleting.mutate(ids, {
      onSuccess: () => {
        done();
        const notice = `deleted-${ids.join('-')}`;
        const undo = () => {
          notifications.hide(notice);
          restore(ids);
        };
        notifications.show({
          id: notice,
          autoClose: 15_000,
          title: `Deleted ${counted(ids.length)}`,
          message: (
            <Button variant="light" mt={4} onClick={undo}>
              Undo
            </Button>
          ),
        });
      },
      onError: failed,
    });
  return { remove, restore };
}

function counted(count: number) {
  return count === 1 ? '1 trial' : `${count} trials`;
}
