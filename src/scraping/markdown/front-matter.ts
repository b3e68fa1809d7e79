/** Double quotes of YAML are those of JSON. */
export function writeFrontMatter(title: string, source: string): string {
  return `---\ntitle: ${JSON.stringify(title)}\nsource: ${JSON.stringify(source)}\n---\n\n`;
}
