import { loadConfig } from '../../config.ts';
import { systemClock } from '../../main/client.ts';
import { EtlTrouble, openEtlRuns } from '../../main/etl-runs.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { endCommand } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { openTerminal, type Terminal } from '../client/terminal.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';

export interface RunsClient extends Terminal {
  readonly runs: ReturnType<typeof openEtlRuns>;
  readonly signal: AbortSignal;
}

/** Runs a command that only talks to the ETL API. */
export async function withRuns(
  options: { readonly json?: true },
  action: (client: RunsClient) => Promise<number>,
): Promise<void> {
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const terminal = openTerminal(systemClock());
  const note = (text: string) => terminal.note(printable(text));
  const runs = openEtlRuns(loadConfig({ logTo: 'stderr' }), stop.signal, note);
  await endCommand(terminal, options, async () => {
    try {
      return await action({ ...terminal, runs, signal: stop.signal });
    } catch (error) {
      if (stop.signal.aborted) throw new CommandFailed('interrupted', EXIT.interrupted);
      if (error instanceof EtlTrouble) throw new CommandFailed(error.message, EXIT.failed);
      throw error;
    }
  });
}
