import { createHash } from 'node:crypto';
import type { FormCharset } from './form-charset.ts';
import type { ButtonControl, ChosenFile, Control } from './form-controls.ts';

/** A form's content on its way out: names and values, in order. */
export type Entry = readonly [name: string, value: string | typeof NO_FILE | ChosenFile];

/** The content of a file field when no file was chosen. */
const NO_FILE = Symbol('no file');

/** The entries of the controls that are sent, as browsers choose them; `pressed` is the button, if one was pressed. */
export function entriesOf(controls: readonly Control[], pressed: ButtonControl | null): Entry[] {
  const entries: Entry[] = [];
  for (const control of controls) {
    if (control.disabled) continue;
    if (control.kind === 'image' && control === pressed) {
      // Where it was clicked. If the button has no name, neither do these.
      const prefix = control.name === '' ? '' : `${control.name}.`;
      entries.push([`${prefix}x`, '0'], [`${prefix}y`, '0']);
    } else if (control.name !== '') entries.push(...namedEntries(control, pressed));
  }
  return entries;
}

function namedEntries(control: Control, pressed: ButtonControl | null): Entry[] {
  const { name } = control;
  switch (control.kind) {
    case 'text':
      return [[name, control.value]];
    case 'checkbox':
    case 'radio':
      return control.checked ? [[name, control.value]] : [];
    case 'select':
      return control.options
        .filter(({ selected, disabled }) => selected && !disabled)
        .map(({ value }): Entry => [name, value]);
    case 'submit':
      return control === pressed ? [[name, control.value]] : [];
    case 'file':
      return control.files.length === 0 ? [[name, NO_FILE]] : control.files.map((file): Entry => [name, file]);
    case 'image':
    case 'button':
      return [];
  }
}

export type Encoding = 'application/x-www-form-urlencoded' | 'multipart/form-data' | 'text/plain';

export function encodingNamed(name: string | undefined): Encoding {
  const lower = name?.trim().toLowerCase();
  return lower === 'multipart/form-data' || lower === 'text/plain' ? lower : 'application/x-www-form-urlencoded';
}

export function encodeBody(
  entries: readonly Entry[],
  encoding: Encoding,
  charset: FormCharset,
): { contentType: string; body: Uint8Array } {
  switch (encoding) {
    case 'application/x-www-form-urlencoded':
      return { contentType: encoding, body: Buffer.from(urlEncoded(entries, charset)) };
    case 'text/plain': {
      const lines = plain(entries, charset).map(([name, value]) => `${name}=${value}\r\n`);
      return { contentType: encoding, body: charset.bytes(lines.join('')) };
    }
    case 'multipart/form-data':
      return multipart(entries, charset);
  }
}

export function urlEncoded(entries: readonly Entry[], charset: FormCharset): string {
  return charset.urlEncode(plain(entries, charset));
}

function plain(entries: readonly Entry[], charset: FormCharset): [string, string][] {
  return entries.map(([name, value]) => [withLineEnds(name), textOf(name, value, charset)]);
}

/** A field with this name tells the server which charset the others use. */
function textOf(name: string, value: Entry[1], charset: FormCharset): string {
  if (value === NO_FILE) return '';
  // Of a form that is not sent as multipart, browsers send the name alone.
  if (typeof value === 'object') return value.name;
  return value === '' && name.toLowerCase() === '_charset_' ? charset.name : withLineEnds(value);
}

function multipart(entries: readonly Entry[], charset: FormCharset): { contentType: string; body: Uint8Array } {
  const parts = entries.map(([name, value]) => part(name, value, charset));
  // Derived from the content, so that the content cannot contain it, and the same form gives the same bytes.
  const hash = createHash('sha256');
  for (const bytes of parts) hash.update(bytes).update('\0');
  const boundary = `----WebKitFormBoundary${hash.digest('hex').slice(0, 16)}`;
  const start = Buffer.from(`--${boundary}\r\n`);
  const body = Buffer.concat([...parts.flatMap((bytes) => [start, bytes]), Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

function part(name: string, value: Entry[1], charset: FormCharset): Uint8Array {
  const head = `Content-Disposition: form-data; name="${escapeName(name)}"`;
  if (value === NO_FILE) {
    return charset.bytes(`${head}; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n`);
  }
  if (typeof value === 'string') return charset.bytes(`${head}\r\n\r\n${textOf(name, value, charset)}\r\n`);
  const about = `; filename="${escapeName(value.name)}"\r\nContent-Type: ${value.contentType}\r\n\r\n`;
  return Buffer.concat([charset.bytes(head + about), value.bytes, Buffer.from('\r\n')]);
}

function escapeName(name: string): string {
  return withLineEnds(name).replaceAll('\r\n', '%0D%0A').replaceAll('"', '%22');
}

/** On the wire a line ends in CR LF, whatever the page has. */
function withLineEnds(text: string): string {
  return text.replaceAll(/\r\n|\r|\n/g, '\r\n');
}
