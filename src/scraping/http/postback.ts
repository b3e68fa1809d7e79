/** What a WebForms page does when one of its links is clicked: it sends its form back with the name of the link in it. */
export interface Postback {
  readonly target: string;
  readonly argument: string;
}

const TEXT = String.raw`\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*`;
const PLAIN = new RegExp(String.raw`__doPostBack\(${TEXT}(?:,${TEXT})?\)`);
const WITH_OPTIONS = new RegExp(String.raw`WebForm_PostBackOptions\(${TEXT},${TEXT}`);

/** The postback in a script: `javascript:__doPostBack('ctl00$link','page$2')`. Null if there is none. */
export function postbackIn(script: string): Postback | null {
  const found = PLAIN.exec(script) ?? WITH_OPTIONS.exec(script);
  if (found === null) return null;
  const [, target, targetToo, argument, argumentToo] = found;
  return { target: unescaped(target ?? targetToo ?? ''), argument: unescaped(argument ?? argumentToo ?? '') };
}

export const TARGET_FIELD = '__EVENTTARGET';
export const ARGUMENT_FIELD = '__EVENTARGUMENT';

/** As scripts write text: `\'`, `\\`, `\x27`, `\u0027`. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:x([\da-f]{2})|u([\da-f]{4})|([\s\S]))/gi, (_, hex, unicode, plain) =>
    plain === undefined ? String.fromCharCode(Number.parseInt(hex ?? unicode, 16)) : plain,
  );
}
