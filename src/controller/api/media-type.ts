/** The media type of a Content-Type header without its parameters, in lower case; empty if there is none. */
export function mediaTypeOf(contentType: string | null): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}
