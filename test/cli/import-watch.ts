import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Loaded before anything else, in every process and thread of a command: writes down each file that is imported. */
const list = process.env['TRAWL_TEST_IMPORTS'];

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    if (list !== undefined) appendFileSync(list, `${resolved.url}\n`);
    return resolved;
  },
});
