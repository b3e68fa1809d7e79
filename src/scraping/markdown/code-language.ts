/** `language-js`, `lang-js`, `highlight-python3`, `highlight-source-shell`, `brush: js`. */
const PREFIXED = /^(?:language|lang|highlight-source|highlight-text|highlight|brush|sourcecode|src)[-:_](.+)$/;
/** Names of languages that occur as a separate class, next to one of these. */
const BESIDE = new Set([
  'hljs',
  'sourcecode',
  'programlisting',
  'prettyprint',
  'shiki',
  'code',
  'rust-example-rendered',
]);
export const LANGUAGE_NAMES: ReadonlySet<string> = new Set([
  ...[
    'rust',
    'python',
    'javascript',
    'js',
    'typescript',
    'ts',
    'java',
    'c',
    'cpp',
    'go',
    'ruby',
    'bash',
    'sh',
    'shell',
    'sql',
    'json',
  ],
  ...[
    'yaml',
    'toml',
    'xml',
    'html',
    'css',
    'php',
    'perl',
    'kotlin',
    'swift',
    'scala',
    'haskell',
    'lua',
    'r',
    'ini',
    'diff',
    'makefile',
  ],
  ...['console', 'csharp', 'dockerfile', 'nginx', 'graphql', 'markdown', 'plaintext'],
]);
/** Names used only by Sphinx, and those that mean no language. */
const ALIASES: Readonly<Record<string, string>> = {
  default: '',
  none: '',
  notranslate: '',
  plaintext: 'text',
  python3: 'python',
  ipython3: 'python',
  ipython: 'python',
  ps1con: 'powershell',
};

/** The language that the classes of a code block name; empty for none. */
export function readLanguage(names: readonly string[]): string {
  for (const name of names) {
    const language = PREFIXED.exec(name)?.[1];
    if (language !== undefined) return cleanLanguage(language);
  }
  if (names.includes('rust')) return 'rust';
  if (!names.some((name) => BESIDE.has(name))) return '';
  return cleanLanguage(names.find((name) => LANGUAGE_NAMES.has(name)) ?? '');
}

/** What may follow a fence. */
export function cleanLanguage(name: string): string {
  const language = /^[\w+#.-]{1,40}/.exec(name.trim().toLowerCase())?.[0] ?? '';
  return Object.hasOwn(ALIASES, language) ? (ALIASES[language] ?? '') : language;
}
