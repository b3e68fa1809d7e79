/** A simple description of elements: any of these names, ids, classes or roles. */
export interface Elements {
  readonly names?: readonly string[];
  readonly ids?: readonly string[];
  readonly classes?: readonly string[];
  readonly roles?: readonly string[];
}

/** A package of documentation, and a description by hand of its pages' content, unknown to the converters. */
export interface Corpus {
  /** Name of the Debian package. The pages may be in one that it depends on. */
  readonly package: string;
  /** Names of the packages that hold pages. */
  readonly holds: RegExp;
  /** Which of the files below `usr/share/doc` are pages. */
  readonly pages: RegExp;
  readonly content: Elements;
  /** What is inside of the content element, and not content: navigation, and signs beside headings. */
  readonly outside: Elements;
}

export const CORPORA: readonly Corpus[] = [
  {
    // Sphinx.
    package: 'python3-doc',
    holds: /^python3\.\d+-doc$/,
    pages: /^python3\.\d+\/html\/.*\.html$/,
    content: { roles: ['main'] },
    outside: { classes: ['headerlink'], names: ['nav'] },
  },
  {
    // DocBook.
    package: 'postgresql-doc',
    holds: /^postgresql-doc-\d+$/,
    pages: /^postgresql-doc-\d+\/html\/.*\.html$/,
    content: { names: ['body'] },
    outside: { classes: ['navheader', 'navfooter'] },
  },
  {
    // Asciidoc.
    package: 'git-doc',
    holds: /^git-doc$/,
    pages: /^git-doc\/.*\.html$/,
    content: { names: ['body'] },
    outside: { ids: ['footer'] },
  },
  {
    // Publican, in Latin letters, from right to left, and without spaces between words.
    package: 'debian-handbook',
    holds: /^debian-handbook$/,
    pages: /^debian-handbook\/html\/(?:en-US|ar-MA|ja-JP|zh-CN)\/.*\.html$/,
    content: { names: ['body'] },
    outside: { ids: ['banner', 'title'], classes: ['docnav'] },
  },
];
