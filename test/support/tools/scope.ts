/** Whether this run is `npm run test:all`, with more seeds and all mutants of the simulation. */
export const testsAll = process.env.TEST_ALL === 'on';
