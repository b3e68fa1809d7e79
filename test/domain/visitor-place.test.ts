import assert from 'node:assert/strict';
import { test } from 'node:test';
import { languagesFor, visitorPlace } from '../../src/domain/visitor-place.ts';

const COUNTRIES =
  'ar at au be br ca ch cl co cz de dk es fi fr gb gr hk hu ie il in it jp kr mx nl no nz pl pt ro se sg tr tw ua us za';
const STATES =
  'al ak az ar ca co ct dc de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy';

test('the place of a proxy has a language and a time zone that the browser knows', () => {
  const places = [
    ...COUNTRIES.split(' ').map((country) => visitorPlace({ country })),
    ...STATES.split(' ').map((state) => visitorPlace({ country: 'us', state })),
  ];
  for (const place of places) {
    assert.ok(place !== null);
    assert.deepEqual(Intl.DateTimeFormat.supportedLocalesOf(place.locale), [place.locale]);
    // Throws for a time zone that there is not.
    new Intl.DateTimeFormat(place.locale, { timeZone: place.timezone }).format(0);
  }
});

test('a state has its own time', () => {
  const at = (state: string) => visitorPlace({ country: 'US', state })?.timezone;
  assert.deepEqual(['az', 'ca', 'TX', 'ny', 'hi', 'co'].map(at), [
    'America/Phoenix',
    'America/Los_Angeles',
    'America/Chicago',
    'America/New_York',
    'Pacific/Honolulu',
    'America/Denver',
  ]);
});

test('nothing is made up about a place that is not known', () => {
  assert.equal(visitorPlace({ country: 'aq' }), null);
});

test('a browser also asks for the language without its country, and for English', () => {
  assert.deepEqual(languagesFor('en-US'), ['en-US', 'en']);
  assert.deepEqual(languagesFor('en'), ['en']);
  assert.deepEqual(languagesFor('de-DE'), ['de-DE', 'de', 'en-US', 'en']);
});
