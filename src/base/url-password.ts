/**
 * Replaces the password of a URL, up to the last @ because a password may contain one.
 * A query parameter named password or sslpassword is replaced too.
 */
export const withoutPassword = (text: string): string =>
  text.replace(/:\/\/.*@/gs, '://…@').replace(/([?&](?:ssl)?password=)[^&\s]*/gi, '$1…');
