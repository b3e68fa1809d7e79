import type { Element, ParentNode } from 'domhandler';
import type { BlockWriter } from './block-writer.ts';
import type { ClassBook } from './class-hints.ts';
import type { Footnotes } from './footnotes.ts';
import type { InlineWriter } from './inline-writer.ts';

/** What the writers of single kinds of blocks need of the conversion. */
export interface Conversion {
  readonly out: BlockWriter;
  readonly inline: InlineWriter;
  readonly classes: ClassBook;
  readonly notes: Footnotes;
  /** In a heading or a cell: everything becomes one line. */
  readonly isFlat: boolean;
  /** Writes the children of a node. */
  walk(node: ParentNode): void;
  /** Writes one element. */
  element(element: Element): void;
  /** The beginning or the end of a block: the text so far becomes a paragraph. */
  edge(): void;
  /** The content of an element in one line, in which `lineBreak` separates blocks. */
  flatten(element: Element, lineBreak: string): string;
  isLeftOut(element: Element): boolean;
}
