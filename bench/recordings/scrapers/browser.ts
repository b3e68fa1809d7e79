import { countyRecording } from '../county-recording.ts';

const scraper = countyRecording('bench-browser', 'browser');

export { scraper as default };
