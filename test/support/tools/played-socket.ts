/** A browser's WebSocket, whose server the test plays. */
export function playedSocket() {
  const listeners = new Map<string, (event: { data: unknown }) => void>();
  const texts: string[] = [];
  const binaries: Uint8Array[] = [];
  const socket = {
    ...{ readyState: 1, binaryType: 'blob', isClosed: false, closeCode: 0 },
    addEventListener(type: string, listener: (event: { data: unknown }) => void) {
      listeners.set(type, listener);
    },
    send(data: string | Uint8Array) {
      if (typeof data === 'string') texts.push(data);
      else binaries.push(data);
    },
    close(code: number) {
      socket.isClosed = true;
      socket.closeCode = code;
    },
  };
  const fire = (type: string, data?: unknown) => listeners.get(type)?.({ data });
  return {
    socket,
    texts,
    binaries,
    fire,
    server: (message: object) => fire('message', JSON.stringify(message)),
  };
}
