/** Whether something listens on a port of loopback. */
import { connect } from 'node:net';

export const canConnect = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    const end = (isOpen: boolean) => {
      socket.destroy();
      done(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
