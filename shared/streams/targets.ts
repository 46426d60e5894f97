/** Targets of channels: output of services, commands, files and ports of containers, and their bounds. */
import * as z from 'zod';
import { requestHeadSchema } from './app-heads.ts';

/** The most bytes in transit in one direction of a channel at first, and later (P251, window.ts). */
export const WINDOW_BYTES = 64 * 1024;
export const MAX_WINDOW_BYTES = 4 * 2 ** 20;
/** Largest payload of a chunk, in bytes. */
export const CHUNK_BYTES = 64 * 1024;
/** Channels to output on one connection, and as many to everything else. The agent resets further ones. */
export const MAX_CHANNELS = 256;
/** Words of a command, and their characters together. A Linux kernel takes 2 MiB at most. */
export const MAX_EXEC_WORDS = 4_096;
export const MAX_EXEC_LENGTH = 128 * 1024;

/** The bit above tells the last chunk of a direction (codec.ts). */
export const MAX_CHANNEL_NUMBER = 2 ** 31 - 1;
/** In messages between control plane and agents. */
export const channelNumber = z.int().min(0).max(MAX_CHANNEL_NUMBER);
export const channelBytes = z.int().positive().max(MAX_WINDOW_BYTES);

/** Most last lines of a log that can be requested (P193). */
export const MAX_TAIL_LINES = 10_000;

/** How output is rendered. `usage` is not the output, but what the start used (P228). */
export const logFormatSchema = z.enum(['raw', 'timestamps', 'usage']);
export type LogFormat = z.infer<typeof logFormatSchema>;

/** Which part of the output: by default all, followed to its end (P193). */
const logPartSchema = z.object({
  /** False: what there is at present. */
  follow: z.boolean().optional(),
  /** From so many lines before the present end on, in place of the offset. */
  tail: z.int().positive().max(MAX_TAIL_LINES).optional(),
});
export type LogPart = z.infer<typeof logPartSchema>;

/** The output of a start, as frames (log-frames.ts), from `offset` on: 0, or the position after a frame. */
export const outputSchema = logPartSchema.extend({
  kind: z.literal('output'),
  offset: z.int().nonnegative(),
  format: logFormatSchema,
});
export type OutputTarget = z.infer<typeof outputSchema>;

const cells = z.int().min(1).max(10_000);

export const terminalSizeSchema = z.object({ columns: cells, rows: cells });
export type TerminalSize = z.infer<typeof terminalSizeSchema>;

/** Signals that a client may send to a command. */
export const streamSignals = ['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2', 'WINCH'] as const;
export type StreamSignal = (typeof streamSignals)[number];

/** A command in the container. Must never be logged, because its words may hold secrets. */
export const execSchema = z.object({
  kind: z.literal('exec'),
  words: z
    .array(z.string().max(MAX_EXEC_LENGTH))
    .min(1)
    .max(MAX_EXEC_WORDS)
    .refine((words) => words.reduce((sum, word) => sum + word.length, 0) <= MAX_EXEC_LENGTH),
  /** Absent: no terminal, and each chunk of output begins with its source (P254). */
  terminal: terminalSizeSchema.optional(),
  /** `uid`, `name`, or either with a group; absent: that of the container. */
  user: z.string().min(1).max(64).optional(),
});
export type Exec = z.infer<typeof execSchema>;

/** An absolute path in a container. Longer ones are of no use to a Linux kernel. */
const containerPath = z
  .string()
  .max(4_096)
  .regex(/^\/[^\0]*$/);
const fileName = z
  .string()
  .max(255)
  .regex(/^[^/\0]+$/)
  .refine((name) => name !== '.' && name !== '..');

/** A file or a folder comes out of the container: as a tar archive, or, for a file, its content (P265). */
export const filesOutSchema = z.object({
  kind: z.literal('files-out'),
  path: containerPath,
  form: z.enum(['tar', 'file']),
  /** Also those that lead out, for a reader that judges them itself. Absent: these are left out (P267). */
  links: z.literal('all').optional(),
});
export type FilesOut = z.infer<typeof filesOutSchema>;
export type DownloadTarget = Omit<FilesOut, 'kind'>;

/** A file or a folder goes into the container (P266). */
export const filesInSchema = z.object({
  kind: z.literal('files-in'),
  /** A folder that exists, or the new path itself. */
  path: containerPath,
  /** What it is called in a folder that exists. */
  name: fileName,
  /** The size of the file whose content follows. Absent: a tar archive follows. */
  bytes: z.int().min(0).optional(),
});
export type FilesIn = z.infer<typeof filesInSchema>;

/** One request to the web application at a TCP port of the container (app-heads.ts). */
const httpSchema = z.object({
  kind: z.literal('http'),
  port: z.int().min(1).max(65_535),
  head: requestHeadSchema,
  /** Requests of different clients never share a connection to the application. */
  client: z.uint32(),
});

/** A WebSocket to such an application (socket-messages.ts). */
const webSocketSchema = httpSchema
  .omit({ kind: true, client: true })
  .extend({ kind: z.literal('websocket') });

/** What a channel is connected to. */
export const channelTargetSchema = z.discriminatedUnion('kind', [
  outputSchema,
  execSchema,
  /** A TCP port of the container's own address. */
  z.object({ kind: z.literal('tcp'), port: z.int().min(1).max(65_535) }),
  filesOutSchema,
  filesInSchema,
  httpSchema,
  webSocketSchema,
]);
export type ChannelTarget = z.infer<typeof channelTargetSchema>;
/** Both ends of a terminal keep what the other one may not have got, for a connection that is lost. */
export const TERMINAL_WINDOW_BYTES = 256 * 1024;

/** The most bytes in transit in one direction of a channel to that target. */
export const largestWindow = (target: ChannelTarget): number =>
  target.kind === 'exec' && target.terminal ? TERMINAL_WINDOW_BYTES : MAX_WINDOW_BYTES;

/** All but output: what is connected to one running container. */
export type StreamTarget = Exclude<ChannelTarget, OutputTarget>;
