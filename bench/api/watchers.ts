import { connect, type Socket } from 'node:net';

/** Starts watchers that read what comes and do nothing with it. Answers how to end them, and how much they got. */
export async function openWatchers(url: string, jobId: string, count: number) {
  const { hostname, port } = new URL(url);
  let bytes = 0;
  const sockets = await Promise.all(
    Array.from({ length: count }, () => {
      return new Promise<Socket>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(`GET /jobs/${jobId}/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
        });
        socket.on('data', (chunk) => {
          bytes += chunk.length;
          resolve(socket);
        });
        socket.on('error', reject);
      });
    }),
  );
  return {
    bytes: () => bytes,
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
