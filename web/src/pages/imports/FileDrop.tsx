/** Area on which the user drops files, with a button that selects them, and a status such as name and size. */
import { Button, FileButton, Group, Text } from '@mantine/core';
import { IconFileText } from '@tabler/icons-react';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';

import { fileSize } from '../../format/numbers';

interface Props {
  /** Whether several files can be selected at once. */
  multiple?: boolean;
  status: string;
  onFiles: (files: File[]) => void;
  /** Other inputs within the area. */
  children?: ReactNode;
}

export function FileDrop({ multiple = false, status, onFiles, children }: Props) {
  const [over, setOver] = useState(false);
  const resetButton = useRef<() => void>(null);
  // Without a reset the button ignores a corrected file of the same name.
  const select = (selected: File | File[] | null) => {
    onFiles(selected === null ? [] : [selected].flat());
    resetButton.current?.();
  };
  const hover = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFiles([...event.dataTransfer.files].slice(0, multiple ? undefined : 1));
  };
  return (
    <section
      className="panel drop"
      aria-label={multiple ? 'Files' : 'File'}
      data-over={over}
      onDragOver={hover}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {children}
      <Group gap="sm">
        <IconFileText size={22} stroke={1.5} aria-hidden />
        <FileButton onChange={select} resetRef={resetButton} multiple={multiple}>
          {(props) => (
            <Button {...props} variant={multiple ? 'default' : 'filled'}>
              {multiple ? 'Choose files' : 'Choose a file'}
            </Button>
          )}
        </FileButton>
        <Text size="sm" role="status">
          {status}
        </Text>
      </Group>
    </section>
  );
}

/** Name and size of a file. */
export function fileText({ name, size }: File): string {
  return `${name}, ${fileSize(size)}`;
}
