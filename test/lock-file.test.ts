import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly resolved?: string;
  /** It lies inside the package that needs it, and is not installed by itself. */
  readonly inBundle?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

for (const file of ['package-lock.json', 'bench/package-lock.json']) {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'),
  );

  test(`${file} names packages of every platform, because npm ci refuses one that does not`, () => {
    // npm leaves out what the registry at hand does not have; then nobody on another registry can install.
    const missing = Object.entries(packages).flatMap(([name, { optionalDependencies = {}, inBundle = false }]) =>
      Object.keys(optionalDependencies)
        .filter((needed) => !inBundle && packages[`node_modules/${needed}`] === undefined)
        .map((needed) => `${name} needs ${needed}`),
    );
    assert.deepEqual(missing, []);
  });

  test(`${file} holds no address of a registry`, () => {
    assert.deepEqual(
      Object.keys(packages).filter((name) => packages[name]?.resolved !== undefined),
      [],
    );
  });
}
