import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A server on one of the many addresses that every machine has for itself. */
export interface Site {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Answers every request with a small page, after this many milliseconds. */
export async function openHealthySite(address: string, pageMs: number): Promise<Site> {
  const server = createHttpServer((request, response) => {
    setTimeout(() => response.end(`<title>${request.url}</title>`), pageMs);
  });
  return listen(server, address);
}

/** Takes every connection and never says anything, on all addresses that begin with 127. */
export async function openHangingSite(): Promise<Site> {
  return listen(createServer(), '0.0.0.0');
}

async function listen(server: Server, address: string): Promise<Site> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, address, MAX_WAITING, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address,
    port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Connections that the system keeps until the process takes them. */
const MAX_WAITING = 4096;
