import type { ClientClock } from '../../contract/client/client-clock.ts';
import { ProgressDisplay, type ProgressSource, type Screen } from '../progress-display.ts';
import { Output } from './output.ts';

/** Where a command writes. */
export interface Terminal {
  /** For the answer. */
  readonly out: Output;
  /** For everything else: a line on stderr, above the progress that is shown there. */
  note(text: string): void;
  /** Shows progress on stderr until it is stopped; one at a time. */
  show(look: ProgressSource): ProgressDisplay;
}

export function openTerminal(clock: Pick<ClientClock, 'sleep'>, screen: Screen = process.stderr): Terminal {
  let shown: ProgressDisplay | null = null;
  return {
    out: new Output(),
    note(text) {
      if (shown === null) screen.write(`${text}\n`);
      else shown.note(text);
    },
    show(look) {
      const onStop = () => {
        shown = null;
      };
      shown = new ProgressDisplay({ screen, clock, look, onStop });
      return shown;
    },
  };
}
