import type { ParquetWriter } from 'hyparquet-writer';
import type { ColumnType } from './column-types.ts';
import type { Column } from './columns.ts';

/** The schema of a Parquet file, as a tree. */
export interface SchemaNode {
  readonly element: SchemaElement;
  readonly children: SchemaNode[];
  readonly path: string[];
  /** Nodes of the tree, this one included. */
  readonly count: number;
}

export type SchemaElement = ParquetWriter['schema'][number];

/** From the root to a leaf, for which a file has a column. */
export type LeafPath = readonly SchemaNode[];

export function schemaRoot(columns: readonly Column[]): SchemaNode {
  return nodeOf(
    { name: 'root', num_children: columns.length },
    columns.map(({ name, type }) => typeNode(name, type, [name])),
    [],
  );
}

/** In the order of the file: a node before its children. */
export function elementsOf({ element, children }: SchemaNode): SchemaElement[] {
  return [element, ...children.flatMap(elementsOf)];
}

/** The leaves of one column. */
export function leafPaths(node: SchemaNode, above: LeafPath): readonly LeafPath[] {
  const path = [...above, node];
  return node.children.length === 0 ? [path] : node.children.flatMap((child) => leafPaths(child, path));
}

/** Everything is optional. Lists have the three levels that the format requires and every reader knows. */
function typeNode(name: string, type: ColumnType, path: string[]): SchemaNode {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  if (type === 'number') return nodeOf({ ...optional, type: 'DOUBLE' }, [], path);
  if (type === 'boolean') return nodeOf({ ...optional, type: 'BOOLEAN' }, [], path);
  if (typeof type === 'string') {
    const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
    return nodeOf({ ...optional, ...text }, [], path);
  }
  if ('struct' in type) {
    const fields = Array.from(type.struct, ([field, each]) => typeNode(field, each, [...path, field]));
    return nodeOf({ ...optional, num_children: fields.length }, fields, path);
  }
  const element = typeNode('element', type.list, [...path, 'list', 'element']);
  const repeated = nodeOf({ name: 'list', repetition_type: 'REPEATED', num_children: 1 }, [element], [...path, 'list']);
  const list = { num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } } as const;
  return nodeOf({ ...optional, ...list }, [repeated], path);
}

function nodeOf(element: SchemaElement, children: SchemaNode[], path: string[]): SchemaNode {
  return { element, children, path, count: children.reduce((sum, { count }) => sum + count, 1) };
}
