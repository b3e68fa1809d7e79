import type { AnswerHead } from '../../egress/web.ts';

const DOCUMENT_KINDS = {
  pdf: { type: 'application/pdf', starts: ['%PDF-'] },
  png: { type: 'image/png', starts: ['\x89PNG\r\n'] },
  jpg: { type: 'image/jpeg', starts: ['\xff\xd8\xff'] },
  gif: { type: 'image/gif', starts: ['GIF87a', 'GIF89a'] },
  tiff: { type: 'image/tiff', starts: ['II*\0', 'MM\0*'] },
  xlsx: { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', starts: ['PK\x03\x04'] },
  docx: { type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', starts: ['PK\x03\x04'] },
  zip: { type: 'application/zip', starts: ['PK\x03\x04', 'PK\x05\x06'] },
  xls: { type: 'application/vnd.ms-excel', starts: ['\xd0\xcf\x11\xe0'] },
  doc: { type: 'application/msword', starts: ['\xd0\xcf\x11\xe0'] },
  csv: { type: 'text/csv', starts: [] },
  json: { type: 'application/json', starts: [] },
  xml: { type: 'application/xml', starts: [] },
  txt: { type: 'text/plain', starts: [] },
} as const satisfies Record<string, { readonly type: string; readonly starts: readonly string[] }>;

export type DocumentKind = keyof typeof DOCUMENT_KINDS;

const ENTRIES = Object.entries(DOCUMENT_KINDS) as [DocumentKind, { type: string; starts: readonly string[] }][];

/** Enough bytes to identify a document. PDF readers look for its signature in as many. */
export const TELLING_BYTES = 1024;

/** Whether these first bytes are those of the requested kind of document; null for `as` accepts anything but a page. */
export function isDocument(start: Buffer, head: AnswerHead, as: DocumentKind | null): boolean {
  if (head.status < 200 || head.status > 299 || start.length === 0) return false;
  const isSigned = kindByStart(start) !== null;
  if (as === null) return isSigned || !isPage(start, head.headers['content-type']);
  // A text has no signature of its own, but must not have that of another kind.
  if (DOCUMENT_KINDS[as].starts.length === 0) return !isSigned && !isPage(start, head.headers['content-type']);
  return beginsAs(start, as);
}

/** The extension of the file, without the dot: by its bytes, its type, its name. */
export function extensionOf(start: Buffer, head: AnswerHead, as: DocumentKind | null): string {
  if (as !== null) return as;
  const type = essenceOf(head.headers['content-type']);
  const byType = ENTRIES.find(([, kind]) => kind.type === type)?.[0] ?? null;
  const byStart = kindByStart(start);
  // Office files are also zip files: only their type distinguishes them.
  if (byStart !== null) return byType !== null && beginsAs(start, byType) ? byType : byStart;
  return byType ?? suffixOf(fileName(head.headers['content-disposition'])) ?? suffixOf(pathOf(head.url)) ?? 'bin';
}

export function contentTypeOf(head: AnswerHead, extension: string): string {
  const known = ENTRIES.find(([kind]) => kind === extension)?.[1].type;
  return known ?? (essenceOf(head.headers['content-type']) || 'application/octet-stream');
}

function kindByStart(start: Buffer): DocumentKind | null {
  const found = ENTRIES.filter(([kind]) => beginsAs(start, kind)).map(([kind]) => kind);
  // Several kinds are zip files, or the format of older Office versions: the plain kind covers them all.
  return found.find((kind) => kind === 'zip') ?? found[0] ?? null;
}

function beginsAs(start: Buffer, as: DocumentKind): boolean {
  const text = start.toString('latin1', 0, TELLING_BYTES);
  // Some servers put white space, or even a stray header, in front of a PDF.
  if (as === 'pdf') return text.includes('%PDF-') && !/^\s*</.test(text);
  return DOCUMENT_KINDS[as].starts.some((sign) => text.startsWith(sign));
}

function isPage(start: Buffer, contentType: string | undefined): boolean {
  if (/html/i.test(contentType ?? '')) return true;
  return /^(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|script|meta)\b/i.test(
    start.toString('latin1', 0, TELLING_BYTES),
  );
}

function essenceOf(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

function fileName(disposition: string | undefined): string {
  return /filename\*?\s*=\s*(?:UTF-8'')?"?([^";]+)/i.exec(disposition ?? '')?.[1]?.trim() ?? '';
}

function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? '';
}

/** Extensions of programs that generate pages are not file types. */
const NO_FILE_TYPE = /^(?:aspx?|ashx|php|jsp|do|cgi|htm|html|dll|cfm)$/;

function suffixOf(name: string): string | null {
  const suffix = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? null;
  return suffix === null || NO_FILE_TYPE.test(suffix) ? null : suffix;
}
