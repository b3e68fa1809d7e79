import type { NewJobRequest } from '../../src/contract/new-job.ts';
import type { Dice } from './dice.ts';

/**
 * The bytes of a request as they come over a slow line: a few fields, items one by one, and the rest of the fields. A
 * sender that dies stops in the middle and says nothing more.
 */
export async function* piecesOf(
  { items = [], ...fields }: NewJobRequest,
  dice: Dice,
  pause: () => Promise<void>,
  dies: boolean,
): AsyncGenerator<Uint8Array> {
  const named = Object.entries(fields).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const before = dice.int(0, named.length);
  const lastBefore = dies ? dice.int(0, items.length) : items.length;
  yield bytes(
    `{${named
      .slice(0, before)
      .map((field) => `${field},`)
      .join('')}"items":[`,
  );
  for (const [index, item] of items.slice(0, lastBefore).entries()) {
    yield bytes(`${index === 0 ? '' : ','}${JSON.stringify(item)}`);
    await pause();
  }
  if (dies) await new Promise(() => {});
  yield bytes(
    `]${named
      .slice(before)
      .map((field) => `,${field}`)
      .join('')}}`,
  );
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}
