import { z } from 'zod';
import { type JobSeen, MARKS, MAX_PAUSES, type Seen, type SeenSecond } from './compliance.ts';

/**
 * What was seen at a host, as a text of a few hundred bytes, which is stored with every report. Times are written as
 * their distance from the previous one, or from the beginning of their second.
 */
export function seenToText({ pauses, jobs }: Seen): string {
  const packed: Packed = [
    pauses.map(([from, until]) => [from, until - from]),
    [...jobs].map(([id, job]) => [id, ...packJob(job)]),
  ];
  return JSON.stringify(packed);
}

/** Null if it is not such a text. */
export function seenFromText(text: string): Seen | null {
  const parsed = packedSchema.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const [pauses, jobs] = parsed.data;
  return {
    pauses: pauses.map(([from, ms]) => [from, from + ms]),
    jobs: new Map(jobs.map(([id, ...job]) => [id, unpackJob(job)])),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const whole = z.int().min(0);
/** A time in milliseconds; clocks may have fractions of one. */
const ms = z.number().min(0);
const maybe = ms.nullable();

const secondSchema = z.tuple([whole, whole, whole, whole, whole, maybe, z.array(ms).max(MARKS)]);

const worstSchema = z.tuple([whole, whole, whole, whole, maybe, whole, maybe]);

const jobSchema = z.tuple([whole, worstSchema, maybe, z.array(z.tuple([whole, whole])), z.array(secondSchema)]);

const packedSchema = z.tuple([
  z.array(z.tuple([ms, ms])).max(MAX_PAUSES),
  z.array(z.tuple([z.string().max(1000), ...jobSchema.def.items])),
]);

type Packed = z.infer<typeof packedSchema>;
type PackedJob = z.infer<typeof jobSchema>;
type PackedSecond = z.infer<typeof secondSchema>;

function packJob(job: JobSeen): PackedJob {
  const { requests, worst, lastStartAt, tail, seconds } = job;
  const { perSecond, perTenSeconds, atLeastConcurrent, atMostConcurrent, gapMs, duringPause, afterPauseMs } = worst;
  return [
    requests,
    [perSecond, perTenSeconds, atLeastConcurrent, atMostConcurrent, gapMs, duringPause, afterPauseMs],
    lastStartAt,
    distances(tail.map(([at]) => at)).map((distance, at) => [distance, tail[at]?.[1] ?? 0]),
    distances(seconds.map(({ at }) => at)).map((distance, at) => packSecond(distance, seconds[at] as SeenSecond)),
  ];
}

function packSecond(distance: number, second: SeenSecond): PackedSecond {
  const { at, starts, peak, solo, carried, gapMs, marks } = second;
  return [distance, starts, peak, solo, carried, gapMs, marks.map((mark) => mark - at * 1000)];
}

function unpackJob([requests, worst, lastStartAt, tail, seconds]: PackedJob): JobSeen {
  const [perSecond, perTenSeconds, atLeastConcurrent, atMostConcurrent, gapMs, duringPause, afterPauseMs] = worst;
  const tailTimes = places(tail.map(([distance]) => distance));
  const times = places(seconds.map(([distance]) => distance));
  return {
    requests,
    lastStartAt,
    worst: { perSecond, perTenSeconds, atLeastConcurrent, atMostConcurrent, gapMs, duringPause, afterPauseMs },
    tail: tail.map(([, starts], at) => [tailTimes[at] ?? 0, starts]),
    seconds: seconds.map((second, at) => unpackSecond(times[at] ?? 0, second)),
  };
}

function unpackSecond(at: number, [, starts, peak, solo, carried, gapMs, marks]: PackedSecond): SeenSecond {
  return { at, starts, peak, solo, carried, gapMs, marks: marks.map((mark) => mark + at * 1000) };
}

function distances(times: readonly number[]): readonly number[] {
  return times.map((time, at) => time - (times[at - 1] ?? 0));
}

function places(distances: readonly number[]): readonly number[] {
  let place = 0;
  return distances.map((distance) => {
    place += distance;
    return place;
  });
}
