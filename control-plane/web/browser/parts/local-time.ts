/** Moments in the time zone of the browser. */
import { momentText } from '../../components/moment.ts';

/** The offset is that of the moment: in winter another one than in summer. */
export const localText = (ms: number): string => momentText(ms, -new Date(ms).getTimezoneOffset());
