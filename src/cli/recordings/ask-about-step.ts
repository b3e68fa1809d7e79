import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import type { PauseAnswer, StepPause } from '../../domain/recording/step-pause.ts';
import { printable } from '../format.ts';

const QUESTION = 'Enter repeats the step, s skips it, q ends the run: ';

/** Asks in a terminal. The end of the input means to quit. */
export function askAboutStep(input: Readable, output: Writable): StepPause {
  return async ({ message }) => {
    output.write(`paused: ${printable(message, 1000)}\n`);
    // Line by line, so that the terminal itself makes a signal of Ctrl-C.
    const lines = createInterface({ input, terminal: false });
    try {
      output.write(QUESTION);
      for await (const line of lines) {
        const answer = readAnswer(line);
        if (answer !== null) return answer;
        output.write(QUESTION);
      }
      return 'quit';
    } finally {
      lines.close();
    }
  };
}

function readAnswer(line: string): PauseAnswer | null {
  switch (line.trim().toLowerCase()) {
    case '':
    case 'r':
    case 'retry':
      return 'retry';
    case 's':
    case 'skip':
      return 'skip';
    case 'q':
    case 'quit':
      return 'quit';
    default:
      return null;
  }
}
