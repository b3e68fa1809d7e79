import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

/** What an adapter is exempt from: the name of the case, and why. */
export interface SuiteOptions {
  readonly exempt?: Readonly<Record<string, string>>;
}

/** A case that waits for what never comes fails by this, and does not hang the whole run. */
const LONGEST_MS = 120_000;

export type Opened<Parts> = Parts & { close(): void | Promise<void> };

/** Registers a case: it gets a fresh, empty adapter, which is closed whatever happens. */
export type AddCase<Parts> = (name: string, body: (parts: Parts) => Promise<void>) => void;

/**
 * A contract suite: cases that every adapter of a port must pass. An exemption that names no case is a mistake, and
 * fails.
 */
export function suite<Parts>(
  title: string,
  open: () => Promise<Opened<Parts>>,
  { exempt = {} }: SuiteOptions,
  addCases: (add: AddCase<Parts>) => void,
): void {
  describe(title, () => {
    const unused = new Set(Object.keys(exempt));
    addCases((name, body) => {
      unused.delete(name);
      const reason = exempt[name];
      test(name, { timeout: LONGEST_MS, ...(reason === undefined ? {} : { skip: reason }) }, async () => {
        const opened = await open();
        try {
          await body(opened);
        } finally {
          await opened.close();
        }
      });
    });
    after(() => assert.deepEqual([...unused], [], 'exemptions that name no case'));
  });
}
