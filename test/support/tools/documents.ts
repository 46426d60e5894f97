/** Parses Markdown documents for tests: their links, anchors, code blocks and quoted paths. */
import { posix } from 'node:path';

export interface CodeBlock {
  /** The text after the opening fence, e.g. `sh runnable prints="ok"`. */
  info: string;
  text: string;
  /** Line of its opening fence, from 1. */
  line: number;
}

export function codeBlocksOf(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: CodeBlock | undefined;
  markdown.split('\n').forEach((line, at) => {
    const fence = /^\s*```(.*)$/.exec(line);
    if (open && fence) open = undefined;
    else if (open) open.text += `${line}\n`;
    else if (fence) {
      open = { info: (fence[1] ?? '').trim(), text: '', line: at + 1 };
      blocks.push(open);
    }
  });
  return blocks;
}

/** A block of commands that a test runs. docs/changing-berth.md lists the marks. */
export interface RunnableBlock extends CodeBlock {
  /** How the block runs, with the regular expression that its output must match. */
  mark: { kind: 'prints' | 'becomes' | 'until' | 'ready'; pattern: RegExp } | undefined;
}

const MARK = /^sh runnable(?: (prints|becomes|until|ready)="((?:[^"\\]|\\.)*)")?$/;

/** The blocks that are marked as runnable. Throws on an unknown mark. */
export function runnableBlocksOf(markdown: string): RunnableBlock[] {
  return codeBlocksOf(markdown)
    .filter(({ info }) => /^\S+ runnable\b/.test(info))
    .map((block) => {
      const match = MARK.exec(block.info);
      if (!match) throw new Error(`line ${block.line} has an unknown mark: ${block.info}`);
      const [, kind, pattern = ''] = match as unknown as [string, 'prints' | undefined, string?];
      return { ...block, mark: kind && { kind, pattern: new RegExp(pattern.replaceAll('\\"', '"')) } };
    });
}

/** The document without its fenced blocks. Lines keep their numbers. */
const proseOf = (markdown: string): string =>
  markdown.replace(/^\s*```[^\n]*\n[\s\S]*?^\s*```[ \t]*$/gm, (block) => block.replace(/[^\n]+/g, ''));

/** Targets of a document's links and pictures that lead into the repository. */
export function linksOf(markdown: string): string[] {
  const prose = proseOf(markdown).replace(/`[^`\n]*`/g, '``');
  const found = [
    ...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
    ...prose.matchAll(/^\s*\[[^\]]+\]:\s*(\S+)/gm),
    ...prose.matchAll(/<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"/g),
  ];
  return found.map(([, target = '']) => target).filter((target) => !/^[a-z][a-z+.-]*:/i.test(target));
}

/** The anchors of a document: those of its headings, as GitHub names them, and those written as HTML. */
export function anchorsOf(markdown: string): Set<string> {
  const prose = proseOf(markdown);
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = slugOf(heading);
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  for (const [, name = ''] of prose.matchAll(/<a\s[^>]*?(?:id|name)="([^"]+)"/g)) anchors.add(name);
  return anchors;
}

const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

const FILE_NAME = /\.(ts|md|sh|css|toml|json)$/;

/**
 * Texts in backticks that must be paths of the repository: they begin with one of `roots` or name a source
 * file.
 */
export function quotedPathsOf(markdown: string, roots: readonly string[]): string[] {
  const quoted = [...proseOf(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
  return quoted.filter((text) => {
    if (!/^[\w.*-]+(\/[\w.*-]+)*\/?$/.test(text)) return false;
    const [first = '', second] = text.split('/');
    return (second !== undefined && roots.includes(first)) || /\.ts$/.test(text);
  });
}

/**
 * True if a path that a document quotes exists: relative to the repository, or to the document's folder or a
 * folder above it. A file may also lie anywhere below a folder of that name. `*` stands for a part of a name.
 */
export function isThere(quoted: string, document: string, files: readonly string[]): boolean {
  const path = quoted
    .replace(/\/$/, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^/]*');
  const end = FILE_NAME.test(quoted) ? '$' : '(/|$)';
  const anywhere = new RegExp(`(^|/)${path}$`);
  if (FILE_NAME.test(quoted) && files.some((file) => anywhere.test(file))) return true;
  for (let folder = posix.dirname(document); ; folder = posix.dirname(folder)) {
    const base = folder === '.' ? '' : `${folder.replace(/[.]/g, '\\.')}/`;
    const beneath = new RegExp(`^${base}${path}${end}`);
    if (files.some((file) => beneath.test(file))) return true;
    if (folder === '.') return false;
  }
}
