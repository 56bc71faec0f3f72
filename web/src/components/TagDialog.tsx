/** Dialog that adds tags to trials and removes others. */
import { Button, Modal, Stack, TagsInput } from '@mantine/core';
import { useState } from 'react';

import { useChoices, useTagging } from '../api/queries';
import { DialogButtons } from './DialogButtons';

interface Props {
  ids: string[];
  /** Tags of the trials, offered for removal. */
  present?: string[];
  onClose: () => void;
}

export function TagDialog({ ids, present = [], onClose }: Props) {
  const [add, setAdd] = useState<string[]>([]);
  const [remove, setRemove] = useState<string[]>([]);
  const tagging = useTagging();
  const tags = useChoices().data?.tag ?? [];
  const save = () => tagging.mutate({ ids, add, remove }, { onSuccess: onClose });
  return (
    <Modal
      opened
      onClose={onClose}
      title={ids.length === 1 ? 'Tags of the trial' : `Tags of ${ids.length} trials`}
    >
      <Stack gap="sm">
        <TagsInput label="Add" data={tags} value={add} onChange={setAdd} maxLength={64} data-autofocus />
        <TagsInput
          label="Remove"
          data={present.length > 0 ? present : tags}
          value={remove}
          onChange={setRemove}
        />
        <DialogButtons error={tagging.error} onClose={onClose}>
          <Button onClick={save} loading={tagging.isPending} disabled={add.length + remove.length === 0}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </Modal>
  );
}
