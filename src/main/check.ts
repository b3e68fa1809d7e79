/** One thing that `trawl doctor` checked. A result other than `ok` comes with advice. */
export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warning' | 'problem';
  readonly message: string;
  readonly advice?: string;
}

/** How `trawl doctor` checks. */
export interface InspectOptions {
  /** Create what is missing first, and report that too. */
  readonly create: boolean;
  /** Skip checks that need the network. */
  readonly offline: boolean;
}

export function ok(name: string, message: string): Check {
  return { name, result: 'ok', message };
}

export function warning(name: string, message: string, advice: string): Check {
  return { name, result: 'warning', message, advice };
}

export function problem(name: string, message: string, advice: string): Check {
  return { name, result: 'problem', message, advice };
}
