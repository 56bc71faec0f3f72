/**
 * Formats numbers as the reports do: counts, significant digits, data sizes (1 KB = 1,024 bytes), file sizes,
 * durations, simulated time, dates.
 */
export const MISSING = '–';

const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Cache of formatters: making one takes a hundred times as long as using it. */
const FORMATTERS = new Map<number, Intl.NumberFormat>();

/** Number with thousands separators and a least and greatest number of decimals. */
function grouped(value: number, least: number, most: number): string {
  const key = least * 100 + most;
  let formatter = FORMATTERS.get(key);
  if (formatter === undefined) {
    formatter = new Intl.NumberFormat('en-US', {
      minimumFractionDigits: least,
      maximumFractionDigits: most,
    });
    FORMATTERS.set(key, formatter);
  }
  return formatter.format(value);
}

/** Number with thousands separators and at most three decimals. */
export function counted(value: number): string {
  return grouped(value, 0, 3);
}

/** A data size as plans write it: 16 MB, 1.5 GB. */
export function dataSize(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return MISSING;
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < SIZE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${significant(value, 4)} ${SIZE_UNITS[unit] ?? 'B'}`;
}

/** At most `digits` significant digits, integers in full, thousands separators. */
export function significant(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  if (value === 0) return '0';
  if (Number.isInteger(value)) return counted(value);
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  const decimals = Math.min(Math.max(digits - whole, 0), 12);
  return grouped(value, 0, decimals);
}

/** Fixed number of decimals, for columns of numbers. */
export function fixed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  return grouped(value, decimals, decimals);
}

export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : counted(Math.round(value));
}

const TIME_UNITS = [
  [1e12, 's'],
  [1e9, 'ms'],
  [1e6, 'us'],
  [1e3, 'ns'],
] as const;

/** Simulated time in the largest unit below the value: 1.25 ms. */
export function simulatedTime(ps: number | null | undefined): string {
  if (ps === null || ps === undefined) return MISSING;
  if (ps === 0) return '0';
  const [factor, unit] = TIME_UNITS.find(([size]) => Math.abs(ps) >= size) ?? [1, 'ps'];
  return `${significant(ps / factor, 5)} ${unit}`;
}

/** Wall-clock seconds: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return MISSING;
  if (seconds < 10) return `${significant(seconds, 2)} s`;
  const all = Math.round(seconds);
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
}

/** Memory and files: decimal units, as operating systems show them. */
export function fileSize(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return MISSING;
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const unit = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${significant(bytes / 1000 ** unit, 3)} ${units[unit] ?? 'B'}`;
}

/** 1.2 M, 350 k. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return MISSING;
  for (const [size, unit] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (Math.abs(value) >= size) return `${significant(value / size, 3)} ${unit}`;
  }
  return significant(value, 3);
}

/** A moment in the reader's own time zone, to the minute or the second. */
export function moment(iso: string | null | undefined, withSeconds = true): string {
  if (!iso) return MISSING;
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const seconds = withSeconds ? `:${two(at.getSeconds())}` : '';
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
}
