import { Button, Modal, Stack, TagsInput } from '@mantine/core';
import { useState } from 'react';

import { useChoices, useTagging } from '../api/queries';
import { DialogFoot } from './DialogButtons';

interface Props {
  ids: string[];
  /** Tags that the trials have and that may be taken away. */
  present?: string[];
  onClose: () => void;
}

/** Adds tags to trials and takes others away. */
export function TagDialog({ ids, present = [], onClose }: Props) {
  const [add, setAdd] = useState<string[]>([]);
  const [remove, setRemove] = useState<string[]>([]);
  const tagging = useTagging();
  const known = useChoices().data?.tag ?? [];
  const save = () => tagging.mutate({ ids, add, remove }, { onSuccess: onClose });
  return (
    <Modal
      opened
      onClose={onClose}
      title={ids.length === 1 ? 'Tags of the trial' : `Tags of ${ids.length} trials`}
    >
      <Stack gap="sm">
        <TagsInput label="Add" data={known} value={add} onChange={setAdd} maxLength={64} data-autofocus />
        <TagsInput
          label="Remove"
          data={present.length > 0 ? present : known}
          value={remove}
          onChange={setRemove}
        />
        <DialogFoot error={tagging.error} onClose={onClose}>
          <Button onClick={save} loading={tagging.isPending} disabled={add.length + remove.length === 0}>
            Save
          </Button>
        </DialogFoot>
      </Stack>
    </Modal>
  );
}
