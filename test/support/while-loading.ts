import { test } from 'node:test';

/**
 * For a file that waits for something between its tests. The tests that were added so far run meanwhile, and if they come to
 * their end first, `node:test` takes the file as done: it runs the hooks for the end of the file, and the services that
 * they stop are missing for the rest. The test that is added here comes first, and lasts until `load` has added all others.
 */
export async function whileLoading(load: () => Promise<void>): Promise<void> {
  const { promise: loaded, resolve, reject } = Promise.withResolvers<void>();
  test('all tests of the file are known', () => loaded);
  try {
    await load();
    resolve();
  } catch (error) {
    reject(error);
    throw error;
  }
}
