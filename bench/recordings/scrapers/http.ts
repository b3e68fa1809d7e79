import { countyRecording } from '../county-recording.ts';

const scraper = countyRecording('bench-http', 'http');

export { scraper as default };
