/**
 * What the client commands need: they talk to the API and start nothing here, so that they do not load what an engine is
 * made of.
 */
export { systemClock } from './adapters/system/clock.ts';
export type {
  AddedAnswer,
  ChangesAnswer,
  CreatedAnswer,
  ExtractedAnswer,
  FailureGroupAnswer,
  FailuresAnswer,
  ItemAnswer,
  ItemDetailAnswer,
  ItemPageAnswer,
  JobAnswer,
  JobPageAnswer,
  JobStatusAnswer,
  JobSummaryAnswer,
  ProblemAnswer,
  ResultPartAnswer,
  ResultsAnswer,
  RetriedAnswer,
  SummaryAnswer,
} from './contract/answers.ts';
export type { HostAnswer, HostsAnswer, LiftedAnswer } from './contract/service-answers.ts';
export { formatOfName } from './controller/intake/read-items.ts';
export type { Clock } from './ports/clock.ts';
