import { readFileSync, writeFileSync } from 'node:fs';
import { SETTINGS, type Setting } from '../src/domain/settings.ts';

/** Writes the table of configuration.md from the settings that the code reads. A test fails when it is out of date. */

export const COMMAND = 'node docs/generate-settings.ts';

export const PAGE = new URL('configuration.md', import.meta.url);

/** The page with the table as it should be; the text around it is written by hand. */
export function settingsPage(page: string): string {
  const [before, rest] = divide(page, '| setting | default | what it is |\n');
  const [, after] = divide(rest, '\n\n');
  return `${before}${settingsTable()}\n\n${after}`;
}

function settingsTable(): string {
  const rows = Object.values<Setting<unknown>>(SETTINGS).map(
    (setting) => `| \`${setting.variable}\` | ${defaultOf(setting)} | ${setting.about} |`,
  );
  return ['| setting | default | what it is |', '|---|---|---|', ...rows].join('\n');
}

function defaultOf({ byDefault, fallback }: Setting<unknown>): string {
  if (byDefault !== undefined) return byDefault;
  if (typeof fallback === 'number') return String(fallback);
  return typeof fallback === 'string' && fallback !== '' ? `\`${fallback}\`` : 'none';
}

function divide(text: string, at: string): [before: string, after: string] {
  const index = text.indexOf(at);
  if (index < 0) throw new Error(`configuration.md has no ${JSON.stringify(at)}`);
  return [text.slice(0, index), text.slice(index + at.length)];
}

if (import.meta.main) writeFileSync(PAGE, settingsPage(readFileSync(PAGE, 'utf8')));
