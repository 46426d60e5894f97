/** Script of the execution page: one press on Run again submits once. */
import { submitOnce } from './parts/submit-once.ts';

const again = document.getElementById('again');
if (again instanceof HTMLFormElement) submitOnce(again);
