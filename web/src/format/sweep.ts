/** The values of the fields that a plan sweeps, in words. */

export type Axes = Record<string, unknown>;

/** Each value with the last part of its field's path, or the whole path where that does not tell fields apart. */
export function axesText(axes: Axes | undefined): string {
  const names = Object.keys(axes ?? {});
  const last = (name: string) => name.split('.').at(-1) ?? name;
  const short = (name: string) =>
    names.filter((other) => last(other) === last(name)).length > 1 ? name : last(name);
  return names.map((name) => `${short(name)} ${axisValue(axes?.[name])}`).join(', ');
}

function axisValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', '');
}

/** What tells a trial from others of its size: its variant unless the plan has none, and its swept values. */
export function caseText(trial: { variant: string; axes?: Axes }): string {
  const variant = trial.variant === 'base' ? '' : trial.variant;
  return [variant, axesText(trial.axes)].filter((part) => part !== '').join(', ');
}

/** The same before what follows it: with a comma, or nothing. */
export function casePrefix(trial: { variant: string; axes?: Axes }): string {
  const text = caseText(trial);
  return text === '' ? '' : `${text}, `;
}
