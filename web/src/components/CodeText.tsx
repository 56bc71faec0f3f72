/** Text in which parts between backticks are set as code. */
import { Code } from '@mantine/core';

export function CodeText({ text }: { text: string }) {
  return (
    <>{text.split('`').map((part, index) => (index % 2 === 1 ? <Code key={index}>{part}</Code> : part))}</>
  );
}
