/** Words for the names of people, streets and places in the demo county. */

export const FIRST_NAMES = [
  ...(['JAMES', 'MARY', 'ROBERT', 'PATRICIA', 'JOHN', 'JENNIFER', 'MICHAEL', 'LINDA', 'DAVID', 'ELIZABETH'] as const),
  ...(['WILLIAM', 'BARBARA', 'RICHARD', 'SUSAN', 'JOSÉ', 'JESSICA', 'THOMAS', 'SARAH', 'CARLOS', 'KAREN'] as const),
  ...(['DANIEL', 'LISA', 'MATTHEW', 'NANCY', 'ANTHONY', 'MARÍA', 'MARK', 'SANDRA', 'DONALD', 'ASHLEY'] as const),
] as const;

export const LAST_NAMES = [
  ...([
    'SMITH',
    'JOHNSON',
    'WILLIAMS',
    'BROWN',
    'JONES',
    'GARCIA',
    'MILLER',
    'DAVIS',
    'RODRIGUEZ',
    'MARTINEZ',
  ] as const),
  ...([
    'HERNANDEZ',
    'LOPEZ',
    'GONZALEZ',
    'WILSON',
    'ANDERSON',
    "O'BRIEN",
    'TAYLOR',
    'MOORE',
    'JACKSON',
    'PEÑA',
  ] as const),
  ...(['LEE', 'PEREZ', 'THOMPSON', 'WHITE', 'HARRIS', 'SANCHEZ', 'CLARK', 'RAMIREZ', 'LEWIS', 'NUÑEZ'] as const),
  ...(['WALKER', 'YOUNG', 'ALLEN', 'KING', 'WRIGHT', 'SCOTT', 'TORRES', 'NGUYEN', 'HILL', 'MCALLISTER'] as const),
] as const;

export const COMPANY_WORDS = [
  ...(['SAGUARO', 'COPPER STATE', 'DESERT RIDGE', 'IRONWOOD', 'MESA VERDE', 'OCOTILLO', 'PALO VERDE'] as const),
  ...(['RED ROCK', 'SUNSTONE', 'TURQUOISE', 'GILA RIVER', 'CANYON & SONS', 'SUPERSTITION', 'WHITE TANK'] as const),
] as const;

export const COMPANY_FORMS = ['HOLDINGS LLC', 'PROPERTIES LLC', 'INVESTMENTS LP', 'REALTY INC', 'LAND CO'] as const;

export const DIRECTIONS = ['N', 'S', 'E', 'W'] as const;

export const STREETS = [
  ...(['CACTUS', 'MESQUITE', 'OAK', 'JUNIPER', 'SAGE', 'THOMAS', 'INDIAN SCHOOL', 'CAMELBACK', 'VAN BUREN'] as const),
  ...(['MCDOWELL', 'BETHANY HOME', 'NORTHERN', 'PEORIA', 'GREENWAY', 'BELL', 'UNION HILLS', 'DESERT VIEW'] as const),
  ...(['SUNSET', 'ORCHID', 'QUAIL RUN', 'ROADRUNNER', 'JAVELINA', 'PALOMINO', 'STAGECOACH', 'MISSION'] as const),
] as const;

export const STREET_KINDS = ['ST', 'AVE', 'RD', 'DR', 'LN', 'CT', 'WAY', 'BLVD', 'CIR', 'TRL'] as const;

/** Cities of the county. Each has its own tax district. */
export const CITIES = [
  { name: 'CEDAR FLATS', zip: '85901' },
  { name: 'SAN LORENZO', zip: '85904' },
  { name: 'MESQUITE SPRINGS', zip: '85907' },
  { name: 'PORT ALMA', zip: '85911' },
  { name: 'HOLLIS', zip: '85915' },
  { name: 'RIO SECO', zip: '85919' },
] as const;

export const FAR_PLACES = ['DENVER CO 80202', 'CHICAGO IL 60611', 'SEATTLE WA 98101', 'DALLAS TX 75201'] as const;

export const SUBDIVISIONS = [
  ...(['DESERT WILLOW ESTATES', 'CANYON VISTA', 'RANCHO DEL ORO', 'SUNRISE TERRACE', 'MOUNTAIN SHADOWS'] as const),
  ...(['PECAN GROVE', 'SIERRA MONTANA', 'THE TRAILS AT QUAIL CREEK', 'VILLAGE GREEN', 'LOS ARBOLES'] as const),
] as const;
