/**
 * Texts of the errors of a plan's check, for form and editor; recognises errors that only mean an empty required
 * field.
 */
import type { Fault } from '../../api/types';

/** Whether a required field is empty, which is shown as a note. */
export function isMissing(error: Fault): boolean {
  return error.found.startsWith('nothing, and it has no default');
}

/** Message about the value, without the field and line, which its position on the page shows. */
export function errorText(error: Fault): string {
  if (isMissing(error)) return 'is needed';
  const text = error.message
    .replace(/^(plan(:\d+)?|the request): /, '')
    .replace(/^[\w.-]+: (?=found|allowed)/, '');
  return error.hint ? `${text} (${error.hint.replaceAll('`', '')})` : text;
}
