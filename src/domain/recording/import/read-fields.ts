import { isRecord } from '../../is-record.ts';

/** Fields of foreign documents, which may hold anything. */

export function textField(from: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

export function numberField(from: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function listField(from: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  return Array.isArray(value) ? value : [];
}

export function recordsIn(list: readonly unknown[]): readonly Record<string, unknown>[] {
  return list.filter(isRecord);
}
