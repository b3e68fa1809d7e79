import { ConfigError } from '../config.ts';
import { formatOfName } from '../contract/item-formats.ts';
import { readItems, UnreadableItems } from '../controller/intake/read-items.ts';

/** Items out of bytes, in the format that the name of `file` says; `name` is for the message if they cannot be read. */
export async function* readItemsOf(bytes: AsyncIterable<Uint8Array>, name: string, file: string | null) {
  try {
    for await (const { items, bad } of readItems(bytes, file === null ? null : formatOfName(file))) {
      yield { items: items.map(({ item }) => item), bad };
    }
  } catch (error) {
    throw error instanceof UnreadableItems ? new ConfigError(`${name}: ${error.message}`) : error;
  }
}
