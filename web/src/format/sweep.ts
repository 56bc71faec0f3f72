/**
 * Texts that identify a trial among those of its run: variant of the plan and values of swept parameters, such as
 * `dcqcn, kmin 100KB`.
 */
export type Axes = Record<string, unknown>;

/** Each value with the last part of its field's path, or the whole path where last parts are equal. */
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

/** Variant, unless it is the base, and swept values: identifies a trial among those of its size. */
export function caseText(trial: { variant: string; axes?: Axes }): string {
  const variant = trial.variant === 'base' ? '' : trial.variant;
  return [variant, axesText(trial.axes)].filter((part) => part !== '').join(', ');
}

/** The same as a prefix, with a comma, or empty. */
export function casePrefix(trial: { variant: string; axes?: Axes }): string {
  const text = caseText(trial);
  return text === '' ? '' : `${text}, `;
}

/** Heading of a dimension of a run: the last part of each field's path, "Variant", "Data size". */
export function fieldTitle(name: string): string {
  const short = name
    .split(' / ')
    .map((field) => field.split('.').at(-1) ?? field)
    .join(' / ');
  return short.charAt(0).toUpperCase() + short.slice(1);
}
