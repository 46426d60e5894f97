/** Owns what the page of an execution does in the browser besides being live: one press runs it again once. */
import { submitOnce } from './parts/submit-once.ts';

const again = document.getElementById('again');
if (again instanceof HTMLFormElement) submitOnce(again);
