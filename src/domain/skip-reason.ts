/**
 * `cached`: there is no need to ask the site. `known-bad`: asking is useless. `robots`: the site does not want to be
 * asked.
 */
export const SKIP_REASONS = ['cached', 'known-bad', 'robots'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

const REASONS: ReadonlySet<unknown> = new Set(SKIP_REASONS);

export function isSkipReason(value: unknown): value is SkipReason {
  return REASONS.has(value);
}
