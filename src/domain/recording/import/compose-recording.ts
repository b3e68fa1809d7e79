import type { WrittenRecording } from '../recording.ts';
import { nestedSteps, type Step } from '../step.ts';
import { type ImportedParameter, parameterize } from './parameters.ts';
import type { ConvertedSteps } from './step-writer.ts';

export interface ComposeOptions {
  readonly id: string;
  /** Makes placeholders of the values that were typed. */
  readonly parameterize: boolean;
}

/** The recording of these steps. `hosts` are those that it needs besides the ones of its addresses. */
export function composeRecording(
  converted: Pick<ConvertedSteps, 'title' | 'steps' | 'sequences' | 'viewport' | 'stepMs'>,
  parameters: readonly ImportedParameter[],
  options: ComposeOptions,
  hosts: readonly string[] = [],
): WrittenRecording {
  const { title, steps, sequences, viewport, stepMs } = converted;
  const isParameterized = options.parameterize && parameters.length > 0;
  const change = (list: readonly Step[]) => (isParameterized ? parameterize(list, parameters) : list);
  const written = Object.entries(sequences).map(([name, sequence]) => [name, change(sequence)]);
  return {
    id: options.id,
    ...(title === null || title.trim() === '' ? {} : { name: title.trim().slice(0, 200) }),
    version: '1.0.0',
    hosts: [...new Set([...findHosts(steps), ...hosts, ...Object.values(sequences).flatMap(findHosts)])],
    ...(viewport === undefined ? {} : { viewport }),
    ...(stepMs === null ? {} : { timeouts: { stepMs } }),
    steps: [...change(steps)],
    ...(written.length === 0 ? {} : { sequences: Object.fromEntries(written) }),
  };
}

/** Of every address that is written out, pop-ups included. */
function findHosts(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) => {
    const urls = [
      'url' in step && typeof step.url === 'string' ? step.url : '',
      step.type === 'switchTab' && typeof step.to === 'object' && typeof step.to.url === 'string' ? step.to.url : '',
    ];
    const hosts = urls.flatMap((url) => {
      const parsed = URL.parse(url);
      return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.host !== '' ? [parsed.host] : [];
    });
    return [...hosts, ...nestedSteps(step).flatMap(([, inner]) => findHosts(inner))];
  });
}
