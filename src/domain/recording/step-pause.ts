/** A step that has failed while someone watches. */
interface PausedStep {
  /** `4`, or `4.then.2`. */
  readonly path: string;
  /** Names the step: `step 4, click "Search": none of 3 selectors matched`. */
  readonly message: string;
}

/** `retry`: repeat the step. `skip`: go on as if it had been done, for instance by hand. `quit`: fail. */
export type PauseAnswer = 'retry' | 'skip' | 'quit';

/** Asks what to do about it. The page stays as it is until there is an answer. */
export type StepPause = (failed: PausedStep) => Promise<PauseAnswer>;
