import asyncHooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/**
 * Loaded before the test files (`node-test` in package.json). `node:test` must know which test is running when an error
 * goes unhandled or `after` is called. It finds out by following every promise of the process with a hook, which takes a
 * third of the time of tests that consist of promises, such as the simulation. Async context answers the same question at
 * next to no cost. Without this file the tests behave the same and take longer.
 *
 * The runner looks up `executionAsyncId()` in a map that its hook fills. Here the hook is only called with the tests
 * themselves, when they start, and everything that a test starts has the id of the test.
 */
const running = new AsyncLocalStorage<number>();
const { executionAsyncId } = asyncHooks;
const { runInAsyncScope } = AsyncResource.prototype;
let init: asyncHooks.HookCallbacks['init'];

asyncHooks.executionAsyncId = () => running.getStore() ?? executionAsyncId();

asyncHooks.createHook = (callbacks) => {
  init = callbacks.init;
  const hook: asyncHooks.AsyncHook = { enable: () => hook, disable: () => hook };
  return hook;
};

AsyncResource.prototype.runInAsyncScope = function run(work, self, ...args) {
  // Tests are the only resources that have these.
  if (!('subtests' in this)) return Reflect.apply(runInAsyncScope, this, [work, self, ...args]);
  const id = this.asyncId();
  init?.(id, 'Test', 0, this);
  const asTest = () => running.run(id, () => Reflect.apply(work, self as object, args));
  return Reflect.apply(runInAsyncScope, this, [asTest]);
};

// Processes that tests start with their own flags have no tests.
const flag = process.execArgv.findIndex((argument) => argument.endsWith('follow-tests.ts'));
if (process.execArgv[flag]?.startsWith('-')) process.execArgv.splice(flag, 1);
else if (flag > 0) process.execArgv.splice(flag - 1, 2);
