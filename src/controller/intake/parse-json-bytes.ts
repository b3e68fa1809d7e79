import { errorMessage } from '../../domain/error-message.ts';
import { isNestedTooDeep, NESTED_TOO_DEEP } from '../../domain/storable-input.ts';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

export const NOT_UTF8 = 'is not UTF-8: save the file in that encoding';

/**
 * Parses a JSON value from bytes, or says what is wrong with them; `problem` continues a sentence after the name of the
 * value.
 */
export function parseJsonBytes(bytes: Uint8Array): { readonly value: unknown } | { readonly problem: string } {
  if (isNestedTooDeep(bytes)) return { problem: NESTED_TOO_DEEP };
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    return { problem: `it ${NOT_UTF8}` };
  }
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `it is not valid JSON (${errorMessage(error)})` };
  }
}
