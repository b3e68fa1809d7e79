import { type Postback, postbackIn } from '../../http/postback.ts';

/** What a small script in an attribute does, as far as it can be told without running it. */
export interface ScriptEffects {
  /** Fields of the form that are given a value, by name or id. */
  readonly assigned: readonly { readonly field: string; readonly value: string }[];
  readonly postback: Postback | null;
  /** Where it leads. */
  readonly address: string | null;
  readonly opensWindow: boolean;
  /** It submits the form, without a button. */
  readonly submits: boolean;
  /** It says that what the element does by itself is not to be done. */
  readonly cancels: boolean;
}

const TEXT = String.raw`(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")`;
const BY_NAME = new RegExp(
  String.raw`(?:\bthis\.form|\btheForm|\bdocument\.\w+|\bforms?\[[^\]]*\]|\bform)\.(?:elements\.)?(\w+)\.value\s*=\s*${TEXT}`,
  'g',
);
const BY_KEY = new RegExp(String.raw`(?:getElementById\(|\belements\[)\s*${TEXT}\s*[)\]]\.value\s*=\s*${TEXT}`, 'g');
const ADDRESS = new RegExp(
  String.raw`\blocation(?:\.href)?\s*=\s*${TEXT}|\blocation\.(?:assign|replace)\(\s*${TEXT}\s*\)`,
);
const WINDOW = new RegExp(String.raw`\bwindow\.open\(\s*${TEXT}`);
const SUBMITS = /\.submit\(\s*\)|\bWebForm_DoPostBackWithOptions\b/;
/** No attribute that a person wrote is longer, and no pattern is tried on more. */
const MAX_LENGTH = 2000;

/**
 * Reads `theForm.hdAction.value='Search';`, `__doPostBack('ctl00$link','')`, `location.href='…'` and the like. Calls of the
 * page's own functions are not known: most check what was filled in, so an element then does what it does by itself.
 */
export function readScript(source: string): ScriptEffects {
  const script = source.slice(0, MAX_LENGTH);
  const assigned: { field: string; value: string }[] = [];
  for (const [, field = '', single, double] of script.matchAll(BY_NAME)) {
    assigned.push({ field, value: unescaped(single ?? double ?? '') });
  }
  for (const [, one, other, single, double] of script.matchAll(BY_KEY)) {
    assigned.push({ field: one ?? other ?? '', value: unescaped(single ?? double ?? '') });
  }
  const opened = WINDOW.exec(script);
  const led = opened ?? ADDRESS.exec(script);
  const address = led === null ? null : unescaped(led.slice(1).find((text) => text !== undefined) ?? '');
  return {
    assigned,
    // In a text of its own, as in setTimeout('__doPostBack(\'list\',\'\')', 0).
    postback: postbackIn(script) ?? postbackIn(script.replaceAll(/\\(['"])/g, '$1')),
    address,
    opensWindow: opened !== null,
    submits: SUBMITS.test(script),
    cancels: /return\s+false\s*;?\s*$/.test(script),
  };
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}
