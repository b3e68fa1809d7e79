import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that are not fully answered yet. */
export class UnderWay {
  readonly #sockets = new Map<ServerResponse, Socket>();
  #waiting: (() => void)[] = [];

  begin(socket: Socket, response: ServerResponse): void {
    this.#sockets.set(response, socket);
    // Emitted once, whether the answer was sent or the connection broke.
    response.once('close', () => {
      this.#sockets.delete(response);
      if (this.#sockets.size > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  /** Resolves when there are none. */
  ended(): Promise<void> {
    if (this.#sockets.size === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  cutOff(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}
