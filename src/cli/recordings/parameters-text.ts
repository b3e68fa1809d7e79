import type { ImportedParameter } from '../../domain/recording/import/parameters.ts';
import { printable } from '../format.ts';

/** Typed values that may be others for each item, a line each. */
export function parametersText(parameters: readonly ImportedParameter[], isParameterized: boolean): readonly string[] {
  if (parameters.length === 0) return [];
  return [
    isParameterized ? 'made placeholders of:' : 'look like inputs (--parameterize makes placeholders of them):',
    ...parameters.map(
      ({ step, value, name }) => `  step ${step}: ${printable(JSON.stringify(value), 100)} as {{input.${name}}}`,
    ),
  ];
}
