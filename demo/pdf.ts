/**
 * A small writer of PDF 1.4: text and lines on letter paper, in Helvetica and Courier, which every reader has. Streams
 * are not compressed, so that a test finds the text by looking.
 */
export interface PdfPage {
  readonly marks: readonly Mark[];
}

/** Points from the lower left corner. */
export type Mark =
  | {
      readonly kind: 'text';
      readonly x: number;
      readonly y: number;
      readonly size: number;
      readonly font: FontName;
      readonly text: string;
    }
  | { readonly kind: 'line'; readonly x: number; readonly y: number; readonly toX: number; readonly toY: number };

export type FontName = 'regular' | 'bold' | 'fixed';

const FONTS: Readonly<Record<FontName, { name: string; base: string }>> = {
  regular: { name: 'F1', base: 'Helvetica' },
  bold: { name: 'F2', base: 'Helvetica-Bold' },
  fixed: { name: 'F3', base: 'Courier' },
};

export const PAPER = { width: 612, height: 792 };

export function writePdf(title: string, pages: readonly PdfPage[]): Buffer {
  const fonts = Object.values(FONTS);
  const firstFont = 4;
  const firstPage = firstFont + fonts.length;
  const kids = pages.map((_, index) => `${firstPage + 2 * index} 0 R`);
  const resources = fonts.map(({ name }, index) => `/${name} ${firstFont + index} 0 R`);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} >>`,
    `<< /Title ${literal(title)} /Producer (Alma County Treasurer) /CreationDate (D:20260220080000Z) >>`,
    ...fonts.map(({ base }) => `<< /Type /Font /Subtype /Type1 /BaseFont /${base} /Encoding /WinAnsiEncoding >>`),
    ...pages.flatMap(({ marks }, index) => {
      const content = marks.map(draw).join('\n');
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAPER.width} ${PAPER.height}] /Resources << /Font << ${resources.join(' ')} >> >> /Contents ${firstPage + 2 * index + 1} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  return assemble(objects);
}

/** Every character is one byte here, so that lengths of texts are the offsets that the table wants. */
function assemble(objects: readonly string[]): Buffer {
  // Bytes above 127 in a comment tell those who carry files that this one is not text.
  let file = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n';
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const trailer = `<< /Size ${objects.length + 1} /Root 1 0 R /Info 3 0 R >>`;
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries.join('')}`;
  return Buffer.from(`${file}${table}trailer\n${trailer}\nstartxref\n${file.length}\n%%EOF\n`, 'latin1');
}

function draw(mark: Mark): string {
  if (mark.kind === 'line') return `0.5 w ${mark.x} ${mark.y} m ${mark.toX} ${mark.toY} l S`;
  return `BT /${FONTS[mark.font].name} ${mark.size} Tf ${mark.x} ${mark.y} Td ${literal(mark.text)} Tj ET`;
}

/** WinAnsi is Latin-1 where it matters to us; what it lacks becomes a question mark. */
function literal(text: string): string {
  return `(${text.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '?').replaceAll(/[\\()]/g, '\\$&')})`;
}
