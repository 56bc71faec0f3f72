import type { Fault } from '../../api/types';

/** Whether a field is only not filled in yet, which is nothing wrong. */
export function isNeeded(error: Fault): boolean {
  return error.found.startsWith('nothing, and it has no default');
}

/** The part of a message that is about the value; the field and the line are told by where it stands. */
export function errorText(error: Fault): string {
  if (isNeeded(error)) return 'is needed';
  const text = error.message
    .replace(/^(plan(:\d+)?|the request): /, '')
    .replace(/^[\w.-]+: (?=found|allowed)/, '');
  return error.hint ? `${text} (${error.hint.replaceAll('`', '')})` : text;
}
