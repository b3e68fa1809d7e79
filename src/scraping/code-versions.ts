/** As many digits as `git` shows of a commit at least; two edits of one scraper are never confused by them in practice. */
const SHOWN_DIGITS = 7;

/**
 * Names the code that runs. A scraper's `version` is its author's name for the code, and the first code that a process
 * loads under it uses it unchanged. Different code under the same name is another version, which results must
 * distinguish: `1.0.0+3f2a91c`, as semantic versioning writes the build of a version.
 */
export class CodeVersions {
  readonly #first = new Map<string, string>();

  /** `code` is null if it is unknown. */
  nameOf({ id, version }: { readonly id: string; readonly version: string }, code: string | null): string {
    if (code === null) return version;
    const key = `${id} ${version}`;
    const first = this.#first.get(key) ?? code;
    this.#first.set(key, first);
    return first === code ? version : `${version}${version.includes('+') ? '.' : '+'}${code.slice(0, SHOWN_DIGITS)}`;
  }
}
