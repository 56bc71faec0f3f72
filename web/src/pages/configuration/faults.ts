import type { Fault } from '../../api/types';

/** The part of a message that is about the value; the field and the line are told by where it stands. */
export function errorText(error: Fault): string {
  if (error.found.startsWith('nothing, and it has no default')) return 'is needed';
  const text = error.message
    .replace(/^(plan(:\d+)?|the request): /, '')
    .replace(/^[\w.-]+: (?=found|allowed)/, '');
  return error.hint ? `${text} (${error.hint.replaceAll('`', '')})` : text;
}
