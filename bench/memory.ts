import { readFileSync } from 'node:fs';

/** Resident memory of a process now and at its highest, in MB, as the kernel counts it. Null once it is gone. */
export function memoryOf(pid: number): { nowMb: number; peakMb: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return { nowMb: Math.round(kilobytes('VmRSS') / 1024), peakMb: Math.round(kilobytes('VmHWM') / 1024) };
  } catch {
    return null;
  }
}

/** The largest of several processes, sampled when asked: a peak must hold for each of them. */
export class MemoryWatch {
  readonly samples: { done: number; controllerMb: number; workersMb: number[] }[] = [];
  peakMb = 0;

  sample(done: number, workers: readonly number[]): void {
    const controller = memoryOf(process.pid);
    const others = workers.map(memoryOf).filter((memory) => memory !== null);
    for (const memory of [controller, ...others]) this.peakMb = Math.max(this.peakMb, memory?.peakMb ?? 0);
    this.samples.push({
      done,
      controllerMb: controller?.nowMb ?? 0,
      workersMb: others.map(({ nowMb }) => nowMb),
    });
  }
}
