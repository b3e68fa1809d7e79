import { z } from 'zod';

/** Kinds of sub-resources that a page can do without. */
const BLOCKABLE = ['images', 'media', 'fonts', 'trackers'] as const;

function pixels(description: string) {
  return z.number().int().min(1).max(10_000).meta({ description });
}

/** A device given by its properties: what differs from a desktop browser. */
const deviceSchema = z
  .strictObject({
    viewport: z
      .strictObject({ width: pixels('Width of the window.'), height: pixels('Height of the window.') })
      .optional()
      .meta({ description: 'Size of the window, in CSS pixels.' }),
    user_agent: z.string().min(1).max(500).optional().meta({ description: 'User-Agent to send.' }),
    is_mobile: z.boolean().optional().meta({ description: 'Whether to respect the viewport tag of pages.' }),
    has_touch: z.boolean().optional().meta({ description: 'Whether the device has a touch screen.' }),
    device_scale_factor: z.number().min(0.1).max(10).optional().meta({ description: 'Pixels per CSS pixel.' }),
  })
  .meta({ description: 'A device, by its properties.' });

export type DeviceFields = z.infer<typeof deviceSchema>;

export const browserSchema = z
  .strictObject({
    isolation: z
      .enum(['context', 'page'])
      .meta({
        description:
          'What each item has to itself. context: cookies, storage and cache. page: only the page; items that a worker processes one after another share the rest.',
      })
      .default('context'),
    block: z
      .array(z.enum(BLOCKABLE))
      .max(BLOCKABLE.length)
      .meta({ description: 'Kinds of sub-resources that are not loaded.' })
      .default(['images', 'media', 'fonts']),
    stealth: z
      .boolean()
      .meta({ description: 'Whether to hide that the browser is automated, as far as simple checks look for it.' })
      .default(false),
    device: z
      .union([z.string().min(1).max(100), deviceSchema])
      .nullable()
      .meta({
        description: "Device to emulate: one of Playwright's names, or its properties; null for a desktop browser.",
      })
      .default(null),
    locale: z
      .string()
      .regex(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, 'must be a locale such as en-US')
      .max(35)
      .nullable()
      .meta({ description: 'Language and region of the browser, such as en-US; null for that of the proxy, or en-US.' })
      .default(null),
    timezone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a time zone such as America/Phoenix')
      .nullable()
      .meta({ description: 'Time zone of the browser; null for that of the proxy, or of the worker.' })
      .default(null),
    trace: z
      .enum(['never', 'on_failure', 'always'])
      .meta({ description: "When to keep a trace of what the browser did, for Playwright's trace viewer." })
      .default('never'),
  })
  .meta({ description: 'How browsers behave. It has no effect on scrapers without a browser.' });

export type BrowserPolicy = z.infer<typeof browserSchema>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
