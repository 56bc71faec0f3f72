/** Files to explain: a field for pasted text, an area for dropped files, and the list of files. */
import { ActionIcon, Button, Checkbox, Group, Text, Textarea } from '@mantine/core';
import { IconX } from '@tabler/icons-react';

import type { FileToExplain } from '../../api/queries';
import { FileDrop, fileText } from '../imports/FileDrop';
import { EXPLAIN_LABELS, filesOf, withFiles } from './given';

interface Props {
  files: readonly FileToExplain[];
  text: string;
  onFiles: (files: FileToExplain[]) => void;
  onText: (text: string) => void;
}

export function FilesPanel({ files, text, onFiles, onText }: Props) {
  const addText = () => {
    onFiles(filesOf(files, text));
    onText('');
  };
  return (
    <FileDrop multiple status="or drop them here" onFiles={(added) => onFiles(withFiles(files, added))}>
      <Textarea
        label="Paste"
        description="Output of nccl-tests, perftest or OSU, NCCL's log; counters, config_db.json, a plan, NCCL's graphs"
        rows={7}
        spellCheck={false}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        styles={{
          input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12, whiteSpace: 'pre' },
        }}
      />
      <Group gap="xs" my={8}>
        <Button variant="default" disabled={text.trim() === ''} onClick={addText}>
          Paste another
        </Button>
      </Group>
      {files.map((each) => (
        <FileRow
          key={each.file.name}
          each={each}
          onChange={(earlier) =>
            onFiles(files.map((other) => (other === each ? { ...other, earlier } : other)))
          }
          onRemove={() => onFiles(files.filter((other) => other !== each))}
        />
      ))}
    </FileDrop>
  );
}

interface RowProps {
  each: FileToExplain;
  onChange: (earlier: boolean) => void;
  onRemove: () => void;
}

function FileRow({ each: { file, earlier }, onChange, onRemove }: RowProps) {
  return (
    <Group gap="xs" wrap="nowrap" mb={6} justify="space-between">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" truncate title={file.name}>
          {fileText(file)}
        </Text>
        <Checkbox
          size="xs"
          label={EXPLAIN_LABELS.before}
          checked={earlier}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      </div>
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${file.name}`} onClick={onRemove}>
        <IconX size={15} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
