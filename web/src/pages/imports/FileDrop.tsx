import { Button, FileButton, Group, Text } from '@mantine/core';
import { IconFileText } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';

import { fileSize } from '../../format/numbers';

interface Props {
  file: File | null;
  onFile: (file: File | null) => void;
}

/** A place to drop a file on, with a button that chooses one. */
export function FileDrop({ file, onFile }: Props) {
  const [over, setOver] = useState(false);
  const forget = useRef<() => void>(null);
  // Otherwise a file that was mended cannot be chosen again: the button holds that it has been.
  const choose = (chosen: File | null) => {
    onFile(chosen);
    forget.current?.();
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
        <FileButton onChange={choose} resetRef={forget}>
          {(props) => <Button {...props}>Choose a file</Button>}
        </FileButton>
        <Text size="sm" role="status">
          {file === null ? 'or drop one here' : `${file.name}, ${fileSize(file.size)}`}
        </Text>
      </Group>
    </section>
  );
}
