/**
 * How much of something that is long by nature a test does: `npm test` takes the quick size, `npm run test:slow` the
 * whole. Both run the same code, so nothing is skipped; the quick one only sees less of it.
 */
export function sized<T>({ quick, slow }: { readonly quick: T; readonly slow: T }): T {
  return process.env['TEST_SLOW'] === '1' ? slow : quick;
}
