/** What the command line answers to a shell (SPEC §5). */
export const EXIT = {
  done: 0,
  someItemsFailed: 1,
  badUsage: 2,
  failed: 3,
  interrupted: 130,
} as const;
