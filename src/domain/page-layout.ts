/**
 * Compares the layouts of two pages without the pages. The elements of a page (with ids and classes) are a set of
 * hashes; the smallest of them are a fair sample, and two samples show what share of both sets is common. So a badge, a
 * banner or a section that only some items have does not make another layout, whereas a hash over the whole would
 * differ for each combination of them.
 * As text: a name of twelve digits, a colon, then the sample in order. The name is made of the very smallest hashes, so
 * that pages of one layout have few names; failures are counted by it. Older versions stored only a name.
 */
export const SAMPLE_SIZE = 24;
export const HASH_LENGTH = 3;

const NAMING_HASHES = 4;
const NAME_LENGTH = 12;

/** Below this share, two pages may have nothing in common but the frame that a site puts around all its pages. */
const LEAST_SHARE = 0.6;

/** `hashes`: texts of HASH_LENGTH characters. `digest`: at least twelve digits. */
export function encodeLayout(hashes: Iterable<string>, digest: (text: string) => string): string {
  const sample = sampleOf(hashes);
  return `${digest(sample.slice(0, NAMING_HASHES).join('')).slice(0, NAME_LENGTH)}:${sample.join('')}`;
}

export function layoutName(layout: string): string {
  return layout.split(':', 1)[0] ?? layout;
}

export function isSameLayout(one: string | null, other: string | null): boolean {
  if (one === other) return true;
  const [ours, theirs] = [samplePart(one), samplePart(other)];
  if (ours.length === 0 || theirs.length === 0) return false;
  // The smallest of both together are a sample of the union.
  const all = sampleOf([...ours, ...theirs]);
  const common = all.filter((hash) => ours.includes(hash) && theirs.includes(hash));
  return common.length >= LEAST_SHARE * all.length;
}

function sampleOf(hashes: Iterable<string>): readonly string[] {
  return [...new Set(hashes)].sort().slice(0, SAMPLE_SIZE);
}

function samplePart(layout: string | null): readonly string[] {
  const sample = layout?.split(':')[1] ?? '';
  return sample.match(HASHES) ?? [];
}

const HASHES = new RegExp(`.{${HASH_LENGTH}}`, 'g');
