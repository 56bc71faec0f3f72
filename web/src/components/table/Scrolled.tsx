import type { ReactNode } from 'react';

/** What may be wider than the page, or higher than `most` pixels, scrolled by mouse and keyboard. */
export function Scrolled({ label, most, children }: { label: string; most?: number; children: ReactNode }) {
  return (
    <div
      style={{ overflow: 'auto', maxHeight: most }}
      role="region"
      aria-label={`${label}, scrolled`}
      tabIndex={0}
    >
      {children}
    </div>
  );
}
