/** Worker of the study: receives tasks and answers each with its outcomes. */
import { parentPort } from 'node:worker_threads';
import { compare, type Task } from './experiment.ts';

parentPort?.on('message', (task: Task) => parentPort?.postMessage(compare(task)));
