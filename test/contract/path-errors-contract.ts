import assert from 'node:assert/strict';
import { ERROR_EXPIRY_MS, isKnownBad } from '../../src/domain/path-errors.ts';
import type { PathErrorBook } from '../../src/ports/path-errors.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface PathErrorParts {
  readonly pathErrors: PathErrorBook;
}

/** Everything that the comments of `ports/path-errors.ts` promise. `open` makes one without failures. */
export function pathErrorsContract(
  name: string,
  open: () => Promise<Opened<PathErrorParts>>,
  options: SuiteOptions = {},
): void {
  suite<PathErrorParts>(`failures of pages on ${name}`, open, options, (add) => {
    const page = { site: 'docs', path: '/a?b=1' };
    const failed = (at: number, of = page) => ({ kind: 'failed', page: of, error: `at ${at}`, at }) as const;

    add('failures are counted by page, and forgotten when it is cleared', async ({ pathErrors }) => {
      assert.deepEqual(await pathErrors.look([page]), [null]);
      await pathErrors.note([failed(NOW)]);
      await pathErrors.note([failed(NOW + 1)]);
      const [errors] = await pathErrors.note([failed(NOW + 2)]);
      assert.deepEqual(errors, { ...page, count: 3, lastError: `at ${NOW + 2}`, failedAt: NOW + 2 });
      const others = [
        { site: 'docs', path: '/a' },
        { site: 'other', path: '/a?b=1' },
        { site: 'docs', path: '' },
      ];
      assert.deepEqual(await pathErrors.look([...others, page]), [null, null, null, errors]);
      assert.equal(isKnownBad(errors, NOW + 2), true);
      assert.equal(isKnownBad(errors, NOW + 2 + ERROR_EXPIRY_MS), false);
      assert.deepEqual(await pathErrors.note([{ kind: 'cleared', page }]), [null]);
      assert.deepEqual(await pathErrors.note([{ kind: 'cleared', page }]), [null]);
      assert.deepEqual(await pathErrors.look([page]), [null]);
    });

    add('failures at the same time are all counted', async ({ pathErrors }) => {
      await Promise.all([1, 2, 3, 4].map((n) => pathErrors.note([failed(NOW + n)])));
      await pathErrors.note([failed(NOW), failed(NOW)]);
      const [errors] = await pathErrors.look([page]);
      assert.deepEqual([errors?.count, errors?.failedAt], [6, NOW + 4]);
    });

    add('pages are listed by site, in parts, and a site is removed by itself', async ({ pathErrors }) => {
      const pages = ['a', 'b'].flatMap((site) => ['', '/1', '/2'].map((path) => ({ site, path })));
      await pathErrors.note(pages.map((each) => failed(NOW, each)));
      const first = await pathErrors.list({ site: null, after: null, limit: 4 });
      const second = await pathErrors.list({ site: null, after: first.next, limit: 4 });
      const names = [...first.errors, ...second.errors].map(({ site, path }) => ({ site, path }));
      assert.deepEqual(names, pages);
      assert.equal(second.next, null);
      assert.equal(await pathErrors.removeSite('a'), 3);
      assert.equal(await pathErrors.removeSite('a'), 0);
      const left = await pathErrors.list({ site: null, after: null, limit: 9 });
      assert.deepEqual(
        left.errors.map(({ site }) => site),
        ['b', 'b', 'b'],
      );
      assert.deepEqual((await pathErrors.list({ site: 'a', after: null, limit: 9 })).errors, []);
    });
  });
}
