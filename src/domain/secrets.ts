/** Secrets of scrapers, by name: their values, and how they are kept out of every text that leaves the process. */
export interface Secrets {
  /** False if nothing has to be masked: then a page need not even be read for it. */
  readonly hasAny: boolean;
  /** Null if there is no secret of this name. */
  find(name: string): string | null;
  /** The text with each secret's value replaced by its name, however the value is encoded there. */
  mask(text: string): string;
}

/** `county_key` is `TRAWL_SECRET_COUNTY_KEY` in the environment. */
const SECRET_NAME = /^[a-z][a-z0-9_]{0,62}$/;

export const SECRET_PREFIX = 'TRAWL_SECRET_';

/** A shorter value would occur in many texts by chance, and be masked there. */
export const MIN_SECRET_LENGTH = 6;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

export function secretVariable(name: string): string {
  return `${SECRET_PREFIX}${name.toUpperCase()}`;
}

/** Replaces a secret in a text. None of these characters is encoded in a URL, a form or JSON. */
function secretMask(name: string): string {
  return `***${name}***`;
}

export class SecretBook implements Secrets {
  readonly #values: ReadonlyMap<string, string>;
  /** Longest first, so that a whole secret is found before another one that is part of it. */
  readonly #forms: readonly (readonly [form: string, mask: string])[];

  /** `others` are masked, but not available to scrapers. */
  constructor(values: ReadonlyMap<string, string>, others: ReadonlyMap<string, string> = new Map()) {
    this.#values = values;
    this.#forms = [...values, ...others]
      .flatMap(([name, value]) => formsOf(value).map((form) => [form, secretMask(name)] as const))
      .sort(([one], [other]) => other.length - one.length);
  }

  get hasAny(): boolean {
    return this.#forms.length > 0;
  }

  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  find(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  mask(text: string): string {
    let masked = text;
    for (const [form, mask] of this.#forms) if (masked.includes(form)) masked = masked.replaceAll(form, mask);
    return masked;
  }
}

export const NO_SECRETS: Secrets = { hasAny: false, find: () => null, mask: (text) => text };

/**
 * Secrets for a run without a site: every name exists, and its value is its mask. So a request equals the recorded one,
 * in which the real value was masked.
 */
export function maskedSecrets(): Secrets {
  let book = new SecretBook(new Map());
  return {
    get hasAny() {
      return book.hasAny;
    },
    find(name) {
      if (!book.names.includes(name)) {
        book = new SecretBook(new Map([...book.names, name].map((each) => [each, secretMask(each)])));
      }
      return book.find(name);
    },
    mask: (text) => book.mask(text),
  };
}

/**
 * The forms in which a value may appear in a text: as it is, in a URL, a form, JSON, HTML, or as part of something in
 * Base64.
 */
function formsOf(value: string): readonly string[] {
  const inUrl = [
    ...[encodeURIComponent(value), new URLSearchParams([['', value]]).toString().slice(1), encodeURI(value)],
    ...inWesternForm(value),
  ];
  const written = [
    value,
    ...inUrl,
    ...inUrl.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    JSON.stringify(value).slice(1, -1),
    value.replaceAll(/[&<>"']/g, (character) => HTML[character] ?? character),
    ...inBase64(value),
  ];
  return [...new Set(written)].filter((form) => form.length >= MIN_SECRET_LENGTH);
}

/** As a form in ISO 8859-1 or windows-1252 is sent: `ö` is `%F6` there. For other charsets, only ASCII is covered. */
function inWesternForm(value: string): readonly string[] {
  if (!/[\u00a0-\u00ff]/.test(value) || /[^\0-\u00ff]/.test(value)) return [];
  const escaped = value.replaceAll(/[^A-Za-z0-9*._ -]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, '0')}`;
  });
  return [escaped.replaceAll(' ', '+'), escaped.replaceAll(' ', '%20')];
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * Three bytes make four characters, so that a value looks different depending on how many bytes precede it, such as the
 * password in `user:password` of a Basic header. Characters that depend on neighbouring bytes are left out.
 */
function inBase64(value: string): readonly string[] {
  const bytes = String.fromCharCode(...new TextEncoder().encode(value));
  const parts = [0, 1, 2].map((before) => {
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    return btoa('\0'.repeat(before) + bytes).slice(from, to);
  });
  const alone = btoa(bytes);
  const forms = [alone, alone.replaceAll('=', ''), ...parts];
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** Reads lines `name=value`, or a JSON object; returns the values by name, and what is wrong with the text. */
export function parseSecrets(text: string): {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: string[];
} {
  const values = new Map<string, string>();
  const problems: string[] = [];
  const entries = text.trimStart().startsWith('{') ? jsonEntries(text) : lineEntries(text);
  if (entries === null) return { values, problems: ['is not a JSON object with texts as values'] };
  for (const { where, name, value } of entries) {
    const problem = value === null ? 'is not name=value' : secretProblem(name, value);
    if (problem !== null) problems.push(`${where}: ${problem}`);
    else if (value !== null) values.set(name, value);
  }
  return { values, problems };
}

interface Entry {
  /**
   * Where it is in the text, for a person. A line is identified by its number: a value alone may look like a name, such
   * as `aGVsbG8=`.
   */
  readonly where: string;
  readonly name: string;
  /** Null for a line without `=`. */
  readonly value: string | null;
}

/** Null if a secret can have this name and value. */
export function secretProblem(name: string, value: string): string | null {
  if (!isSecretName(name)) return 'the name of a secret is letters, digits and underscores, and begins with a letter';
  if (value.length >= MIN_SECRET_LENGTH) return null;
  return `the value is too short to be masked: it needs at least ${MIN_SECRET_LENGTH} characters`;
}

function jsonEntries(text: string): readonly Entry[] | null {
  try {
    const entries = Object.entries<unknown>(JSON.parse(text));
    if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return null;
    return entries.map(([given, value]) => ({ where: given.slice(0, 64), name: given.toLowerCase(), value }));
  } catch {
    return null;
  }
}

function lineEntries(text: string): readonly Entry[] {
  return text.split(/\r?\n/).flatMap((line, index): Entry[] => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    const where = `line ${index + 1}`;
    const at = trimmed.indexOf('=');
    if (at < 0) return [{ where, name: '', value: null }];
    const name = trimmed.slice(0, at).trim().toLowerCase();
    return [{ where, name, value: withoutQuotes(trimmed.slice(at + 1).trim()) }];
  });
}

function withoutQuotes(value: string): string {
  return /^(["']).*\1$/.test(value) && value.length >= 2 ? value.slice(1, -1) : value;
}
