/** Texts of likely causes: names of causes, fraction of the lost time. */

const ABBREVIATIONS = /\b(acs|ecn|gdr|gpu|mtu|nic|numa|p2p|pcie|pfc)\b/g;

/** `hash-collision` is "Hash collision", `ecn-too-eager` "ECN too eager". */
export function causeTitle(cause: string): string {
  const words = cause
    .replaceAll('-', ' ')
    .replaceAll(ABBREVIATIONS, (word) => (word === 'pcie' ? 'PCIe' : word.toUpperCase()));
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Fraction of the lost time that a cause explains [%]. */
export function explainedText(percent: number): string {
  if (percent === 0) return 'explains nothing beyond the causes above';
  return `explains ${percent < 1 ? 'less than 1' : percent.toFixed(0)} % of the lost time`;
}
