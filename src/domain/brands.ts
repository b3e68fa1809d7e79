/** A browser's name in client hints, as the Chromium family sends them. */
export interface Brand {
  readonly brand: string;
  readonly version: string;
}

/** The characters that a made-up brand may contain. */
const SIGNS = [' ', '(', ':', '-', '.', '/', ')', ';', '=', '?', '_'];
const MADE_UP_VERSIONS = ['8', '99', '24'];
const PLACES = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

/**
 * Chromium adds a made-up brand to its own and shuffles the three by its version (components/embedder_support/
 * user_agent_utils.cc), to keep sites from relying on the list. A list that does not match the version gives us away.
 * `fullVersion` is for the list of full versions, which only scripts may ask for.
 */
export function brandsOf(brand: string, version: number, fullVersion: string | null = null): readonly Brand[] {
  const sign = (at: number) => SIGNS[at % SIGNS.length] ?? '';
  const madeUp = MADE_UP_VERSIONS[version % MADE_UP_VERSIONS.length] ?? '';
  const own = fullVersion ?? `${version}`;
  const entries = [
    {
      brand: `Not${sign(version)}A${sign(version + 1)}Brand`,
      version: fullVersion === null ? madeUp : `${madeUp}.0.0.0`,
    },
    { brand: 'Chromium', version: own },
    { brand, version: own },
  ];
  const places = PLACES[version % PLACES.length] ?? [];
  const list: Brand[] = [];
  for (const [index, place] of places.entries()) {
    const entry = entries[index];
    if (entry !== undefined) list[place] = entry;
  }
  return list;
}

/** The value of the header `sec-ch-ua`. */
export function brandList(brand: string, version: number): string {
  return brandsOf(brand, version)
    .map((each) => `"${each.brand}";v="${each.version}"`)
    .join(', ');
}
