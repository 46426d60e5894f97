/**
 * Checks that the API's answers are what its document promises: each status, header, content type and body,
 * and each accepted request body. The test clients call it for every answer.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../../control-plane/http/api/document.ts';
import type { Variant } from '../../../control-plane/http/variant.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { native } from '../../../control-plane/http/variants/native.ts';
import { API_PATH, NATIVE_PATH } from '../../../control-plane/version.ts';

/** A request and its answer. Unknown bodies are left out. */
export interface Exchange {
  method: string;
  origin: string;
  /** As it was sent, including a query. */
  path: string;
  requestBody?: string | undefined;
  status: number;
  header(name: string): string | undefined;
  body?: string | undefined;
}

interface Media {
  content?: Record<string, unknown>;
}
interface ResponseObject extends Media {
  headers?: Record<string, { required?: boolean }>;
}
interface Operation {
  /** Set for an operation that has another path than the document. */
  servers?: [{ url: string }];
  requestBody?: Media;
  responses: Record<string, ResponseObject & { $ref?: string }>;
}
interface Document {
  servers: [{ url: string }];
  paths: Record<string, Record<string, Operation>>;
}

/** Contracts by the origin of each control plane that tests have started. */
const contracts = new Map<string, Contract | undefined>();

/** Checks further answers from `url` against the document of `variant`, if there is one. */
export function documentedAt(url: string, variant: string): void {
  contracts.set(new URL(url).origin, contractOf(variant));
}

/** Another control plane may have this address from now on. */
export function undocumentedAt(url: string): void {
  if (url !== '') contracts.delete(new URL(url).origin);
}

/** Throws if the document does not allow the answer. */
export async function checkExchange(exchange: Exchange): Promise<void> {
  const { origin } = exchange;
  // Every control plane serves group B there, with what is Berth's own (H430).
  const isNative = contracts.has(origin) && exchange.path.startsWith(NATIVE_PATH);
  const contract = isNative ? contractFor('native', native, NATIVE_PATH) : contracts.get(origin);
  const problem = contract?.problemOf(exchange);
  if (problem === undefined) return;
  const { method, path, status } = exchange;
  throw new Error(`${method} ${path} answered ${status}, which contradicts /openapi.json: ${problem}`);
}

const contractsByName = new Map<string, Contract>();

function contractOf(variant: string): Contract | undefined {
  const group = Object.entries(variants).find(([name]) => name === variant)?.[1].documentedAs;
  return group && contractFor(group, variants[group], API_PATH);
}

function contractFor(name: string, variant: Variant, path: string): Contract {
  const known = contractsByName.get(name);
  if (known) return known;
  const document = JSON.parse(JSON.stringify(openApiDocument(variant, path))) as Document;
  const contract = new Contract(document, path);
  contractsByName.set(name, contract);
  return contract;
}

export class Contract {
  readonly #document: Document;
  readonly #base: string;
  readonly #ajv = new Ajv2020({ allowUnionTypes: true });
  readonly #routes: { template: string; pattern: RegExp }[];

  /** `base`: the path of the API whose answers are checked. */
  constructor(document: Document, base: string) {
    this.#document = document;
    this.#base = base;
    this.#ajv.addVocabulary(Object.keys(document));
    this.#ajv.addSchema(document, 'document');
    // `/execution/explain` also matches the path of an execution.
    const words = Object.keys(document.paths).filter((one) => !one.includes('{'));
    this.#routes = [...words, ...Object.keys(document.paths)].map((template) => ({
      template,
      pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  /**
   * Describes what the document does not allow in the exchange. Returns undefined for operations that are not
   * in the document.
   */
  problemOf(exchange: Exchange): string | undefined {
    const method = exchange.method === 'HEAD' ? 'get' : exchange.method.toLowerCase();
    const base = this.#base;
    const pathname = exchange.path.replace(/\?.*/s, '');
    if (!pathname.startsWith(`${base}/`)) return undefined;
    const route = this.#routes.find(({ pattern }) => pattern.test(pathname.slice(base.length)));
    const operation = route && this.#document.paths[route.template]?.[method];
    if (!operation || (operation.servers ?? [{ url: base }])[0]?.url !== base) return undefined;
    const pointer = ['paths', route.template, method];
    const response = operation.responses[exchange.status];
    if (!response)
      return `the document lists only the statuses ${Object.keys(operation.responses).join(', ')}`;
    return (
      this.#answerProblem(exchange, response, [...pointer, 'responses', `${exchange.status}`]) ??
      this.#requestProblem(exchange, operation, pointer)
    );
  }

  #answerProblem(
    exchange: Exchange,
    response: ResponseObject & { $ref?: string },
    pointer: string[],
  ): string | undefined {
    if (response.$ref !== undefined) {
      const target = response.$ref.split('/').slice(1);
      return this.#answerProblem(exchange, this.#at(target), target);
    }
    for (const [name, { required }] of Object.entries(response.headers ?? {})) {
      if (required && !exchange.header(name)) return `the header ${name} is missing`;
    }
    const type = exchange.header('content-type')?.split(';')[0];
    const expected = Object.keys(response.content ?? {});
    if (type === undefined ? expected.length > 0 : !expected.includes(type))
      return `the content type is ${type ?? 'missing'}, not ${expected.join(' or ') || 'missing'}`;
    if (exchange.body === undefined || exchange.method === 'HEAD') return undefined;
    if (type === undefined) return exchange.body === '' ? undefined : 'the answer has a body';
    if (type !== 'application/json') return undefined;
    return this.#jsonProblem('the body', exchange.body, [...pointer, 'content', type, 'schema']);
  }

  /** A request that was accepted must match the document's schema. */
  #requestProblem(
    { status, requestBody }: Exchange,
    operation: Operation,
    pointer: string[],
  ): string | undefined {
    if (status !== 200 || requestBody === undefined || !operation.requestBody) return undefined;
    // The body has another encoding (H6).
    if (!requestBody.startsWith('{')) return undefined;
    const schema = [...pointer, 'requestBody', 'content', 'application/json', 'schema'];
    return this.#jsonProblem('the accepted request', requestBody, schema);
  }

  #jsonProblem(what: string, text: string, pointer: string[]): string | undefined {
    const validate = this.#validatorAt(pointer);
    if (validate(JSON.parse(text))) return undefined;
    const [error] = validate.errors ?? [];
    const details = JSON.stringify(error?.params);
    return `${what} at ${error?.instancePath || 'its root'} ${error?.message} ${details}`;
  }

  #validatorAt(pointer: string[]): ValidateFunction {
    const path = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'));
    const validate = this.#ajv.getSchema(`document#/${path.map(encodeURIComponent).join('/')}`);
    if (!validate) throw new Error(`the document has no schema at ${pointer.join(' ')}`);
    return validate;
  }

  #at(pointer: readonly string[]): ResponseObject {
    return pointer.reduce<unknown>(
      (at, key) => (at as Record<string, unknown>)[key],
      this.#document,
    ) as object;
  }
}
