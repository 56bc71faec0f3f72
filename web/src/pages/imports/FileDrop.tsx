/** Area on which the user drops a file, with a button that selects one, its name and size. */
import { Button, FileButton, Group, Text } from '@mantine/core';
import { IconFileText } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';

import { fileSize } from '../../format/numbers';

interface Props {
  file: File | null;
  onFile: (file: File | null) => void;
}

export function FileDrop({ file, onFile }: Props) {
  const [over, setOver] = useState(false);
  const resetButton = useRef<() => void>(null);
  // Without a reset the button ignores a corrected file of the same name.
  const select = (selected: File | null) => {
    onFile(selected);
    resetButton.current?.();
  };
  const hover = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files[0] ?? null);
  };
  return (
    <section
      className="panel drop"
      aria-label="File"
      data-over={over}
      onDragOver={hover}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Group gap="sm">
        <IconFileText size={22} stroke={1.5} aria-hidden />
        <FileButton onChange={select} resetRef={resetButton}>
          {(props) => <Button {...props}>Choose a file</Button>}
        </FileButton>
        <Text size="sm" role="status">
          {file === null ? 'or drop one here' : `${file.name}, ${fileSize(file.size)}`}
        </Text>
      </Group>
    </section>
  );
}
