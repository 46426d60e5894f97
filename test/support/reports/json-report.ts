/**
 * vitest's JSON report, with the reasons of suites that failed before their tests: the message of their file
 * is empty otherwise. For `--reporter`.
 */
import { JsonReporter, type TestModule } from 'vitest/node';

export default class JsonReport extends JsonReporter {
  constructor() {
    super({});
  }

  override async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    for (const module of modules) addReason(module);
    await super.onTestRunEnd(modules as TestModule[]);
  }
}

/** Gives a file without an error the first one of a suite in it, such as that of its `beforeAll`. */
function addReason(module: TestModule): void {
  const { result } = (module as unknown as { task: { result?: { errors?: unknown[] } } }).task;
  if (!result || result.errors?.length) return;
  const suite = [...module.children.allSuites()].find((one) => one.errors().length > 0);
  const error = suite?.errors()[0];
  if (error) result.errors = [{ ...error, message: `${suite?.fullName}: ${error.message}` }];
}
