import { createServer, type Server, type Socket } from 'node:net';

/** What a server does on one connection. It writes bytes, because no library would send most of this. */
export interface Behaviour {
  /** Called when a client connects, before any request. */
  readonly greet?: (line: Line) => unknown;
  /** Called for each request except those to /good, which are answered properly. */
  readonly answer?: (line: Line, path: string) => unknown;
}

/** A connection as its server sees it. Timers on it end with it. */
export class Line {
  readonly socket: Socket;

  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(socket: Socket) {
    this.socket = socket;
    // One for both kinds: Node clears a timer whichever way it was started.
    socket.once('close', () => {
      for (const timer of this.#timers) clearTimeout(timer);
    });
  }

  say(...parts: readonly (string | Uint8Array)[]): this {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(parts.map((part) => Buffer.from(part))));
    return this;
  }

  close(): void {
    this.socket.end();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  every(ms: number, act: () => void): void {
    this.#timers.add(setInterval(act, ms));
  }

  later(ms: number, act: () => void): void {
    this.#timers.add(setTimeout(act, ms));
  }

  /** The same piece again and again, as fast as it is taken. */
  flood(piece: string | Uint8Array): void {
    const bytes = Buffer.from(piece);
    const pour = () => {
      while (!this.socket.destroyed && this.socket.write(bytes));
    };
    this.socket.on('drain', pour);
    pour();
  }
}

export interface HostileServer {
  readonly port: number;
  readonly url: string;
  /** How many connections there have been so far. */
  readonly connections: () => number;
  /** Waits until no client is connected any more. */
  allClosed(): Promise<void>;
  close(): Promise<void>;
}

export async function openHostileServer(behaviour: Behaviour): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    const line = new Line(socket);
    behaviour.greet?.(line);
    listen(socket, (path) => {
      if (path.startsWith('/good')) line.say(good(`good ${path}`));
      else behaviour.answer?.(line, path);
    });
  });
  const port = await listenSomewhere(server);
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    connections: () => connections,
    async allClosed() {
      for (const socket of sockets) if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export async function listenSomewhere(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  return address.port;
}

export function good(body: string | Uint8Array, headers = ''): string {
  const bytes = Buffer.from(body);
  return `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n${bytes.toString()}`;
}

/** Calls with the path of each request. Bodies of requests are short here and of a known length. */
function listen(socket: Socket, onRequest: (path: string) => void): void {
  let heard = '';
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1');
    for (;;) {
      const end = heard.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = heard.slice(0, end);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (heard.length < end + 4 + length) return;
      heard = heard.slice(end + 4 + length);
      onRequest(head.split(' ')[1] ?? '');
    }
  });
}
